import { hasScripts } from '@picket/checks/contract/lifecycle.ts';
import { findCheckType } from '@picket/checks/index.ts';
import type { RunOrder } from './contracts.ts';

/** Whether the type says that a run of this check changes nothing at its target. */
export function isRepeatable({ checkType, spec, input: { lifecycle } }: RunOrder): boolean {
  // Nobody knows what scripts change.
  if (hasScripts(lifecycle)) return false;
  const type = findCheckType(checkType);
  const parsed = type?.spec.safeParse(spec);
  return parsed?.success === true && type?.isRepeatable?.(parsed.data) === true;
}
