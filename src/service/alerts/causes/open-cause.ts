import type { OwnIncident, RequestedIncident } from '../../incidents/requested-incident.ts';
import type { CauseKind, FailingCheck } from './failing-check.ts';

/** An open cause of failing checks of an account; its lifecycle is in cause-lifecycle.ts. */
export interface OpenCause {
  readonly id: string;
  readonly kind: CauseKind;
  readonly evidence: string;
  readonly reason: string;
  readonly isLocationsOwn: boolean;
  /** When its first member began to fail, in epoch milliseconds. */
  readonly began: number;
  readonly opened: number;
  readonly members: readonly CauseMember[];
  readonly notified: readonly Notified[];
  /** Incidents that its members requested, one for each service and rule. */
  readonly incidents: readonly CauseIncident[];
  /** When the location was found healthy again, if the location's own alert reports the cause. */
  readonly wellSince: number | null;
  readonly closed: number | null;
}

export interface CauseIncident {
  /** Same value in the event that opens the incident and in the one that resolves it. */
  readonly triggerId: string;
  readonly incident: RequestedIncident;
  /** Check that requested it. */
  readonly checkId: string;
}

export interface CauseMember {
  readonly fact: FailingCheck;
  /** Incident of its own that it requests. */
  readonly incident: OwnIncident | null;
  /** Automation rules that its failure matches; absent in records of earlier builds. */
  readonly ruleIds?: readonly string[];
  readonly alertId: string;
  /** Channels that are notified of this member. */
  readonly channelIds: readonly number[];
  readonly joined: number;
  readonly recovered: number | null;
  /**
   * When it left the cause, some time after it recovered: its next failure may have another cause. This field and the
   * following ones are absent in records of earlier builds.
   */
  readonly left?: number | null;
  /** When it was last run ahead of time because another member had recovered. */
  readonly hurriedAt?: number;
  /** Alert that reports the recovery; null if absent or if no channel may be notified of it. */
  readonly recovery: { readonly alertId: string; readonly channelIds: readonly number[] } | null;
}

/** State of a channel's notifications about a cause. */
export interface Notified {
  readonly channelId: number;
  /** Check that everything notified to this channel is filed under. */
  readonly checkId: string;
  readonly isOver: boolean;
  /** Checks that were reported to it as failing; absent in records of earlier builds: all that concern it. */
  readonly told?: readonly string[];
  /** Alerts of recoveries that were already sent: an alert has one notification per channel. */
  readonly spent?: readonly string[];
  /** Time of the last notification. */
  readonly at?: number;
}

/** Subject of a further message on a cause. */
export interface CauseUpdate {
  /** Checks that failed since the last message, or that passed since while others still fail. */
  readonly kind: 'joined' | 'recovered';
  readonly count: number;
  /** Names of the first few. */
  readonly names: readonly string[];
}

/** Events of a check, in the order they happened. */
export type CauseEvent =
  | {
      readonly kind: 'failure';
      readonly fact: FailingCheck;
      readonly incident: OwnIncident | null;
      readonly ruleIds?: readonly string[];
      readonly alertId: string;
      readonly channelIds: readonly number[];
      /** Whether its hold period is over. */
      readonly isDue: boolean;
    }
  | {
      readonly kind: 'recovery';
      readonly checkId: string;
      /** null if no channel may be notified of it. */
      readonly alertId: string | null;
      readonly channelIds: readonly number[];
    }
  /** A reminder, or a change between failing and degraded. */
  | {
      readonly kind: 'aside';
      readonly checkId: string;
      readonly alertId: string;
      readonly isReminder: boolean;
      readonly channelIds: readonly number[];
    }
  /** The check was deleted or deactivated. */
  | { readonly kind: 'gone'; readonly checkId: string };

/** A notification to send: an alert to a channel, filed under a check. */
export interface CauseNotice {
  readonly causeId: string;
  readonly channelId: number;
  readonly checkId: string;
  readonly alertId: string;
  /** Absent for the first message of a cause, its reminders and its last message. */
  readonly update?: CauseUpdate;
}

export interface LifecycleStep {
  /** Causes that are new or have changed. */
  readonly changed: readonly OpenCause[];
  readonly notices: readonly CauseNotice[];
  readonly incidents: readonly { readonly kind: 'open' | 'resolve'; readonly incident: CauseIncident }[];
  /** Checks whose news is still held and was not processed. */
  readonly held: ReadonlySet<string>;
  /** Checks to run now, ahead of time, because another check that failed for the same cause has recovered. */
  readonly hurried: readonly string[];
}
