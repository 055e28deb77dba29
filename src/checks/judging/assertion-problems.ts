import { regexProblem } from '@picket/lib/bounds/bounded-regex.ts';
import type { WorkBudget } from '@picket/lib/bounds/work-budget.ts';
import { jsonPathProblem } from '@picket/lib/json/json-path.ts';
import { hasTemplate } from '@picket/lib/text.ts';
import type { DefinitionProblem } from '../contract/group-defaults.ts';
import { ageProblem } from './age/age.ts';
import type { Assertion } from './assertion.ts';
import { assertionBudget } from './evaluate.ts';
import { jsonSchemaProblem } from './json-schema/json-schema.ts';

const jsonSources: ReadonlySet<string> = new Set([
  'JSON_BODY',
  'JSON_ANSWER',
  'JSON_RESPONSE',
  'GRPC_RESPONSE',
]);
/** Sources whose `property` is a regular expression. */
const textSources: ReadonlySet<string> = new Set([
  'TEXT_BODY',
  'RESPONSE_DATA',
  'TEXT_ANSWER',
  'TEXT_RESPONSE',
]);
/** Sources whose `property` is a name. */
const headerSources: ReadonlySet<string> = new Set(['HEADERS', 'GRPC_METADATA']);

/** Returns the problems with assertions that can never be evaluated: paths, expressions, schemas, ages. */
export function assertionProblems(
  assertions: readonly Assertion[],
  path: readonly string[] = ['request', 'assertions'],
): DefinitionProblem[] {
  const budget = assertionBudget();
  return assertions.flatMap((assertion, index) => {
    const { source, property, regex } = assertion;
    const isText = textSources.has(source);
    // Same order as in the evaluation: for texts, `property` takes precedence over `regex`.
    const isRegexUsed = source === 'HEADERS' ? property !== '' : isText && property === '';
    const found = [
      ['property', jsonSources.has(source) && property !== '' ? jsonPathProblem(property) : undefined],
      ['property', isText && property !== '' ? regexProblem(property) : undefined],
      ['regex', isRegexUsed && regex ? regexProblem(regex) : undefined],
      ['comparison', misplacedProblem(assertion)],
      ['target', targetProblem(assertion, budget)],
    ] as const;
    return found.flatMap(([field, problem]) =>
      problem === undefined ? [] : [{ path: [...path, index, field], message: `cannot be used: ${problem}` }],
    );
  });
}

/** Returns why a comparison makes no sense for the values of a source. */
function misplacedProblem({ source, property, comparison }: Assertion): string | undefined {
  if (comparison === 'MATCHES_SCHEMA') {
    return jsonSources.has(source) ? undefined : `${source} is not JSON, and a schema describes JSON`;
  }
  if (comparison !== 'AGE_LESS_THAN' && comparison !== 'AGE_GREATER_THAN') return undefined;
  if (headerSources.has(source) && property === '') return 'name the header with the date as its property';
  const hasDates = jsonSources.has(source) || textSources.has(source) || headerSources.has(source);
  return hasDates ? undefined : `${source} has no date, and only dates have an age`;
}

/** A target with templates is complete only when the check runs. */
function targetProblem({ comparison, target }: Assertion, budget: WorkBudget): string | undefined {
  if (hasTemplate(target)) return undefined;
  if (comparison === 'MATCHES_SCHEMA') return jsonSchemaProblem(target, budget);
  const isAge = comparison === 'AGE_LESS_THAN' || comparison === 'AGE_GREATER_THAN';
  return isAge ? ageProblem(target) : undefined;
}
