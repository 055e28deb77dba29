import type { ShownCertificate } from '@picket/checks/contract/facts.ts';
import { storedValue } from '@picket/platform/store/stored-json.ts';
import type { FailingCheck } from './failing-check.ts';
import type { CauseEvent, CauseMember, OpenCause } from './open-cause.ts';
import type { AlertCauseEventRow, AlertCauseRow } from './tables.ts';

/** Pending news of a check as stored; whether it is due is decided when it is read. */
export type StoredCauseEvent =
  | Exclude<CauseEvent, { kind: 'failure' }>
  | Omit<Extract<CauseEvent, { kind: 'failure' }>, 'isDue'>;

/** Defaults for a failing check that an earlier build stored with fewer fields. */
const unknownFact: FailingCheck = {
  ...{ checkId: '', name: '', since: 0, slotAt: 0, intervalMs: 60_000, parentIds: [] },
  ...{ symptom: 'unreachable', fromLocation: null, host: null, address: null, hop: null, nameServer: null },
  ...{ certificate: null, egressRule: null, content: null, failedAt: [], passedAt: [] },
};

const stateOf = storedValue<Omit<OpenCause, 'id'>>('alert_causes.state', {
  ...{ kind: 'check', evidence: '', reason: '', isLocationsOwn: false, began: 0, opened: 0 },
  ...{ members: [], notified: [], incidents: [], wellSince: null, closed: null },
});

const contentOf = storedValue<Partial<StoredCauseEvent>>('alert_cause_news.content', {});

/** Reads a cause that any build stored. An unreadable cause has no members, so it is over at the next evaluation. */
export function storedCause({ id, state }: Pick<AlertCauseRow, 'id' | 'state'>): OpenCause {
  const cause = stateOf(state);
  return { ...cause, id, members: cause.members.map(withWholeFact) };
}

/** Reads news of a check that any build stored; undefined if it cannot be read or its kind is unknown here. */
export function storedCauseEvent(
  { content, created, due }: Pick<AlertCauseEventRow, 'content' | 'created' | 'due'>,
  now: number,
): CauseEvent | undefined {
  const news = contentOf(content);
  if (news.kind === 'failure') {
    if (!news.fact) return undefined;
    const member = { incident: null, alertId: '', channelIds: [], ...news, kind: news.kind, fact: news.fact };
    return { ...withWholeFact(member), isDue: due <= now || created > now };
  }
  if (news.kind !== 'recovery' && news.kind !== 'aside' && news.kind !== 'gone') return undefined;
  return news.checkId === undefined ? undefined : ({ alertId: null, channelIds: [], ...news } as CauseEvent);
}

function withWholeFact<Member extends Pick<CauseMember, 'fact'>>(member: Member): Member {
  const fact = { ...unknownFact, ...member.fact };
  return { ...member, fact: { ...fact, certificate: certificateOf(fact.certificate) } };
}

/** Builds before 8.0 stored the certificate as a sentence. */
function certificateOf(stored: ShownCertificate | string | null): ShownCertificate | null {
  if (typeof stored !== 'string') return stored;
  const [, subject, issuer, validTo] = /^(.*?), issued by (.*), valid to (.*)$/s.exec(stored) ?? [];
  if (subject === undefined || issuer === undefined || validTo === undefined) return null;
  return {
    subject: subject === 'no name' ? null : subject,
    issuer: issuer === 'nobody' ? null : issuer,
    validTo,
  };
}
