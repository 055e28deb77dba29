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
 * Heartbeats: checks whose targets call in by themselves (check model 1.7, 3.5). Lifecycle of a timer:
 *
 * It does not run until the first ping. After every ping, the next one is expected one period later, when the grace
 * time begins. A ping is `EARLY` before the expected time, `RECEIVED` around it (as is the first one), `GRACE` within
 * the grace time, and `LATE` after it if the miss has not been recorded yet. If no ping arrives by the end of the grace
 * time, the watch (watch.ts) records a `FAILING` event, and the timer restarts from there. A ping that reports a failed
 * job is `FAILING`, too. A check that is deactivated or reactivated waits for a first ping again.
 *
 * Every event is also a ledger record, a run that is final from the start, with a FINAL result: consumers of results
 * (statuses, alerts, analytics) need no knowledge of heartbeats. A ping passes, late or not; a missed ping fails, and
 * so does one that reports a failed job.
 */

/** How far from the expected time a ping still counts as on time. */
const onTimeMs = 5_000;

/** Location of heartbeat results, as no location ran anything. */
const noLocation = 'service';

/** Origin and content of a ping. */
export interface Ping {
  readonly source: string;
  readonly userAgent: string | null;
  /** Failure that a job reports; null if it did not fail. */
  readonly failure: string | null;
}

/** State of a ping that arrives now. */
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

/** Handles pings. */
export class Heartbeats {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #recorder = new HeartbeatRecorder();

  constructor(options: { readonly store: Store; readonly clock: Clock }) {
    this.#store = options.store;
    this.#clock = options.clock;
  }

  /**
   * Records a ping and restarts the timer. A ping to a deactivated check is accepted and ignored.
   *
   * @throws AppError NOT_FOUND for an unknown token.
   */
  async ping(token: string, ping: Ping): Promise<void> {
    // Reads first, so that unknown tokens open no write transactions.
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

/** Records heartbeat events. */
export class HeartbeatRecorder {
  readonly #numbers = new RunNumbers();

  /**
   * Runs in a transaction that has locked the timer: stores the event and its ledger record, and restarts the timer.
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
      /** Failure that the job reported; null if no ping arrived, or the job did not fail. */
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
   * Advances timers whose pings do not count, and records those pings as missed slots with a reason. Runs in a
   * transaction that has locked the timers.
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

/** @param said failure that the job reported; null: no ping arrived. */
function failureOf({ period_ms, grace_ms }: HeartbeatRow, said: string | null): Failure {
  if (said !== null) {
    return failure('JOB_FAILED', `The job reported that it failed${said === '' ? '.' : `: ${said}`}`);
  }
  const message = `No ping came within ${durationText(period_ms)} and ${durationText(grace_ms)} of grace.`;
  return failure('PING_MISSED', message);
}

/** A ledger record that no agent ever takes. */
function ledgerRun(check: Check, at: { slotAt: number; checkRunId: number; now: number }): RunRow {
  const place = { ...at, location: noLocation, locationId: null, freshMs: 0 };
  return queuedRun({ ...check, neededRuntimeId: null }, place);
}
