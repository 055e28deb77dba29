import type { CheckType } from '@picket/checks/contract/check-type.ts';
import { hasScripts } from '@picket/checks/contract/lifecycle.ts';
import { findCheckType } from '@picket/checks/index.ts';
import type { z } from 'zod';
import type { RunOrder } from './contracts.ts';

type ReadSpec = (type: CheckType, spec: unknown) => z.ZodSafeParseResult<Record<string, unknown>>;

const readSpec: ReadSpec = (type, spec) => type.spec.safeParse(spec) as ReturnType<ReadSpec>;

/**
 * Whether the check type states that a run of this check changes nothing at its target.
 *
 * @param read reads the specification, if the caller has a quicker way.
 */
export function isRepeatable(
  { checkType, spec, input: { lifecycle } }: RunOrder,
  read: ReadSpec = readSpec,
): boolean {
  // The effects of scripts are unknown.
  if (hasScripts(lifecycle)) return false;
  const type = findCheckType(checkType);
  const parsed = type && read(type, spec);
  return parsed?.success === true && type?.isRepeatable?.(parsed.data) === true;
}
