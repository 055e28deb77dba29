import type { OpenCause } from './course.ts';
import type { CauseKind } from './failing-check.ts';

/** What a notification says of the cause of its alert. */
export interface CauseSummary {
  readonly id: string;
  readonly kind: CauseKind;
  readonly evidence: string;
  readonly reason: string;
  readonly memberCount: number;
  readonly recoveredCount: number;
  /** The first members by name. */
  readonly firstNames: readonly string[];
}

const shownNames = 5;

/**
 * A summary for a channel: the members that it hears of come first. Undefined for a check that fails alone.
 */
export function summaryOf(cause: OpenCause | undefined, channelId: number): CauseSummary | undefined {
  if (!cause || cause.members.length < 2) return undefined;
  const { id, kind, evidence, reason, members } = cause;
  const concerned = members.filter(({ channelIds }) => channelIds.includes(channelId));
  const ordered = [...concerned, ...members.filter((member) => !concerned.includes(member))];
  return {
    ...{ id, kind, evidence, reason, memberCount: members.length },
    recoveredCount: members.filter(({ recovered }) => recovered !== null).length,
    firstNames: ordered.slice(0, shownNames).map(({ fact }) => fact.name),
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

/** The cause in one line: `Host shop.test: 17 checks fail`. */
export function causeTitle(cause: CauseSummary, isOver: boolean): string {
  const subject = subjects[cause.kind](cause.evidence);
  const { memberCount, recoveredCount } = cause;
  if (!isOver) return `${subject}: ${memberCount} checks fail`;
  const part = recoveredCount < memberCount ? `${recoveredCount} of ${memberCount}` : `all ${memberCount}`;
  return `${subject}: ${part} checks have recovered`;
}

/** The first members by name, and how many more there are. */
export function memberText({ firstNames, memberCount }: CauseSummary): string {
  const rest = memberCount - firstNames.length;
  return `${firstNames.join(', ')}${rest > 0 ? `, and ${rest} more` : ''}`;
}
