import type { Clock } from '@picket/lib/clock.ts';
import type { Logger } from '@picket/lib/log.ts';
import type { ServiceClock } from '../../client/service-clock.ts';
import type { WaitingReport } from '../outbox.ts';
import type { SpoolFacts } from './spool-message.ts';

export interface SpoolState {
  /** `memory`: results are kept only in memory; `problem` says why. */
  readonly mode: 'disk' | 'memory';
  readonly problem: string | undefined;
  readonly facts: SpoolFacts | undefined;
  /** Results held only in memory. */
  readonly memoryCount: number;
  /** Number of results dropped unsent since the agent started; `other`: neither disk nor memory had room. */
  readonly dropped: Readonly<Record<DropKind, number>>;
}

/** Why results were dropped unsent: no room on disk, too old, or no room in memory. */
export type DropKind = 'attempts' | 'finals' | 'expired' | 'other';

export interface SpoolOptions {
  readonly directory: string;
  readonly tag: string;
  readonly maxBytes: number;
  /** Limit for results kept in memory while the disk is unavailable, in characters. */
  readonly maxMemorySize: number;
  readonly clock: Clock;
  readonly log: Logger;
  readonly serviceClock: ServiceClock;
  /** Results spooled before this time are dropped unsent; 0 while the service's clock is unknown. */
  readonly notBeforeMs: () => number;
  /** Called when a result is on disk. */
  readonly onDurable: (waiting: WaitingReport) => void;
  /** Called when a result was dropped before it was taken. */
  readonly onDropped: (waiting: WaitingReport) => void;
  /** Called when the size of the backlog may have changed. */
  readonly onBacklog: () => void;
}
