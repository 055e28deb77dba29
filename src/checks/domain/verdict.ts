import { daysLeft, expiryText } from '@picket/lib/figures/days-left.ts';
import { type Failure, failure } from '../contract/failure.ts';
import type { DomainRegistration } from './detail.ts';
import type { DomainSpec } from './spec.ts';

export interface RegistrationVerdict {
  readonly failure?: Failure | undefined;
  readonly degradedReasons: string[];
}

const dayMs = 86_400_000;
/** Statuses of a domain that was not renewed in time (RFC 8056 section 2). */
const lost: ReadonlySet<string> = new Set(['redemption period', 'pending delete']);

/** Judges when a registration expires. */
export function judgeRegistration(
  { domain, expiresAt, statuses }: DomainRegistration,
  { alertDaysBeforeExpiry: alertDays, failDaysBeforeExpiry: failDays }: DomainSpec['request'],
  nowMs: number,
): RegistrationVerdict {
  const found = statuses.find((status) => lost.has(status.toLowerCase()));
  if (found !== undefined) {
    const message = `${domain} was not renewed in time: its status is "${found}"`;
    return { failure: failure('DOMAIN_EXPIRING', message), degradedReasons: [] };
  }
  if (expiresAt === null) {
    const message = `The registry does not publish when ${domain} expires`;
    return { failure: failure('DOMAIN_EXPIRY_UNPUBLISHED', message), degradedReasons: [] };
  }
  const leftMs = Date.parse(expiresAt) - nowMs;
  const isWithin = (days: number | null) => days !== null && leftMs <= days * dayMs;
  const sentence = `The registration of ${domain} ${expiryText(daysLeft(nowMs + leftMs, nowMs))}, on ${expiresAt}`;
  if (leftMs <= 0 || isWithin(failDays)) {
    return { failure: failure('DOMAIN_EXPIRING', sentence), degradedReasons: [] };
  }
  return { degradedReasons: isWithin(alertDays) ? [sentence] : [] };
}
