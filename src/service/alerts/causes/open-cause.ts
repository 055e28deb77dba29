import type { OwnIncident, RequestedIncident } from '../../incidents/requested-incident.ts';
import type { CauseKind, FailingCheck } from './failing-check.ts';

/** A cause that checks of an account fail by, as it goes on; its lifecycle is in cause-lifecycle.ts. */
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
  /** Incidents that its members asked for, one for each service and rule. */
  readonly incidents: readonly CauseIncident[];
  /** When the location was found healthy again, for a cause that it explains. */
  readonly wellSince: number | null;
  readonly closed: number | null;
}

export interface CauseIncident {
  /** The same in the event that opens it and in the one that resolves it. */
  readonly triggerId: string;
  readonly incident: RequestedIncident;
  /** The check that asked for it. */
  readonly checkId: string;
}

export interface CauseMember {
  readonly fact: FailingCheck;
  /** The incident of its own that it asks for. */
  readonly incident: OwnIncident | null;
  /** The rules that it fails by; absent in what earlier builds stored. */
  readonly ruleIds?: readonly string[];
  readonly alertId: string;
  /** The channels that hear of this member. */
  readonly channelIds: readonly number[];
  readonly joined: number;
  readonly recovered: number | null;
  /**
   * When it left the cause, some time after it recovered: what it fails by next may be another one. Absent in what
   * earlier builds stored, as is what follows.
   */
  readonly left?: number | null;
  /** When it was last run ahead of its time, since another member had recovered. */
  readonly hurriedAt?: number;
  /** The alert that says so; null while there is none, and where no channel may be notified of it. */
  readonly recovery: { readonly alertId: string; readonly channelIds: readonly number[] } | null;
}

/** What a channel was notified of a cause. */
export interface Notified {
  readonly channelId: number;
  /** The check that everything notified to this channel is filed under. */
  readonly checkId: string;
  readonly isOver: boolean;
  /** The checks that it knows of as failing; absent in what earlier builds stored: all that concern it. */
  readonly told?: readonly string[];
  /** Alerts of recoveries that had their message: an alert has one for each channel. */
  readonly spent?: readonly string[];
  /** When it was notified last. */
  readonly at?: number;
}

/** What a further message on a cause is about. */
export interface CauseUpdate {
  /** Checks that fail since the last message, or that passed since while others fail still. */
  readonly kind: 'joined' | 'recovered';
  readonly count: number;
  /** The first by name. */
  readonly names: readonly string[];
}

/** What happened to a check, in the order it happened. */
export type CauseEvent =
  | {
      readonly kind: 'failure';
      readonly fact: FailingCheck;
      readonly incident: OwnIncident | null;
      readonly ruleIds?: readonly string[];
      readonly alertId: string;
      readonly channelIds: readonly number[];
      /** Whether it was held for as long as it may be. */
      readonly isDue: boolean;
    }
  | {
      readonly kind: 'recovery';
      readonly checkId: string;
      /** null where no channel may be notified of it. */
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
  /** The check was deleted or switched off. */
  | { readonly kind: 'gone'; readonly checkId: string };

/** A notification to be sent: an alert to a channel, filed under a check. */
export interface CauseNotice {
  readonly causeId: string;
  readonly channelId: number;
  readonly checkId: string;
  readonly alertId: string;
  /** Absent where it is the first message of the cause, a reminder of it, or its last. */
  readonly update?: CauseUpdate;
}

export interface LifecycleStep {
  /** Causes that are new or have changed. */
  readonly changed: readonly OpenCause[];
  readonly notices: readonly CauseNotice[];
  readonly incidents: readonly { readonly kind: 'open' | 'resolve'; readonly incident: CauseIncident }[];
  /** Checks whose news are still held: nothing was done about them. */
  readonly held: ReadonlySet<string>;
  /** Checks to be run now, ahead of their time: another one that failed by the same has recovered. */
  readonly hurried: readonly string[];
}
