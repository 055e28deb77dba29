import { hasScripts } from '@picket/checks/contract/lifecycle.ts';
import { findCheckType } from '@picket/checks/index.ts';
import type { RunOrder } from './contracts.ts';

/** Whether the check type states that a run of this check changes nothing at its target. */
export function isRepeatable({ checkType, spec, input: { lifecycle } }: RunOrder): boolean {
  // The effects of scripts are unknown.
  if (hasScripts(lifecycle)) return false;
  const type = findCheckType(checkType);
  const parsed = type?.spec.safeParse(spec);
  return parsed?.success === true && type?.isRepeatable?.(parsed.data) === true;
}
