import type { ShownCertificate } from '@picket/checks/contract/facts.ts';

/** Causes that several checks can have in common. `check`: only this check. */
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
 * How a failure looks from outside. `unreachable`: no connection, no response, or a broken one; `unwell`: it responds
 * with an error or too slowly; `unnamed`: its name does not resolve; `content`: its response is wrong.
 */
export type Symptom = 'unreachable' | 'unwell' | 'unnamed' | 'certificate' | 'egress' | 'content';

/** A failing check, and the properties of its failure that other checks may share. */
export interface FailingCheck {
  readonly checkId: string;
  readonly name: string;
  /** First slot since it last passed, in epoch milliseconds. */
  readonly since: number;
  /** Slot that `failedAt` and `passedAt` describe. */
  readonly slotAt: number;
  readonly intervalMs: number;
  /** Checks it was declared to depend on. */
  readonly parentIds: readonly string[];
  /** Failure code; absent in records of earlier builds. */
  readonly code?: string | null;
  readonly symptom: Symptom;
  /** Part of a location that could cause such a failure while the target is well. */
  readonly fromLocation: 'resolver' | 'network' | null;
  readonly host: string | null;
  readonly address: string | null;
  /** Last router on the path that replied. */
  readonly hop: string | null;
  /** Name server that was queried, if the check names one. */
  readonly nameServer: string | null;
  readonly certificate: ShownCertificate | null;
  readonly egressRule: string | null;
  /** Fault in the response, without its numbers; null for other symptoms. */
  readonly content: string | null;
  readonly failedAt: readonly string[];
  /** Locations where a run of that slot passed. */
  readonly passedAt: readonly string[];
}

/** Further facts at the time of grouping. */
export interface CauseContext {
  /** Locations whose agents report them as unhealthy, with the kinds of events. */
  readonly unhealthy: ReadonlyMap<string, ReadonlySet<string>>;
  /** Number of distinct targets that each location reported on recently. */
  readonly targetsAt: ReadonlyMap<string, number>;
  /** Checks that others depend on: their names, and the newest slot that passed. */
  readonly parents: ReadonlyMap<string, { readonly name: string; readonly passedAt: number | null }>;
  /** Checks whose alerts are held back now; no checks if absent. */
  readonly withheld?: ReadonlySet<string>;
}

/** Checks that fail for one cause. */
export interface CauseGroup {
  readonly kind: CauseKind;
  /** Shared property, such as a host; the name of the check if it is alone. */
  readonly evidence: string;
  readonly members: readonly FailingCheck[];
  /** Why they are grouped, in one sentence. */
  readonly reason: string;
  /** Whether the location's own alert already reports it. */
  readonly isLocationsOwn: boolean;
}

/** Target of a failing check: its address if known, else its host, else the check itself. */
export function targetOf({ address, host, checkId }: FailingCheck): string {
  return address ?? host ?? checkId;
}

/** Whether the slot passed elsewhere, so that the failing locations may be the reason. */
export function passesElsewhere({ failedAt, passedAt, fromLocation }: FailingCheck): boolean {
  return fromLocation !== null && failedAt.length > 0 && passedAt.length > 0;
}
