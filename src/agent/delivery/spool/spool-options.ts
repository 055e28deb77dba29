import type { Clock } from '@picket/lib/clock.ts';
import type { Logger } from '@picket/lib/log.ts';
import type { ServiceClock } from '../../client/service-clock.ts';
import type { WaitingReport } from '../outbox.ts';
import type { SpoolFacts } from './spool-message.ts';

export interface SpoolState {
  /** `memory`: results are kept in memory alone, and why. */
  readonly mode: 'disk' | 'memory';
  readonly problem: string | undefined;
  readonly facts: SpoolFacts | undefined;
  /** Results held only in memory. */
  readonly memoryCount: number;
  /**
   * How many results were dropped unsent since the agent started; `other`: neither disk nor memory had room.
   */
  readonly dropped: Readonly<Record<DropKind, number>>;
}

/** Why results were dropped unsent: for want of room on disk, because they grew too old, or in memory. */
export type DropKind = 'attempts' | 'finals' | 'expired' | 'other';

export interface SpoolOptions {
  readonly directory: string;
  readonly tag: string;
  readonly maxBytes: number;
  /** What may wait in memory while the disk does not work, in characters. */
  readonly maxMemorySize: number;
  readonly clock: Clock;
  readonly log: Logger;
  readonly serviceClock: ServiceClock;
  /** Results that were spooled before that are dropped unsent; 0 while the service's clock is not known. */
  readonly notBeforeMs: () => number;
  /** A result is on disk. */
  readonly onDurable: (waiting: WaitingReport) => void;
  /** A result was dropped before anybody took it. */
  readonly onDropped: (waiting: WaitingReport) => void;
  /** There may be something in the backlog now, or less than before. */
  readonly onBacklog: () => void;
}
