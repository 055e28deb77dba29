import { greatestOf, leastOf } from '@picket/lib/bounds/extremes.ts';
import type { Clock } from '@picket/lib/clock.ts';
import type { Logger } from '@picket/lib/log.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import type { Store } from '@picket/platform/store/store.ts';
import { recordAgentless } from '../alerts/gaps/agentless.ts';
import { tagsOf, withGroups } from '../checks/effective-check.ts';
import { Maintenance } from '../maintenance/maintenance.ts';
import { HeartbeatRecorder } from './recorder.ts';
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
 * Records missed pings, and runs of jobs that do not end in time. Runs on the leader; the timers are in the store, so the next leader continues where it stopped.
 *
 * While the service was away, no process could take a ping. If the watch finds that it last ran long ago, timers whose
 * grace time ended meanwhile, or that expected a ping meanwhile, get the benefit of the doubt: their next ping is
 * expected at the next regular time after now, and the earlier expected ones are recorded as slots that were not
 * measured. A failing heartbeat is always the fault of the job, never of the service.
 *
 * Runs of jobs that had started before lose their time limit: their ends may have been lost.
 *
 * A maintenance window that pauses a heartbeat has the same effect on a ping that was expected in it, or whose grace
 * time overlapped it, and on a run that was in progress in it.
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
    // Reads first, so that an idle watch opens no write transactions.
    if ((await this.#nextDeadline()) === null) return null;
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
        await repositories.jobRuns.unlimitBefore(lookedAt);
        if (spared.length > 0) {
          this.#logger.warn(
            { heartbeats: spared.length, awayMs: now - lookedAt },
            'the service was down; heartbeats that were due in that time do not count as missed',
          );
        }
      }
      const unfinished = await this.#recordUnfinished(repositories, now);
      const overdue = await repositories.heartbeats.overdue(now, timersPerTurn);
      const paused = (await pausedAmong(repositories, overdue.map(awaited))).map(({ timer }) => timer);
      await this.#recorder.pass(repositories, paused, { now, reason: 'paused-by-maintenance' });
      let hasAlerts = isAway || unfinished.hasAlerts;
      for (const timer of overdue) {
        if (paused.includes(timer)) continue;
        hasAlerts = (await this.#recorder.recordMissed(repositories, timer, now)) || hasAlerts;
      }
      await repositories.heartbeats.recordLook(now);
      return { count: Math.max(overdue.length, unfinished.count), hasAlerts };
    });
    if (hasAlerts) this.#store.signals.send([{ kind: 'alerts' }]);
    if (count === timersPerTurn) return now;
    const nextDeadline = await this.#nextDeadline();
    // A ping at the very end of the grace time is in time.
    return nextDeadline === null ? null : nextDeadline + 1;
  }

  /** Records the runs whose time limit is over, and restarts the timers of their checks. */
  async #recordUnfinished(
    repositories: Repositories,
    now: number,
  ): Promise<{ readonly count: number; readonly hasAlerts: boolean }> {
    const runs = await repositories.jobRuns.overdue(now, timersPerTurn);
    if (runs.length === 0) return { count: 0, hasAlerts: false };
    const timers = await repositories.heartbeats.lock(runs.map((run) => run.check_id));
    const byCheck = new Map(timers.map((timer) => [timer.check_id, timer]));
    const spans = runs.flatMap((run) => {
      const timer = byCheck.get(run.check_id);
      return timer ? [{ timer, run, from: run.started_at, to: run.deadline_at ?? now }] : [];
    });
    const paused = new Set(await pausedAmong(repositories, spans));
    let hasAlerts = false;
    for (const span of spans) {
      if (!(await repositories.jobRuns.unlimit(span.run)) || paused.has(span)) continue;
      const timer = await repositories.heartbeats.find(span.run.check_id);
      if (!timer) continue;
      hasAlerts = (await this.#recorder.recordUnfinished(repositories, timer, span.run, now)) || hasAlerts;
    }
    return { count: spans.length, hasAlerts };
  }

  /** When the next grace time or time limit of a run ends, or null. */
  async #nextDeadline(): Promise<number | null> {
    const { heartbeats, jobRuns } = this.#store;
    const ends = [await heartbeats.nextDeadline(), await jobRuns.nextDeadline()].filter((at) => at !== null);
    return ends.length === 0 ? null : leastOf(ends);
  }
}

/** A period in which a ping was awaited. */
interface Awaited {
  readonly timer: HeartbeatRow;
  readonly from: number;
  readonly to: number;
}

/** Those periods in which a maintenance window paused the check. */
async function pausedAmong<Span extends Awaited>(
  repositories: Pick<Repositories, 'checks' | 'groups' | 'maintenances' | 'windows'>,
  spans: readonly Span[],
): Promise<Span[]> {
  if (spans.length === 0) return [];
  const checks = await repositories.checks.findMany(spans.map(({ timer }) => timer.check_id));
  const effective = new Map(
    (await withGroups(repositories, [...checks.values()])).map((check) => [check.id, check]),
  );
  const accountIds = [...new Set(spans.map(({ timer }) => timer.account_id))];
  const maintenance = await Maintenance.load(repositories, accountIds, {
    from: leastOf(spans.map(({ from }) => from)),
    to: greatestOf(spans.map(({ to }) => to)),
  });
  return spans.filter((span) => {
    const check = effective.get(span.timer.check_id);
    return check && maintenance.pausesWithin(span.timer.account_id, tagsOf(check), span);
  });
}

/** From when a ping was expected until its grace time was over. */
function awaited(timer: HeartbeatRow): Awaited {
  const from = timer.expected_at ?? 0;
  return { timer, from, to: Math.max(from, timer.deadline_at ?? 0) };
}
