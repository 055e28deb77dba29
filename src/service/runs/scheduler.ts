import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { tagsOf, withGroups } from '../checks/effective-check.ts';
import { Alarm } from '../jobs/job-loop.ts';
import { Maintenance } from '../maintenance/maintenance.ts';
import type { ServiceMetrics } from '../metrics.ts';
import type { Signal } from '../store/engine/signals.ts';
import type { RunRow } from '../store/schema/tables.ts';
import type { Store } from '../store/store.ts';
import { gridOf, RunNumbers, runsDue } from './due-runs.ts';
import { nextSlotAfter } from './slots.ts';

export interface SchedulerOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: ServiceMetrics;
}

const checksPerTurn = 500;
const longestSleepMs = 30_000;
const compareEveryMs = 30_000;
/** How often a process that does not schedule looks whether it should. */
const leaderPollMs = 2_000;

/**
 * Turns due slots into runs. The next slot of each check stands in its row; a turn takes the due rows, inserts their
 * runs and moves them on in one transaction, so that a crash or a second scheduler neither loses nor doubles a slot. Of
 * several processes one leads; what a turn writes is written only while that is so.
 * After a gap (the service was away) only the newest slot is run, and only while it is fresh; the older ones become one
 * terminal record each gap, which says for how many slots it stands.
 */
export class Scheduler {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #metrics: ServiceMetrics;
  readonly #alarm: Alarm;
  readonly #unsubscribe: () => void;
  readonly #numbers = new RunNumbers();
  #comparedAtMs: number | undefined;

  constructor(options: SchedulerOptions) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#metrics = options.metrics;
    this.#alarm = new Alarm({
      name: 'scheduler',
      clock: options.clock,
      logger: options.logger,
      work: () => this.#turn(),
      longestMs: longestSleepMs,
    });
    this.#unsubscribe = options.store.signals.subscribe((signal) => {
      if (signal.kind === 'schedule' || signal.kind === 'look') this.#alarm.wake();
    });
  }

  start(): void {
    this.#alarm.start();
  }

  async stop(): Promise<void> {
    this.#unsubscribe();
    await this.#alarm.stop();
  }

  async #turn(): Promise<number | null> {
    if (!(await this.#store.isLeader())) return this.#clock.wallMs() + leaderPollMs;
    const now = this.#clock.wallMs();
    await this.#bringBack(now);
    const turn = await this.#store.leaderTransaction(async (nouns) => {
      const checks = await withGroups(nouns, await nouns.checks.due(now, checksPerTurn));
      const locationIds = await nouns.locations.idsBySlug(checks.map((check) => check.accountId));
      const maintenance = await Maintenance.load(
        nouns,
        checks.map((check) => check.accountId),
        { from: Math.min(now, ...checks.map((check) => check.nextSlotAt ?? now)), to: now },
      );
      const rows: RunRow[] = [];
      for (const check of checks) {
        const { accountId } = check;
        const isPaused = (slotAt: number) => maintenance.pauses(accountId, tagsOf(check), slotAt);
        rows.push(...runsDue(check, now, locationIds, this.#numbers, isPaused));
        await nouns.checks.setNextSlot(check.id, nextSlotAfter(gridOf(check), now));
      }
      const inserted = await nouns.runs.insert(rows);
      return { inserted, isMore: checks.length === checksPerTurn };
    });
    if (!turn) return this.#clock.wallMs() + leaderPollMs;
    const { inserted, isMore } = turn;
    this.#metrics.countMissed(
      inserted.filter((run) => run.state === 'missed'),
      'service-away',
    );
    this.#store.signals.send(queuedSignals(inserted));
    return isMore ? now : this.#store.checks.nextSlotAt();
  }

  /**
   * A clock that was ahead and was set right leaves next slots that lie further off than one interval: their checks
   * would stand still until then. At the first turn, and now and then, such rows are given the next slot after now.
   */
  async #bringBack(now: number): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    if (this.#comparedAtMs !== undefined && nowMs - this.#comparedAtMs < compareEveryMs) return;
    let count = 0;
    let found: number | undefined;
    do {
      found = await this.#store.leaderTransaction(async (nouns) => {
        const checks = await nouns.checks.ahead(now, checksPerTurn);
        for (const check of checks) {
          await nouns.checks.setNextSlot(check.id, nextSlotAfter(gridOf(check), now));
        }
        return checks.length;
      });
      count += found ?? 0;
    } while (found === checksPerTurn);
    this.#comparedAtMs = nowMs;
    if (count > 0) {
      this.#logger.warn(
        { checks: count },
        'the clock was ahead: slots that lay too far off were brought back',
      );
    }
  }
}

/** The signals that tell polls of new runs, one for each location, lane and type. */
export function queuedSignals(runs: readonly RunRow[]): Signal[] {
  const counted = new Map<string, { signal: Signal & { kind: 'queued' }; count: number }>();
  for (const run of runs) {
    if (run.state !== 'queued' || run.location_id === null) continue;
    const key = `${run.location_id} ${run.lane} ${run.check_type}`;
    const entry = counted.get(key);
    if (entry) entry.count += 1;
    else {
      const { location_id: locationId, lane, check_type: checkType } = run;
      counted.set(key, { signal: { kind: 'queued', locationId, lane, checkType, count: 1 }, count: 1 });
    }
  }
  return [...counted.values()].map(({ signal, count }) => ({ ...signal, count }));
}
