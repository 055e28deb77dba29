import { randomUUID } from 'node:crypto';
import { type Failure, failure, resultFlags } from '@picket/checks/contract/failure.ts';
import type { PingState } from '@picket/checks/heartbeat/spec.ts';
import { findCheckType } from '@picket/checks/index.ts';
import type { Clock } from '@picket/lib/clock.ts';
import { AppError } from '@picket/lib/errors.ts';
import { durationText } from '@picket/lib/figures/duration.ts';
import { endedAt } from '@picket/platform/store/days/ended-day.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import type { Store } from '@picket/platform/store/store.ts';
import type { Check } from '../checks/store.ts';
import { measuredValues } from '../results/analytics/measured-values.ts';
import { failedResult, groupErrors } from '../results/error-groups/group-errors.ts';
import { storeOutcome } from '../results/settle.ts';
import type { CountedResultRow } from '../results/tables.ts';
import { queuedRun, RunNumbers } from '../runs/due-runs.ts';
import type { RunRow } from '../runs/tables.ts';
import type { HeartbeatEventRow, HeartbeatRow } from './tables.ts';

/**
 * Heartbeats: checks whose targets call in by themselves (check model 1.7, 3.5). The story of a timer:
 *
 * It stands still until the first ping. From every ping on, the next one is expected one period later, and
 * the grace time begins then. A ping is `EARLY` before the expected time, `RECEIVED` around it (the first one
 * is that too), `GRACE` within the grace time, and `LATE` when that is over and nobody has noticed yet. When
 * nobody calls by the end of the grace time, the watch (watch.ts) notes a `FAILING` event, and the
 * timer starts again from there. A ping that says that the job failed is `FAILING`, too. A check that is switched off, or on again, waits for a first ping once more.
 *
 * Every event is also a record of the ledger, a run that is final from the start, with a FINAL result: what
 * looks at results (statuses, alerts, analytics) needs to know nothing of heartbeats. A ping passes, late or
 * not; a missed one fails, and so does one of a job that failed.
 */

/** How far from the expected time a ping still counts as on time. */
const onTimeMs = 5_000;

/** Where results of heartbeats come from: no location ran anything. */
const noLocation = 'service';

/** Who a ping came from. */
export interface Ping {
  readonly source: string;
  readonly userAgent: string | null;
  /** What a job says that failed; null for one that did not. */
  readonly failure: string | null;
}

/** Which state a ping has that comes now. */
export function stateOfPing(
  timer: Pick<HeartbeatRow, 'last_at' | 'period_ms' | 'grace_ms'>,
  now: number,
): PingState {
  if (timer.last_at === null) return 'RECEIVED';
  const expectedAt = timer.last_at + timer.period_ms;
  if (now < expectedAt - onTimeMs) return 'EARLY';
  if (now <= expectedAt + onTimeMs) return 'RECEIVED';
  return now <= expectedAt + timer.grace_ms ? 'GRACE' : 'LATE';
}

/** Takes pings. */
export class Heartbeats {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #recorder = new HeartbeatRecorder();

  constructor(options: { readonly store: Store; readonly clock: Clock }) {
    this.#store = options.store;
    this.#clock = options.clock;
  }

  /**
   * Records a ping and restarts the timer. One to a check that is switched off is taken and forgotten.
   *
   * @throws AppError NOT_FOUND for an unknown token.
   */
  async ping(token: string, ping: Ping): Promise<void> {
    // Read first: unknown tokens open no write transactions.
    if (!(await this.#store.heartbeats.isToken(token))) throw unknownToken();
    const hasAlerts = await this.#store.transaction(async (repositories) => {
      const timer = await repositories.heartbeats.findByToken(token);
      if (!timer) throw unknownToken();
      if (timer.is_active === 0) return false;
      const now = this.#clock.wallMs();
      const state = ping.failure === null ? stateOfPing(timer, now) : 'FAILING';
      return this.#recorder.record(repositories, timer, { ...ping, state, at: now });
    });
    if (hasAlerts) this.#store.signals.send([{ kind: 'alerts' }]);
  }
}

function unknownToken(): AppError {
  return new AppError('NOT_FOUND', 'This ping URL does not exist.');
}

/** Records what happened to heartbeats. */
export class HeartbeatRecorder {
  readonly #numbers = new RunNumbers();

  /**
   * In a transaction that has locked the timer: the event, its record in the ledger, and the timer's new
   * start.
   *
   * @returns whether there are notifications to send.
   */
  async record(
    repositories: Repositories,
    timer: HeartbeatRow,
    event: {
      readonly state: PingState;
      readonly at: number;
      readonly source: string | null;
      readonly userAgent: string | null;
      /** What the job said of its failure; null where no ping came, or one of a job that did not fail. */
      readonly failure: string | null;
    },
  ): Promise<boolean> {
    const check = (await repositories.checks.findMany([timer.check_id])).get(timer.check_id);
    if (!check) return false;
    const row: HeartbeatEventRow = {
      id: randomUUID(),
      check_id: timer.check_id,
      account_id: timer.account_id,
      state: event.state,
      created: event.at,
      source: event.source,
      user_agent: event.userAgent,
    };
    // Two pings in one millisecond are two slots.
    const slotAt = Math.max(event.at, timer.last_slot_at + 1);
    await repositories.heartbeats.insertEvent(row);
    const failed = event.state === 'FAILING' ? failureOf(timer, event.failure) : undefined;
    const hasAlerts = await this.#record(repositories, check, row, { slotAt, failed });
    await repositories.heartbeats.restart(timer, event.at, slotAt);
    return hasAlerts;
  }

  /**
   * Moves timers on whose pings count for nothing, and records those pings as slots that were missed for a reason. In
   * a transaction that has locked the timers.
   */
  async pass(
    repositories: Pick<Repositories, 'checks' | 'heartbeats' | 'runs'>,
    timers: readonly HeartbeatRow[],
    { now, reason }: { readonly now: number; readonly reason: 'service-away' | 'paused-by-maintenance' },
  ): Promise<readonly RunRow[]> {
    const checks = await repositories.checks.findMany(timers.map((timer) => timer.check_id));
    const rows: RunRow[] = [];
    for (const timer of timers) {
      const { period_ms: periodMs, last_at: lastAt } = timer;
      const check = checks.get(timer.check_id);
      if (lastAt === null || !check) continue;
      const count = Math.floor((now - lastAt) / periodMs);
      const slotAt = Math.max(lastAt + periodMs, timer.last_slot_at + 1);
      await repositories.heartbeats.restart(
        timer,
        lastAt + count * periodMs,
        slotAt + (count - 1) * periodMs,
      );
      rows.push({
        ...ledgerRun(check, { slotAt, checkRunId: this.#numbers.next(now), now }),
        slot_count: count,
        slot_interval_ms: periodMs,
        state: 'missed',
        reason,
        ...endedAt(now),
      });
    }
    if (rows.length === 0) return [];
    return repositories.runs.insert(rows);
  }

  async #record(
    repositories: Repositories,
    check: Check,
    event: HeartbeatEventRow,
    { slotAt, failed }: { readonly slotAt: number; readonly failed: Failure | undefined },
  ): Promise<boolean> {
    const now = event.created;
    const run = {
      ...ledgerRun(check, { slotAt, checkRunId: this.#numbers.next(now), now }),
      state: 'final' as const,
      ...endedAt(now),
    };
    await repositories.runs.insert([run]);
    const messages = failed ? [failed.message] : [];
    const result = failedResult(run, event.id, messages, { hasFailedRun: failed !== undefined });
    const groups = await groupErrors(repositories, [result], now);
    const type = findCheckType(run.check_type);
    const detail = { state: event.state, source: event.source, userAgent: event.user_agent };
    const row: CountedResultRow = {
      // The result of an event is found by the event's id.
      id: event.id,
      run_id: run.id,
      account_id: run.account_id,
      check_id: run.check_id,
      check_type: run.check_type,
      run_location: run.location,
      result_type: 'FINAL',
      has_failures: resultFlags(failed).hasFailures ? 1 : 0,
      has_errors: 0,
      is_degraded: null,
      over_max: null,
      owner: failed?.owner ?? null,
      code: failed?.code ?? null,
      message: failed?.message ?? null,
      failure_details: null,
      response_time: 0,
      started: now,
      stopped: now,
      created: now,
      attempts: 0,
      sequence_id: run.sequence_id,
      check_run_id: run.check_run_id,
      slot_at: run.slot_at,
      start_delay: 0,
      agent_lag: 0,
      agent_overhead: 0,
      host_started: null,
      timing_doubtful: 0,
      certificate_expires: null,
      agent_id: noLocation,
      error_messages: JSON.stringify(messages),
      error_group_ids: JSON.stringify(groups.get(event.id) ?? []),
      detail: JSON.stringify(detail),
      measured: type ? JSON.stringify(measuredValues(type.analytics, detail, null)) : null,
    };
    return storeOutcome(repositories, { final: [{ run, row }], attempts: [] }, now);
  }
}

/** @param said what the job said of its failure; null: no ping came. */
function failureOf({ period_ms, grace_ms }: HeartbeatRow, said: string | null): Failure {
  if (said !== null) {
    return failure('JOB_FAILED', `The job reported that it failed${said === '' ? '.' : `: ${said}`}`);
  }
  const message = `No ping came within ${durationText(period_ms)} and ${durationText(grace_ms)} of grace.`;
  return failure('PING_MISSED', message);
}

/** A record of the ledger that no agent ever takes. */
function ledgerRun(check: Check, at: { slotAt: number; checkRunId: number; now: number }): RunRow {
  const place = { ...at, location: noLocation, locationId: null, freshMs: 0 };
  return queuedRun({ ...check, neededRuntimeId: null }, place);
}
