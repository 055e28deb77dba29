/**
 * As much of Go's templates, and of what Helm adds to them, as the chart in deploy/helm uses: CI renders it without Helm. Whatever it
 * does not know is an error, so the chart cannot grow beyond it unnoticed. What it makes of the chart was compared with what
 * Helm (3.6.2) makes of it, for every set of values in chart-values.ts.
 */
import { stringify } from 'yaml';

type Scope = { readonly dot: unknown; readonly variables: ReadonlyMap<string, unknown> };
type Node =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'output'; readonly code: string }
  | { readonly kind: 'assign'; readonly name: string; readonly code: string }
  | { readonly kind: 'if' | 'with'; readonly code: string; readonly body: Node[]; readonly otherwise: Node[] }
  | { readonly kind: 'range'; readonly code: string; readonly names: string[]; readonly body: Node[] };

/** A template called `fail` or `required`, or used something that is not here. */
export class TemplateFailure extends Error {}

/** Templates of one chart, which can include each other. */
export class TemplateSet {
  readonly #definitions = new Map<string, Node[]>();

  /** Reads a file; what it defines can be included by all, the rest is what `render` gives. */
  parse(source: string): (data: unknown) => string {
    const parser = new Parser(source, this.#definitions);
    const nodes = parser.parseUntilEnd();
    return (data) => this.#render(nodes, { dot: data, variables: new Map([['$', data]]) });
  }

  #render(nodes: readonly Node[], outer: Scope): string {
    const variables = new Map(outer.variables);
    const scope = { dot: outer.dot, variables };
    return nodes.map((node) => this.#renderNode(node, scope, variables)).join('');
  }

  #renderNode(node: Node, scope: Scope, variables: Map<string, unknown>): string {
    switch (node.kind) {
      case 'text':
        return node.text;
      case 'assign':
        variables.set(node.name, this.#evaluate(node.code, scope));
        return '';
      case 'output':
        return toText(this.#evaluate(node.code, scope));
      case 'if':
        return this.#render(isTrue(this.#evaluate(node.code, scope)) ? node.body : node.otherwise, scope);
      case 'with': {
        const dot = this.#evaluate(node.code, scope);
        return isTrue(dot) ? this.#render(node.body, { ...scope, dot }) : this.#render(node.otherwise, scope);
      }
      case 'range': {
        const over = this.#evaluate(node.code, scope);
        const entries = Array.isArray(over)
          ? over.map((value, index) => [index, value] as const)
          : Object.entries((over ?? {}) as object).sort(([a], [b]) => (a < b ? -1 : 1));
        return entries
          .map(([key, value]) => {
            const [first, second] = node.names;
            const inner = new Map<string, unknown>(variables);
            if (first !== undefined) inner.set(first, second === undefined ? value : key);
            if (second !== undefined) inner.set(second, value);
            return this.#render(node.body, { dot: value, variables: inner });
          })
          .join('');
      }
    }
  }

  #evaluate(code: string, scope: Scope): unknown {
    const tokens = code.match(tokenPattern) ?? [];
    if (tokens.join('') !== code.replaceAll(/\s+(?=(?:[^"]*"[^"]*")*[^"]*$)/g, '')) {
      throw new TemplateFailure(`cannot read {{ ${code} }}`);
    }
    const pipeline = (): unknown => {
      let value = command(undefined);
      while (tokens[0] === '|') {
        tokens.shift();
        value = command({ value });
      }
      return value;
    };
    const command = (piped: { readonly value: unknown } | undefined): unknown => {
      const operands: unknown[] = [];
      const name = /^[a-z]\w*$/i.test(tokens[0] ?? '') && !isLiteral(tokens[0]) ? tokens.shift() : undefined;
      while (tokens.length > 0 && tokens[0] !== '|' && tokens[0] !== ')') operands.push(operand());
      if (piped) operands.push(piped.value);
      if (name === undefined) {
        if (operands.length !== 1) throw new TemplateFailure(`not a call: {{ ${code} }}`);
        return operands[0];
      }
      return this.#call(name, operands);
    };
    const operand = (): unknown => {
      const token = tokens.shift() ?? '';
      if (token === '(') {
        const value = pipeline();
        if (tokens.shift() !== ')') throw new TemplateFailure(`a ) is missing: {{ ${code} }}`);
        return value;
      }
      if (token.startsWith('"')) return JSON.parse(token);
      if (/^-?\d+$/.test(token)) return Number(token);
      if (token === 'true' || token === 'false') return token === 'true';
      return lookUp(token, scope);
    };
    const value = pipeline();
    if (tokens.length > 0) throw new TemplateFailure(`cannot read {{ ${code} }}`);
    return value;
  }

  #call(name: string, operands: readonly unknown[]): unknown {
    if (name === 'include') {
      const nodes = this.#definitions.get(String(operands[0]));
      if (!nodes) throw new TemplateFailure(`there is no template ${operands[0]}`);
      return this.#render(nodes, { dot: operands[1], variables: new Map([['$', operands[1]]]) });
    }
    if (!Object.hasOwn(functions, name)) throw new TemplateFailure(`there is no function ${name}`);
    return functions[name]?.(...(operands as never[]));
  }
}

const tokenPattern = /"(?:[^"\\]|\\.)*"|\$?[A-Za-z_.$][\w.$]*|-?\d+|[|()]/g;
const isLiteral = (token: string | undefined) => token === 'true' || token === 'false';

const functions: Readonly<Record<string, (...operands: never[]) => unknown>> = {
  add: (...numbers: number[]) => numbers.reduce((sum, one) => sum + one, 0),
  and: (...values: unknown[]) => values.find((value) => !isTrue(value)) ?? values.at(-1),
  contains: (part: string, text: string) => text.includes(part),
  default: (otherwise: unknown, value: unknown) => (isTrue(value) ? value : otherwise),
  eq: (a: unknown, b: unknown) => a === b,
  fail: (message: string) => {
    throw new TemplateFailure(message);
  },
  gt: (a: number, b: number) => a > b,
  int: (value: unknown) => Math.trunc(Number(value)),
  int64: (value: unknown) => Math.trunc(Number(value)),
  kindIs: (kind: string, value: unknown) =>
    kind === (typeof value === 'number' ? 'float64' : typeof value === 'boolean' ? 'bool' : typeof value),
  nindent: (width: number, text: string) =>
    `\n${text
      .split('\n')
      .map((line) => ' '.repeat(width) + line)
      .join('\n')}`,
  not: (value: unknown) => !isTrue(value),
  or: (...values: unknown[]) => values.find(isTrue) ?? values.at(-1),
  printf: (format: string, ...values: unknown[]) => {
    const left = [...values];
    return format.replaceAll(/%([sq])/g, (_, verb) =>
      verb === 'q' ? JSON.stringify(left.shift()) : toText(left.shift()),
    );
  },
  quote: (value: unknown) => (value === undefined || value === null ? '' : JSON.stringify(toText(value))),
  required: (message: string, value: unknown) => {
    if (value === undefined || value === null || value === '') throw new TemplateFailure(message);
    return value;
  },
  toYaml: (value: unknown) => stringify(value).trimEnd(),
  trimSuffix: (suffix: string, text: string) =>
    text.endsWith(suffix) ? text.slice(0, -suffix.length) : text,
  trunc: (length: number, text: string) => text.slice(0, length),
};

function lookUp(token: string, scope: Scope): unknown {
  const [first = '', ...path] = token.split('.');
  if (first !== '' && !scope.variables.has(first)) throw new TemplateFailure(`there is no ${first}`);
  const start = first === '' ? scope.dot : scope.variables.get(first);
  return path
    .filter((name) => name !== '')
    .reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], start);
}

function isTrue(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0;
  return Boolean(value);
}

function toText(value: unknown): string {
  return value === undefined || value === null ? '' : String(value);
}

class Parser {
  readonly #parts: { readonly text: string; readonly code: string | undefined }[] = [];
  readonly #definitions: Map<string, Node[]>;
  #position = 0;

  constructor(source: string, definitions: Map<string, Node[]>) {
    this.#definitions = definitions;
    let text = '';
    let isTrimmed = false;
    let from = 0;
    for (const match of source.matchAll(/\{\{(-?)\s*(\/\*[\s\S]*?\*\/|[\s\S]*?)\s*(-?)\}\}/g)) {
      text = source.slice(from, match.index);
      if (isTrimmed) text = text.trimStart();
      if (match[1]) text = text.trimEnd();
      this.#parts.push({ text, code: match[2] ?? '' });
      isTrimmed = Boolean(match[3]);
      from = match.index + match[0].length;
    }
    const rest = source.slice(from);
    this.#parts.push({ text: isTrimmed ? rest.trimStart() : rest, code: undefined });
  }

  parseUntilEnd(): Node[] {
    const { nodes, end } = this.#block();
    if (end !== undefined) throw new TemplateFailure(`a {{ ${end} }} too much`);
    return nodes;
  }

  /** Nodes up to an `end` or `else`, which is given back; undefined at the end of the file. */
  #block(): { readonly nodes: Node[]; readonly end: string | undefined } {
    const nodes: Node[] = [];
    for (;;) {
      const part = this.#parts[this.#position++];
      if (!part) throw new TemplateFailure('an {{ end }} is missing');
      if (part.text !== '') nodes.push({ kind: 'text', text: part.text });
      const { code } = part;
      if (code === undefined) return { nodes, end: undefined };
      if (code === 'end' || code.startsWith('else')) return { nodes, end: code };
      if (code.startsWith('/*')) continue;
      nodes.push(...this.#action(code));
    }
  }

  #action(code: string): Node[] {
    const [word = '', ...words] = code.split(/\s+/);
    const rest = words.join(' ');
    if (word === 'define') {
      this.#definitions.set(JSON.parse(rest) as string, this.#block().nodes);
      return [];
    }
    if (word === 'if' || word === 'with') return [this.#branch(word, rest)];
    if (word === 'range') {
      const names = /^((?:\$\w+,? ?)+):= (.*)$/.exec(rest);
      const { nodes: body } = this.#block();
      return [{ kind: 'range', code: names?.[2] ?? rest, names: names?.[1]?.match(/\$\w+/g) ?? [], body }];
    }
    const assigned = /^(\$\w+) :?= ([\s\S]*)$/.exec(code);
    if (assigned?.[1] && assigned[2]) return [{ kind: 'assign', name: assigned[1], code: assigned[2] }];
    return [{ kind: 'output', code }];
  }

  #branch(kind: 'if' | 'with', code: string): Node {
    const { nodes: body, end } = this.#block();
    if (end === 'else') return { kind, code, body, otherwise: this.#block().nodes };
    if (end?.startsWith('else if '))
      return { kind, code, body, otherwise: [this.#branch('if', end.slice('else if '.length))] };
    return { kind, code, body, otherwise: [] };
  }
}
