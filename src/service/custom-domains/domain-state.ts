import type { CustomDomainState } from '@picket/protocol/pages/page-fields.ts';
import type { DomainProof, Proof } from './domain-proof.ts';
import type { DomainFinding } from './store.ts';
import type { CustomDomainRow } from './tables.ts';

const dayMs = 86_400_000;
/** How long a page remains available at a name after its proof is gone: records get lost when DNS is migrated. */
export const graceMs = 14 * dayMs;
/** After this time, a name that was never proven may be taken by another page. */
export const lapseMs = 7 * dayMs;

/** When a page stops being available at a name whose proof is gone; null while proven, or if never proven. */
function servesUntil({ method, failing_since: since }: CustomDomainRow): number | null {
  return method === null || since === null ? null : since + graceMs;
}

/** Whether a page is available at a name now, based on the state of its proof. */
export function isServing(row: CustomDomainRow, now: number): boolean {
  return row.method !== null && (servesUntil(row) ?? Number.POSITIVE_INFINITY) > now;
}

/** Whether a proof was found, and was present at the last check. */
export function isProven({ method, failing_since: since }: CustomDomainRow): boolean {
  return method !== null && method !== 'UPGRADE' && since === null;
}

/** Applies the outcome of a check to a name. An uncertain outcome withdraws nothing. */
export function foundOf(row: CustomDomainRow, proof: Proof, now: number): DomainFinding {
  if (proof.method !== null) {
    return { method: proof.method, problem: null, checked: now, failing_since: null };
  }
  const isGone = row.method !== null && proof.isSure;
  const failingSince = row.failing_since ?? (isGone ? now : null);
  return { method: row.method, problem: proof.problem, checked: now, failing_since: failingSince };
}

/** State of a name as the API shows it. */
export function stateOf(row: CustomDomainRow, proof: DomainProof): CustomDomainState {
  const isAllowed = proof.isAllowed(row.host);
  const method = isAllowed ? 'OPERATOR' : row.method;
  const isLost = !isAllowed && (row.failing_since !== null || row.method === 'UPGRADE');
  const noName =
    proof.serviceHost === undefined
      ? 'The service does not know its own host name, so custom domains do not work: its operator has to set PUBLIC_URL.'
      : null;
  return {
    status: noName !== null || method === null ? 'PENDING' : isLost ? 'LOST' : 'PROVEN',
    method: method === 'UPGRADE' || isLost ? null : method,
    record: proof.recordOf(row),
    cname: proof.serviceHost ?? null,
    problem: noName ?? (isAllowed ? null : row.problem),
    checkedAt: isoOf(row.checked),
    servesUntil: isAllowed ? null : isoOf(servesUntil(row)),
  };
}

const isoOf = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

const minuteMs = 60_000;

/** When to check the proof of a name again. New names are checked more often, because users wait for them. */
export function nextCheckMs({ method, failing_since: since, checked, created }: CustomDomainRow): number {
  if (checked === null) return 0;
  if (method !== null && since === null) return checked + 360 * minuteMs;
  const isNew = checked - created < 60 * minuteMs;
  return checked + (isNew ? 1 : 15) * minuteMs;
}
