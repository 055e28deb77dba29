import { runnableSpec } from '@picket/checks/contract/definition/definition.ts';
import { findCheckType } from '@picket/checks/index.ts';
import type { Clock } from '@picket/lib/clock.ts';
import { AppError } from '@picket/lib/errors.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import type { Store } from '@picket/platform/store/store.ts';
import { PingSecrets } from './ping-secrets.ts';
import { HeartbeatRecorder, type NewEvent } from './recorder.ts';
import { maxMessageLength, type Ping, type Said, saidBy } from './signals.ts';
import type { HeartbeatRow, JobRunRow } from './tables.ts';
import { deadlineWithStart, stateOfPing } from './timer.ts';

/**
 * Heartbeats: checks whose targets call in by themselves (check model 1.7, 3.5). Lifecycle of a timer:
 *
 * It does not run until the first ping. After every ping, the next one is expected one period later, when the grace
 * time begins. A ping is `EARLY` before the expected time, `RECEIVED` around it (as is the first one), `GRACE` within
 * the grace time, and `LATE` after it if the miss has not been recorded yet. If no ping arrives by the end of the grace
 * time, the watch (watch.ts) records a `FAILING` event, and the timer restarts from there. A ping that reports a failed
 * job is `FAILING`, too. A check that is deactivated or reactivated waits for a first ping again.
 *
 * A job may also say that it starts (`STARTED`): the ping at the end of that run has its duration. A start does not
 * restart the timer, except that it counts as the first ping; a job that starts in time has time to end
 * (`deadlineWithStart`). A run that does not end within the longest time is recorded by the watch. Runs of one job may
 * overlap: the ids that the job gives to them tell them apart. A message without a verdict is `LOGGED`, and changes
 * nothing.
 *
 * Every other event is also a ledger record, a run that is final from the start, with a FINAL result: consumers of
 * results (statuses, alerts, analytics) need no knowledge of heartbeats. A ping passes, late or not, unless its run took
 * too long; a missed ping fails, and so does one that reports a failed job.
 */

/** Handles pings. */
export class Heartbeats {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #recorder = new HeartbeatRecorder();
  readonly #secrets = new PingSecrets();

  constructor(options: { readonly store: Store; readonly clock: Clock }) {
    this.#store = options.store;
    this.#clock = options.clock;
  }

  /**
   * Records a ping. A ping to a deactivated check is accepted and ignored.
   *
   * @throws AppError NOT_FOUND for an unknown token.
   */
  async ping(token: string, ping: Ping): Promise<void> {
    // Reads first, so that unknown tokens open no write transactions.
    const checkId = await this.#store.heartbeats.checkOfToken(token);
    if (checkId === undefined) throw unknownToken();
    const clean = await this.#clean(checkId, ping);
    const hasAlerts = await this.#store.transaction(async (repositories) => {
      const timer = await repositories.heartbeats.findByToken(token);
      if (!timer) throw unknownToken();
      return timer.is_active === 1 && this.#record(repositories, timer, ping, clean);
    });
    if (hasAlerts) this.#store.signals.send([{ kind: 'alerts' }]);
  }

  /** The texts of a ping without secrets. */
  async #clean(checkId: string, { message, body, isBodyCut }: Ping): Promise<Pick<Ping, 'message' | 'body'>> {
    if (message === '' && body === null) return { message, body };
    const check = (await this.#store.checks.findMany([checkId])).get(checkId);
    if (!check) return { message: '', body: null };
    const clean = await this.#secrets.cleanerOf(this.#store, check);
    return {
      message: clean(message, message.length === maxMessageLength),
      body: body === null ? null : clean(body, isBodyCut),
    };
  }

  async #record(
    repositories: Repositories,
    timer: HeartbeatRow,
    ping: Ping,
    clean: Pick<Ping, 'message' | 'body'>,
  ): Promise<boolean> {
    const check = (await repositories.checks.findMany([timer.check_id])).get(timer.check_id);
    const type = check && findCheckType(check.checkType);
    if (!check || !type?.pings) return false;
    const spec = runnableSpec(type, check.definition);
    const said = saidBy(ping, type.pings.filters(spec));
    const at = this.#clock.wallMs();
    const event: Omit<NewEvent, 'state'> = { ...eventOf(ping, said), ...clean, at };
    if (said.signal === 'log') {
      await this.#recorder.note(repositories, timer, { ...event, state: 'LOGGED' });
      return false;
    }
    if (said.signal === 'start') {
      const otherRuns = await this.#start(repositories, timer, { runId: ping.runId, at });
      await this.#recorder.note(repositories, timer, { ...event, state: 'STARTED', otherRuns });
      return false;
    }
    const run = await repositories.jobRuns.end(timer.check_id, ping.runId ?? '');
    const durationMs = ping.durationMs ?? (run ? Math.max(0, at - run.started_at) : null);
    const state = said.isFailure ? 'FAILING' : stateOfPing(timer, at);
    const limits = type.pings.limits(spec);
    return this.#recorder.record(repositories, { timer, check }, { ...event, state, durationMs }, limits);
  }

  /** Returns how many other runs of the job are in progress. */
  async #start(
    repositories: Pick<Repositories, 'heartbeats' | 'jobRuns'>,
    timer: HeartbeatRow,
    { runId, at }: { readonly runId: string | null; readonly at: number },
  ): Promise<number> {
    const { check_id: checkId, longest_run_ms: longestMs } = timer;
    const run: JobRunRow = {
      check_id: checkId,
      run_id: runId ?? '',
      started_at: at,
      deadline_at: longestMs === null ? null : at + longestMs,
    };
    const deadlineAt = deadlineWithStart(timer, at);
    if (timer.last_at === null) await repositories.heartbeats.restart(timer, at);
    else if (deadlineAt !== null) await repositories.heartbeats.defer(checkId, deadlineAt);
    return repositories.jobRuns.start(run);
  }
}

function eventOf(ping: Ping, { signal, exitCode }: Said): Omit<NewEvent, 'state' | 'at'> {
  const { source, userAgent, runId, durationMs, message, body, isBodyCut } = ping;
  return { source, userAgent, signal, runId, exitCode, durationMs, message, body, isBodyCut };
}

function unknownToken(): AppError {
  return new AppError('NOT_FOUND', 'This ping URL does not exist.');
}
