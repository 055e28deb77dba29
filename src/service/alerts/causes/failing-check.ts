import type { ShownCertificate } from '@picket/checks/contract/facts.ts';

/** What kinds of things several checks can fail by at once. `check`: this check alone. */
export const causeKinds = [
  'location',
  'resolver',
  'hop',
  'address',
  'host',
  'certificate',
  'egress',
  'parent',
  'check',
] as const;
export type CauseKind = (typeof causeKinds)[number];

/**
 * How a failure looks from outside. `unreachable`: no connection, no answer, or a broken one; `unwell`: it
 * answers, and says that it cannot, or is too slow; `unnamed`: its name leads nowhere; `content`: what it
 * answers is wrong.
 */
export type Symptom = 'unreachable' | 'unwell' | 'unnamed' | 'certificate' | 'egress' | 'content';

/** A check that fails, and what is known of its failure that other checks may share. */
export interface FailingCheck {
  readonly checkId: string;
  readonly name: string;
  /** The first slot since it last passed, in epoch milliseconds. */
  readonly since: number;
  /** The slot of which it is known where it failed and where it passed. */
  readonly slotAt: number;
  readonly intervalMs: number;
  /** The checks it was declared to depend on. */
  readonly parentIds: readonly string[];
  /** The code of its failure; absent in what earlier builds stored. */
  readonly code?: string | null;
  readonly symptom: Symptom;
  /** Which part of a location could bring such a failure about where the target is well. */
  readonly fromLocation: 'resolver' | 'network' | null;
  readonly host: string | null;
  readonly address: string | null;
  /** The last router on the way that answered. */
  readonly hop: string | null;
  /** The name server that was asked, where the check names one. */
  readonly nameServer: string | null;
  readonly certificate: ShownCertificate | null;
  readonly egressRule: string | null;
  /** What was wrong with the answer, without its numbers; null for other symptoms. */
  readonly content: string | null;
  readonly failedAt: readonly string[];
  /** Locations where a run of that slot passed. */
  readonly passedAt: readonly string[];
}

/** What else is known at the time. */
export interface CauseContext {
  /** Locations whose agents find them unhealthy, with the kinds of what is. */
  readonly unhealthy: ReadonlyMap<string, ReadonlySet<string>>;
  /** Of how many different targets anything was heard from a location of late. */
  readonly targetsAt: ReadonlyMap<string, number>;
  /** The checks that others depend on: their names, and the newest slot that passed. */
  readonly parents: ReadonlyMap<string, { readonly name: string; readonly passedAt: number | null }>;
  /** Checks whose alerts are held back now; none when absent. */
  readonly withheld?: ReadonlySet<string>;
}

/** Checks that fail by one cause. */
export interface CauseGroup {
  readonly kind: CauseKind;
  /** What they share, such as a host; the name of the check where it is alone. */
  readonly evidence: string;
  readonly members: readonly FailingCheck[];
  /** Why they are taken as one, in one sentence. */
  readonly reason: string;
  /** Whether the location's own alert says it already. */
  readonly isLocationsOwn: boolean;
}

/** What a check fails at: an address where one was found. */
export function targetOf({ address, host, checkId }: FailingCheck): string {
  return address ?? host ?? checkId;
}

/** Whether its slot passed elsewhere, and the locations where it failed may be why it failed there. */
export function passesElsewhere({ failedAt, passedAt, fromLocation }: FailingCheck): boolean {
  return fromLocation !== null && failedAt.length > 0 && passedAt.length > 0;
}
