import { JSONPathEnvironment, type JSONPathQuery, jsonpath } from 'json-p3';
import { ThreadStarved, withinCpuLimit } from '../bounds/cpu-limit.ts';
import { toError } from '../errors.ts';
import { type JsonNumber, jsonNumber } from './exact-number.ts';

/** A JSON path is invalid. */
export class JsonPathError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'JsonPathError';
  }
}

/** A compiled JSON path. */
export interface Path {
  readonly query: Query;
  /** Whether it matches regular expressions, whose work cannot be counted. */
  readonly hasRegex: boolean;
  /** The regular expressions in the path. */
  readonly patterns: readonly string[];
}

export interface Query {
  /** Whether the query begins with `$` rather than `@`. */
  readonly isAbsolute: boolean;
  readonly segments: readonly Segment[];
}

interface Segment {
  readonly isDescendant: boolean;
  readonly selectors: readonly Selector[];
}

export type Selector =
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'index'; readonly index: number }
  | {
      readonly kind: 'slice';
      readonly start: number | undefined;
      readonly stop: number | undefined;
      readonly step: number;
    }
  | { readonly kind: 'wildcard' }
  | { readonly kind: 'filter'; readonly condition: Condition };

/** A filter's condition: true or false. */
export type Condition =
  | { readonly kind: 'and' | 'or'; readonly left: Condition; readonly right: Condition }
  | { readonly kind: 'not'; readonly condition: Condition }
  | { readonly kind: 'exists'; readonly query: Query }
  | {
      readonly kind: 'compare';
      readonly operator: string;
      readonly left: Operand;
      readonly right: Operand;
    }
  | {
      readonly kind: 'match';
      readonly name: 'match' | 'search';
      readonly text: Operand;
      readonly pattern: Operand;
    };

/** A filter's comparison operand: one value or Nothing. */
export type Operand =
  | { readonly kind: 'literal'; readonly value: string | boolean | null | JsonNumber }
  | { readonly kind: 'query'; readonly query: Query }
  | { readonly kind: 'count' | 'value'; readonly query: Query }
  | { readonly kind: 'length'; readonly of: Operand };

const { expressions, functions, selectors } = jsonpath;
type Expression = InstanceType<typeof expressions.FilterExpression>;

const environment = new JSONPathEnvironment();
// The package does not export this class.
const descendantSegment = environment.compile('$..*').segments[0]?.constructor;

const maxPathLength = 10_000;
/** Limit for nested filters, parentheses, and terms of a chain of them; evaluation recurses as deep. */
const maxDepth = 1000;
/** The parser of regular expressions backtracks over alternatives. */
const patternCheckMs = 50;

/** Parses a path with json-p3 and converts it to a form that can be evaluated in steps. */
export function compiledPath(text: string): Path {
  const refused = (reason: string) => new JsonPathError(`${text} is not a usable JSON path: ${reason}`);
  if (text.length > maxPathLength) {
    throw new JsonPathError(`a JSON path of more than ${maxPathLength} characters is not usable`);
  }
  try {
    const translation = new Translation();
    const query = translation.query(environment.compile(withPlainNumbers(text)), true, 0);
    const { hasRegex, patterns } = translation;
    return { query, hasRegex, patterns };
  } catch (thrown) {
    throw thrown instanceof RangeError ? refused(tooDeep) : refused(toError(thrown).message);
  }
}

/** Rewrites numbers such as 0.5 and 0e1, which RFC 9535 allows and json-p3 refuses, as 5e-1 and 0. */
function withPlainNumbers(path: string): string {
  const quotedOrNumber =
    /'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|(?<![\w.-])0(?:\.(\d+))?(?:[eE]([+-]?\d+))?(?![\w.])/gs;
  return path.replaceAll(quotedOrNumber, (found, fraction?: string, power = '0') => {
    if (!found.startsWith('0')) return found;
    const digits = fraction?.replace(/^0+/, '') ?? '';
    return digits === '' ? '0' : `${digits}e${Number(power) - (fraction?.length ?? 0)}`;
  });
}

const tooDeep = 'it is nested too deeply';

class Translation {
  hasRegex = false;
  readonly patterns: string[] = [];

  query(query: JSONPathQuery, isAbsolute: boolean, depth: number): Query {
    if (depth > maxDepth) throw new Error(tooDeep);
    const segments = query.segments.map((segment) => ({
      isDescendant: segment.constructor === descendantSegment,
      selectors: segment.selectors.map((selector) => this.#selector(selector, depth)),
    }));
    return { isAbsolute, segments };
  }

  #selector(selector: unknown, depth: number): Selector {
    if (selector instanceof selectors.NameSelector) return { kind: 'name', name: selector.name };
    if (selector instanceof selectors.IndexSelector) return { kind: 'index', index: selector.index };
    if (selector instanceof selectors.WildcardSelector) return { kind: 'wildcard' };
    if (selector instanceof selectors.SliceSelector) {
      const { start, stop, step = 1 } = selector;
      return { kind: 'slice', start, stop, step };
    }
    if (selector instanceof selectors.FilterSelector) {
      return { kind: 'filter', condition: this.#condition(selector.expression, depth + 1) };
    }
    throw new Error('it has a selector that RFC 9535 does not define');
  }

  #condition(expression: Expression, depth: number): Condition {
    if (depth > maxDepth) throw new Error(tooDeep);
    if (expression instanceof expressions.LogicalExpression) {
      return this.#condition(expression.expression, depth);
    }
    if (expression instanceof expressions.PrefixExpression) {
      return { kind: 'not', condition: this.#condition(expression.right, depth + 1) };
    }
    if (expression instanceof expressions.InfixExpression) {
      const { left, right, operator } = expression;
      if (operator !== '&&' && operator !== '||') {
        const [one, other] = [this.#operand(left, depth + 1), this.#operand(right, depth + 1)];
        return { kind: 'compare', operator, left: one, right: other };
      }
      const [one, other] = [this.#condition(left, depth + 1), this.#condition(right, depth + 1)];
      return { kind: operator === '&&' ? 'and' : 'or', left: one, right: other };
    }
    if (expression instanceof expressions.FilterQuery) {
      return { kind: 'exists', query: this.#filterQuery(expression, depth) };
    }
    if (expression instanceof expressions.FunctionExtension) {
      const { name, args } = expression;
      const [text, pattern] = args;
      if ((name === 'match' || name === 'search') && text && pattern) {
        this.hasRegex = true;
        if (pattern instanceof expressions.StringLiteral) this.patterns.push(pattern.value);
        return {
          kind: 'match',
          name,
          text: this.#operand(text, depth + 1),
          pattern: this.#operand(pattern, depth + 1),
        };
      }
    }
    throw new Error('one of its filters is not a logical expression');
  }

  #operand(expression: Expression, depth: number): Operand {
    if (depth > maxDepth) throw new Error(tooDeep);
    if (expression instanceof expressions.NullLiteral) return { kind: 'literal', value: null };
    if (expression instanceof expressions.NumberLiteral) {
      return { kind: 'literal', value: jsonNumber(expression.token.value) };
    }
    if (expression instanceof expressions.StringLiteral || expression instanceof expressions.BooleanLiteral) {
      return { kind: 'literal', value: expression.value };
    }
    if (expression instanceof expressions.FilterQuery) {
      return { kind: 'query', query: this.#filterQuery(expression, depth) };
    }
    if (expression instanceof expressions.FunctionExtension) {
      const { name, args } = expression;
      const [of] = args;
      if (name === 'length' && of) return { kind: 'length', of: this.#operand(of, depth + 1) };
      if ((name === 'count' || name === 'value') && of instanceof expressions.FilterQuery) {
        return { kind: name, query: this.#filterQuery(of, depth) };
      }
    }
    throw new Error('one of its filters compares an expression that has no value');
  }

  #filterQuery(expression: InstanceType<typeof expressions.FilterQuery>, depth: number): Query {
    return this.query(expression.path, expression instanceof expressions.RootQuery, depth + 1);
  }
}

const patternCheck = new functions.Match({ throwErrors: true, cacheSize: 0 });

/**
 * Returns the problem of a path's regular expressions. With an invalid one, RFC 9535 silently matches nothing, which no
 * author of a path wants.
 */
export function patternProblem({ patterns }: Path): string | undefined {
  const broken = patterns.find((pattern) => !isPattern(pattern));
  if (broken === undefined) return undefined;
  const hint = /\\[dDwWsSbB]/.test(broken) ? ', which has no \\d, \\w, \\s and \\b' : '';
  return `${JSON.stringify(broken)} is no regular expression of RFC 9485${hint}`;
}

function isPattern(pattern: string): boolean {
  try {
    withinCpuLimit(patternCheckMs, () => patternCheck.call('', pattern));
    return true;
  } catch (thrown) {
    if (thrown instanceof ThreadStarved) throw thrown;
    return false;
  }
}
