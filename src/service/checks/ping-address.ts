import { randomUUID } from 'node:crypto';
import type { CheckType } from '@picket/checks/contract/check-type.ts';
import type { CheckDefinition } from '@picket/checks/contract/definition/definition.ts';
import { runnableSpec } from '@picket/checks/contract/definition/definition.ts';
import { findCheckType } from '@picket/checks/index.ts';
import { AppError } from '@picket/lib/errors.ts';
import { mayWrite } from '@picket/platform/http/auth.ts';
import type { AccountCaller } from '@picket/platform/ids/callers.ts';
import { isUniqueViolation } from '@picket/platform/store/engine/dialect.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import type { Check } from './store.ts';

/** A definition with a ping token: one is generated if absent. Definitions of other types are returned unchanged. */
export function addressed(type: CheckType, definition: CheckDefinition): CheckDefinition {
  if (!type.pings) return definition;
  const token = type.pings.expectation(definition).token?.toLowerCase() ?? randomUUID();
  return { ...definition, ...type.pings.addressed(definition, { token, url: null }) };
}

/** Path of the ping URL of a token. */
export function pingPath(token: string): string {
  return `/v1/ping/${token}`;
}

/** A definition as responses show it: with its ping URL. */
export function withPingUrl(
  type: CheckType | undefined,
  definition: Readonly<Record<string, unknown>>,
  publicUrl: string | undefined,
): Readonly<Record<string, unknown>> {
  if (!type?.pings) return definition;
  const { token } = type.pings.expectation(definition);
  if (token === null) return definition;
  const url = `${publicUrl?.replace(/\/+$/, '') ?? ''}${pingPath(token)}`;
  return { ...definition, ...type.pings.addressed(definition, { token, url }) };
}

/**
 * A check as an API key may see it. Anyone with the ping address can report success: only keys that may change checks
 * see it.
 */
export function visibleTo(caller: AccountCaller, check: Check): Check {
  const pings = findCheckType(check.checkType)?.pings;
  if (!pings || mayWrite(caller)) return check;
  const definition = pings.addressed(check.definition, { token: null, url: null }) as CheckDefinition;
  return { ...check, definition };
}

/**
 * Writes the timer of a check that was created or changed; no effect for types that agents run.
 *
 * @throws AppError CONFLICT if another check has the token.
 */
export async function writeHeartbeat(
  repositories: Pick<Repositories, 'heartbeats' | 'jobRuns'>,
  check: Pick<Check, 'id' | 'accountId' | 'checkType' | 'activated' | 'definition'>,
  now: number,
): Promise<void> {
  const type = findCheckType(check.checkType);
  if (!type?.pings) return;
  const { token, ...rhythm } = type.pings.expectation(runnableSpec(type, check.definition));
  if (token === null) throw new Error('a heartbeat is stored without a token');
  try {
    const { id: checkId, accountId, activated: isActive } = check;
    const { longestRunMs } = rhythm;
    const before = await repositories.heartbeats.write(
      { checkId, accountId, token, ...rhythm, isActive },
      now,
    );
    if (!isActive) await repositories.jobRuns.forget(checkId);
    else if (before && before.longest_run_ms !== longestRunMs) {
      await repositories.jobRuns.limit(checkId, longestRunMs);
    }
  } catch (thrown) {
    if (!isUniqueViolation(thrown)) throw thrown;
    throw new AppError('CONFLICT', 'heartbeat.pingToken is already used by another check. Leave it out.');
  }
}
