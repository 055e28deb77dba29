import { storedValue } from '@picket/platform/store/stored-json.ts';
import type { AlertNotificationRow } from '../tables.ts';
import type { CauseKind } from './failing-check.ts';
import type { CauseUpdate, OpenCause } from './open-cause.ts';

/** The cause of an alert as a notification describes it. */
export interface CauseSummary {
  readonly id: string;
  readonly kind: CauseKind;
  readonly evidence: string;
  readonly reason: string;
  readonly memberCount: number;
  readonly recoveredCount: number;
  /** Names of the first members. */
  readonly firstNames: readonly string[];
  /** Subject of a further message; absent in the first one, in reminders and in the last one. */
  readonly update?: CauseUpdate | undefined;
}

const updateOf = storedValue<CauseUpdate>('alert_notifications.cause_update', {
  kind: 'joined',
  count: 0,
  names: [],
});

const shownNames = 5;

/** Summary for a channel, listing the members it is notified of first. Undefined for a check that fails alone. */
export function summaryOf(
  cause: OpenCause | undefined,
  { channel_id: channelId, cause_update: update }: Pick<AlertNotificationRow, 'channel_id' | 'cause_update'>,
): CauseSummary | undefined {
  if (!cause || cause.members.length < 2) return undefined;
  const { id, kind, evidence, reason, members } = cause;
  const concerned = members.filter(({ channelIds }) => channelIds.includes(channelId));
  const ordered = [...concerned, ...members.filter((member) => !concerned.includes(member))];
  return {
    ...{ id, kind, evidence, reason, memberCount: members.length },
    recoveredCount: members.filter(({ recovered }) => recovered !== null).length,
    firstNames: ordered.slice(0, shownNames).map(({ fact }) => fact.name),
    update: update ? updateOf(update) : undefined,
  };
}

const subjects: Readonly<Record<CauseKind, (evidence: string) => string>> = {
  location: (slug) => `Location ${slug}`,
  resolver: (name) => `Resolver of ${name}`,
  hop: (address) => `Router ${address}`,
  address: (address) => `Address ${address}`,
  host: (host) => `Host ${host}`,
  certificate: (certificate) => `Certificate ${certificate}`,
  egress: (rule) => `Egress policy (${rule})`,
  parent: (name) => name,
  check: (name) => name,
};

/** The common property of the members: `Host shop.test`. */
export function causeSubject({ kind, evidence }: Pick<CauseSummary, 'kind' | 'evidence'>): string {
  return subjects[kind](evidence);
}

/** The cause in one line: `Host shop.test: 17 checks fail`. */
export function causeTitle(cause: CauseSummary, isOver: boolean): string {
  const subject = causeSubject(cause);
  const { memberCount, recoveredCount, update } = cause;
  const failing = memberCount - recoveredCount;
  if (update?.kind === 'joined') {
    return `${subject}: ${update.count} more ${update.count === 1 ? 'check fails' : 'checks fail'} (${namesText(update.names, update.count)})`;
  }
  if (update) {
    const rest =
      failing > 0 ? `; ${failing} of ${memberCount} checks still ${failing === 1 ? 'fails' : 'fail'}` : '';
    return `${subject}: ${namesText(update.names, update.count)} ${update.count === 1 ? 'has' : 'have'} recovered${rest}`;
  }
  if (!isOver) {
    const some = recoveredCount === 0 || failing === 0 ? memberCount : `${failing} of ${memberCount}`;
    return `${subject}: ${some} checks fail`;
  }
  const part = recoveredCount < memberCount ? `${recoveredCount} of ${memberCount}` : `all ${memberCount}`;
  return `${subject}: ${part} checks have recovered`;
}

/** Names of the first members, and how many more there are. */
export function memberText({ firstNames, memberCount }: CauseSummary): string {
  return namesText(firstNames, memberCount);
}

function namesText(names: readonly string[], count: number): string {
  const rest = count - names.length;
  return `${names.join(', ')}${rest > 0 ? `, and ${rest} more` : ''}`;
}
