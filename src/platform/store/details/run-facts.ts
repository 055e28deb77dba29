import { noFacts, type RunFacts } from '@picket/checks/contract/facts.ts';
import { findCheckType } from '@picket/checks/index.ts';
import { storedValue } from '../stored-json.ts';

const read = storedValue<object>('results.detail', {});

/** Returns the facts of a stored detail of any type; none if this build cannot parse it. */
export function storedFacts(checkType: string, detail: string | null): RunFacts {
  return detail === null ? noFacts : factsOf(checkType, read(detail));
}

/** The same for a parsed detail. */
export function factsOf(checkType: string, detail: unknown): RunFacts {
  const type = findCheckType(checkType);
  if (!type?.facts || detail === null) return noFacts;
  const parsed = type.detail.safeParse(detail);
  return parsed.success ? type.facts(parsed.data) : noFacts;
}
