import { randomUUID } from 'node:crypto';
import { type Failure, failure, resultFlags } from '@picket/checks/contract/failure.ts';
import type { PingRules } from '@picket/checks/contract/frequency.ts';
import type { EventState, JobSignal, noteStates, PingState } from '@picket/checks/heartbeat/spec.ts';
import { findCheckType } from '@picket/checks/index.ts';
import { judge } from '@picket/checks/judging/verdict.ts';
import { durationText } from '@picket/lib/figures/duration.ts';
import { endedAt } from '@picket/platform/store/days/ended-day.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import type { Check } from '../checks/store.ts';
import { measuredValues } from '../results/analytics/measured-values.ts';
import { failedResult, groupErrors } from '../results/error-groups/group-errors.ts';
import { storeOutcome } from '../results/settle.ts';
import type { CountedResultRow } from '../results/tables.ts';
import { queuedRun, RunNumbers } from '../runs/due-runs.ts';
import type { RunRow } from '../runs/tables.ts';
import type { HeartbeatEventRow, HeartbeatRow, JobRunRow } from './tables.ts';
import { passedTimes, scheduleOf } from './timer.ts';

/** Location of heartbeat results, as no location ran anything. */
const noLocation = 'service';

/** A ping, or its absence, that is to be recorded. */
export interface NewEvent {
  readonly state: EventState;
  readonly at: number;
  readonly source: string | null;
  readonly userAgent: string | null;
  /** Null if no ping arrived. */
  readonly signal: JobSignal | null;
  readonly runId: string | null;
  readonly exitCode: number | null;
  readonly durationMs: number | null;
  readonly message: string;
  readonly body: string | null;
  readonly isBodyCut: boolean;
  /** For starts. */
  readonly otherRuns?: number;
}

/** An event of the service itself, which no ping caused. */
const noPing = {
  ...{ source: null, userAgent: null, signal: null, runId: null, exitCode: null, durationMs: null },
  ...{ message: '', body: null, isBodyCut: false },
} as const;

type Limits = ReturnType<PingRules<never>['limits']>;
const noLimits: Limits = { degradedResponseTime: null, maxResponseTime: null };

/** Records heartbeat events. Every call runs in a transaction that has locked the timer. */
export class HeartbeatRecorder {
  readonly #numbers = new RunNumbers();

  /** Stores an event that is no result. */
  async note(
    repositories: Pick<Repositories, 'heartbeats'>,
    timer: HeartbeatRow,
    event: NewEvent & { readonly state: (typeof noteStates)[number] },
  ): Promise<void> {
    await repositories.heartbeats.insertEvent({ ...eventRow(timer, event), body: event.body });
  }

  /**
   * Stores an event and its ledger record, and restarts the timer.
   *
   * @returns whether there are notifications to send.
   */
  async record(
    repositories: Repositories,
    { timer, check }: { readonly timer: HeartbeatRow; readonly check: Check },
    event: NewEvent & { readonly state: PingState },
    limits: Limits,
  ): Promise<boolean> {
    const said = event.state === 'FAILING' ? failureOf(event) : undefined;
    return this.#recordJudged(repositories, { timer, check }, event, { limits, operationFailure: said });
  }

  /** Records that no ping came by the end of the grace time. */
  async recordMissed(repositories: Repositories, timer: HeartbeatRow, at: number): Promise<boolean> {
    const schedule = scheduleOf(timer);
    const grace = durationText(timer.grace_ms);
    const waited =
      schedule === null
        ? `within ${durationText(timer.period_ms)} and ${grace} of grace`
        : `within ${grace} after its time by "${schedule.cron ?? schedule.onCalendar}"`;
    const missed = failure('PING_MISSED', `No ping came ${waited}.`);
    return this.#recordOwn(repositories, timer, { ...noPing, state: 'FAILING', at }, missed);
  }

  /** Records that a run has not ended within its time limit. */
  async recordUnfinished(
    repositories: Repositories,
    timer: HeartbeatRow,
    run: JobRunRow,
    at: number,
  ): Promise<boolean> {
    const runId = run.run_id === '' ? null : run.run_id;
    const limitMs = (run.deadline_at ?? at) - run.started_at;
    const unfinished = failure(
      'JOB_UNFINISHED',
      `The job started, and did not end within ${durationText(limitMs)}.`,
    );
    return this.#recordOwn(repositories, timer, { ...noPing, state: 'FAILING', runId, at }, unfinished);
  }

  /** Advances timers whose pings do not count, and records those pings as missed slots with a reason. */
  async pass(
    repositories: Pick<Repositories, 'checks' | 'heartbeats' | 'runs'>,
    timers: readonly HeartbeatRow[],
    { now, reason }: { readonly now: number; readonly reason: 'service-away' | 'paused-by-maintenance' },
  ): Promise<readonly RunRow[]> {
    const checks = await repositories.checks.findMany(timers.map((timer) => timer.check_id));
    const rows: RunRow[] = [];
    for (const timer of timers) {
      const check = checks.get(timer.check_id);
      const passed = passedTimes(timer, now);
      const last = passed.at(-1);
      if (!check || !last) continue;
      let lastSlotAt = timer.last_slot_at;
      for (const { firstAt, count, intervalMs } of passed) {
        const slotAt = Math.max(firstAt, lastSlotAt + 1);
        lastSlotAt = slotAt + (count - 1) * intervalMs;
        rows.push({
          ...ledgerRun(check, { slotAt, checkRunId: this.#numbers.next(now), now }),
          slot_count: count,
          slot_interval_ms: count === 1 && timer.schedule !== null ? null : intervalMs,
          state: 'missed',
          reason,
          ...endedAt(now),
        });
      }
      const isRegular = timer.schedule === null;
      const lastAt = isRegular ? last.firstAt + (last.count - 1) * last.intervalMs : now;
      await repositories.heartbeats.restart(timer, lastAt, lastSlotAt);
    }
    if (rows.length === 0) return [];
    return repositories.runs.insert(rows);
  }

  async #recordOwn(
    repositories: Repositories,
    timer: HeartbeatRow,
    event: NewEvent & { readonly state: PingState },
    operationFailure: Failure,
  ): Promise<boolean> {
    const check = (await repositories.checks.findMany([timer.check_id])).get(timer.check_id);
    if (!check) return false;
    const judged = { limits: noLimits, operationFailure };
    return this.#recordJudged(repositories, { timer, check }, event, judged);
  }

  async #recordJudged(
    repositories: Repositories,
    { timer, check }: { readonly timer: HeartbeatRow; readonly check: Check },
    event: NewEvent & { readonly state: PingState },
    { limits, operationFailure }: { readonly limits: Limits; readonly operationFailure: Failure | undefined },
  ): Promise<boolean> {
    const row = eventRow(timer, event);
    // Two pings in one millisecond are two slots.
    const slotAt = Math.max(event.at, timer.last_slot_at + 1);
    await repositories.heartbeats.insertEvent(row);
    const responseTimeMs = event.durationMs ?? 0;
    const verdict = judge({ responseTimeMs, ...limits, assertions: [], operationFailure });
    const judged =
      event.durationMs === null ? { ...verdict, isDegraded: null, overMaxResponseTime: null } : verdict;
    const hasAlerts = await this.#store(repositories, check, { event, id: row.id, slotAt, judged });
    await repositories.heartbeats.restart(timer, event.at, slotAt);
    return hasAlerts;
  }

  async #store(
    repositories: Repositories,
    check: Check,
    {
      event,
      id,
      slotAt,
      judged,
    }: {
      readonly event: NewEvent;
      /** The result of an event is found by the event's id. */
      readonly id: string;
      readonly slotAt: number;
      readonly judged: Judged;
    },
  ): Promise<boolean> {
    const now = event.at;
    const { failure: failed, errorMessages: messages } = judged;
    const run = {
      ...ledgerRun(check, { slotAt, checkRunId: this.#numbers.next(now), now }),
      state: 'final' as const,
      ...endedAt(now),
    };
    await repositories.runs.insert([run]);
    const result = failedResult(run, id, [...messages], { hasFailedRun: failed !== undefined });
    const groups = await groupErrors(repositories, [result], now);
    const type = findCheckType(run.check_type);
    const { at: _at, otherRuns: _other, ...detail } = { ...event, message: event.message || null };
    const row: CountedResultRow = {
      id,
      run_id: run.id,
      account_id: run.account_id,
      check_id: run.check_id,
      check_type: run.check_type,
      run_location: run.location,
      result_type: 'FINAL',
      has_failures: resultFlags(failed).hasFailures ? 1 : 0,
      has_errors: 0,
      is_degraded: flagOrNull(judged.isDegraded),
      over_max: flagOrNull(judged.overMaxResponseTime),
      owner: failed?.owner ?? null,
      code: failed?.code ?? null,
      message: failed?.message ?? null,
      failure_details: null,
      response_time: event.durationMs ?? 0,
      started: Math.round(now - (event.durationMs ?? 0)),
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
      error_group_ids: JSON.stringify(groups.get(id) ?? []),
      detail: JSON.stringify(detail),
      measured: type ? JSON.stringify(measuredValues(type.analytics, detail, event.durationMs)) : null,
    };
    return storeOutcome(repositories, { final: [{ run, row }], attempts: [] }, now);
  }
}

interface Judged {
  readonly failure: Failure | undefined;
  readonly isDegraded: boolean | null;
  readonly overMaxResponseTime: boolean | null;
  readonly errorMessages: readonly string[];
}

function flagOrNull(value: boolean | null): 0 | 1 | null {
  return value === null ? null : value ? 1 : 0;
}

function eventRow(timer: HeartbeatRow, event: NewEvent): HeartbeatEventRow {
  return {
    id: randomUUID(),
    check_id: timer.check_id,
    account_id: timer.account_id,
    state: event.state,
    created: event.at,
    source: event.source,
    user_agent: event.userAgent,
    signal: event.signal,
    run_id: event.runId,
    exit_code: event.exitCode,
    duration_ms: event.durationMs,
    message: event.message || null,
    body: null,
    is_body_cut: event.isBodyCut ? 1 : 0,
    other_runs: event.otherRuns ?? null,
  };
}

/** The failure that a job reported. */
function failureOf({ exitCode, message }: NewEvent): Failure {
  const what =
    exitCode === null ? 'The job reported that it failed' : `The job ended with exit code ${exitCode}`;
  return failure('JOB_FAILED', `${what}${message === '' ? '.' : `: ${message}`}`);
}

/** A ledger record that no agent ever takes. */
function ledgerRun(check: Check, at: { slotAt: number; checkRunId: number; now: number }): RunRow {
  const place = { ...at, location: noLocation, locationId: null, freshMs: 0 };
  return queuedRun({ ...check, neededRuntimeId: null }, place);
}
