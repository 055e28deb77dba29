import { greatestOf, leastOf } from '@picket/lib/bounds/extremes.ts';
import type { Clock } from '@picket/lib/clock.ts';
import type { Logger } from '@picket/lib/log.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import type { Store } from '@picket/platform/store/store.ts';
import { recordAgentless } from '../alerts/gaps/agentless.ts';
import { tagsOf, withGroups } from '../checks/effective-check.ts';
import { Maintenance } from '../maintenance/maintenance.ts';
import { HeartbeatRecorder } from './heartbeats.ts';
import type { HeartbeatRow } from './tables.ts';

export interface HeartbeatWatchOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
}

const timersPerTurn = 200;
/** If the timers were last examined longer ago, no process was running to take pings either. */
const awayAfterMs = 20_000;

/**
 * Records missed pings. Runs on the leader; the timers are in the store, so the next leader continues where it stopped.
 *
 * While the service was away, no process could take a ping. If the watch finds that it last ran long ago, timers whose
 * grace time ended meanwhile, or that expected a ping meanwhile, get the benefit of the doubt: their next ping is
 * expected at the next regular time after now, and the earlier expected ones are recorded as slots that were not
 * measured. A failing heartbeat is always the fault of the job, never of the service.
 *
 * A maintenance window that pauses a heartbeat has the same effect on a ping that was expected in it, or whose grace
 * time overlapped it.
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
    // Reads first, so that an idle watch opens no write transactions.
    if (next === null) return null;
    const now = this.#clock.wallMs();
    const { count, hasAlerts } = await this.#store.transaction(async (repositories) => {
      let isAway = false;
      const lookedAt = await repositories.heartbeats.lookedAt();
      if (lookedAt !== null && now - lookedAt > awayAfterMs) {
        const spared = await repositories.heartbeats.expectedBetween(lookedAt, now);
        isAway = await recordAgentless(
          repositories,
          await this.#recorder.pass(repositories, spared, { now, reason: 'service-away' }),
          now,
        );
        if (spared.length > 0) {
          this.#logger.warn(
            { heartbeats: spared.length, awayMs: now - lookedAt },
            'the service was down; heartbeats that were due in that time do not count as missed',
          );
        }
      }
      const overdue = await repositories.heartbeats.overdue(now, timersPerTurn);
      const paused = await pausedAmong(repositories, overdue);
      await this.#recorder.pass(repositories, paused, { now, reason: 'paused-by-maintenance' });
      let hasAlerts = isAway;
      for (const timer of overdue) {
        if (paused.includes(timer)) continue;
        const isTold = await this.#recorder.record(repositories, timer, {
          state: 'FAILING',
          failure: null,
          at: now,
          source: null,
          userAgent: null,
        });
        hasAlerts ||= isTold;
      }
      await repositories.heartbeats.recordLook(now);
      return { count: overdue.length, hasAlerts };
    });
    if (hasAlerts) this.#store.signals.send([{ kind: 'alerts' }]);
    if (count === timersPerTurn) return now;
    const nextDeadline = await this.#store.heartbeats.nextDeadline();
    // A ping at the very end of the grace time is in time.
    return nextDeadline === null ? null : nextDeadline + 1;
  }
}

/** Overdue timers whose ping was expected, or still awaited, while a window paused their checks. */
async function pausedAmong(
  repositories: Pick<Repositories, 'checks' | 'groups' | 'maintenances' | 'windows'>,
  overdue: readonly HeartbeatRow[],
): Promise<HeartbeatRow[]> {
  if (overdue.length === 0) return [];
  const checks = await repositories.checks.findMany(overdue.map((timer) => timer.check_id));
  const effective = new Map(
    (await withGroups(repositories, [...checks.values()])).map((check) => [check.id, check]),
  );
  const spans = new Map(overdue.map((timer) => [timer, awaitedIn(timer)]));
  const accountIds = [...new Set(overdue.map((timer) => timer.account_id))];
  const maintenance = await Maintenance.load(repositories, accountIds, {
    from: leastOf([...spans.values()].map(({ from }) => from)),
    to: greatestOf([...spans.values()].map(({ to }) => to)),
  });
  return overdue.filter((timer) => {
    const check = effective.get(timer.check_id);
    const span = spans.get(timer);
    return check && span && maintenance.pausesWithin(timer.account_id, tagsOf(check), span);
  });
}

/** Period from when a ping was expected until its grace time was over. */
function awaitedIn({ last_at: lastAt, period_ms: periodMs, grace_ms: graceMs }: HeartbeatRow) {
  const from = (lastAt ?? 0) + periodMs;
  return { from, to: from + graceMs };
}
