import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { noteAway } from '../alerts/gaps/away.ts';
import type { Store } from '../store.ts';
import { HeartbeatRecorder } from './heartbeats.ts';

export interface HeartbeatWatchOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
}

const timersPerTurn = 200;
/** A look that is longer ago than this means that nobody was there to take pings either. */
const awayAfterMs = 20_000;

/**
 * Notes pings that were missed. The leader does; the timers are in the store, so the next leader goes on
 * where it stopped.
 *
 * While the service was away nobody could take a ping. When the watch finds that the last look is long ago,
 * the timers whose grace time ended meanwhile, or that expected a ping meanwhile, are given the benefit of
 * the doubt: their next ping is expected where their rhythm puts it after now, and those that were expected
 * before are slots that nobody measured. A red heartbeat is the job's fault, never ours.
 */
export class HeartbeatWatch {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #recorder = new HeartbeatRecorder();

  constructor(options: HeartbeatWatchOptions) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#logger = options.logger;
  }

  async turn(): Promise<number | null> {
    const next = await this.#store.heartbeats.nextDeadline();
    // Idle watches open no write transactions.
    if (next === null) return null;
    const now = this.#clock.wallMs();
    const { count, hasAlerts } = await this.#store.transaction(async (repositories) => {
      let isAway = false;
      const lookedAt = await repositories.heartbeats.lookedAt();
      if (lookedAt !== null && now - lookedAt > awayAfterMs) {
        const spared = await repositories.heartbeats.expectedBetween(lookedAt, now);
        isAway = await noteAway(repositories, await this.#recorder.spare(repositories, spared, now), now);
        if (spared.length > 0) {
          this.#logger.warn(
            { heartbeats: spared.length, awayMs: now - lookedAt },
            'service was down; heartbeats due meanwhile are not counted as missed',
          );
        }
      }
      const overdue = await repositories.heartbeats.overdue(now, timersPerTurn);
      let hasAlerts = isAway;
      for (const timer of overdue) {
        const isTold = await this.#recorder.record(repositories, timer, {
          state: 'FAILING',
          failure: null,
          at: now,
          source: null,
          userAgent: null,
        });
        hasAlerts ||= isTold;
      }
      await repositories.heartbeats.noteLook(now);
      return { count: overdue.length, hasAlerts };
    });
    if (hasAlerts) this.#store.signals.send([{ kind: 'alerts' }]);
    if (count === timersPerTurn) return now;
    const nextDeadline = await this.#store.heartbeats.nextDeadline();
    // A ping that comes at the very end of the grace time is in time.
    return nextDeadline === null ? null : nextDeadline + 1;
  }
}
