import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { findCheckType } from '@picket/checks/index.ts';
import type { ClickHouseReadState } from '@picket/clickhouse/fed-columns.ts';
import { AppError, toError } from '@picket/lib/errors.ts';
import { presentAsker } from '@picket/lib/turns/asker.ts';
import { FairQueue, type QueueFigures } from '@picket/lib/turns/fair-queue.ts';
import type { StorePlace } from '@picket/platform/store/store.ts';
import { type UnreadableValue, unreadableValues } from '@picket/platform/store/stored-json.ts';
import type { CheckCoverage, CoverageQuery, CoverageSource } from '../../coverage/coverage-query.ts';
import type { RunAggregate } from '../reports/store.ts';
import type { Window } from '../reports/window.ts';
import type { CheckAggregate, ReportQuery } from './report-aggregates.ts';
import type { AnalyticsQuery, Series } from './series.ts';

/** A question: values over time of one check, or figures or the coverage of many. */
export type Question =
  | { readonly kind: 'series'; readonly query: AnalyticsQuery }
  | { readonly kind: 'report'; readonly query: ReportQuery }
  | { readonly kind: 'coverage'; readonly query: CoverageQuery };

type Answer = Series[] | CheckAggregate[] | CheckCoverage[];

/** Asks a question, or, without one, withdraws it: its answer is no longer needed. */
export interface AnalyticsRequest {
  readonly id: number;
  readonly question?: Question;
}

/** Start parameters of the thread. */
export interface AnalyticsStart {
  readonly place: AnalyticsPlace;
  /** Shared memory: questions whose answers are no longer needed, each at its `stoppedAt`. */
  readonly stopped: Int32Array;
}

/** Stores that the thread reads from. */
export interface AnalyticsPlace extends StorePlace {
  /** A ClickHouse with a copy of sealed results. */
  readonly clickHouseUrl?: string | undefined;
  /** Certificates that its connections trust in addition to the usual ones, in PEM format. */
  readonly caCertificates?: readonly string[] | undefined;
}

export interface AnalyticsReply {
  readonly id: number;
  readonly answer?: Answer;
  readonly problem?: {
    readonly message: string;
    readonly stack: string;
    /** Advice for users if the database does not respond. */
    readonly unavailable: string | undefined;
    readonly isStopped: boolean;
  };
  /** State of ClickHouse as observed by this question; absent if it was not queried. */
  readonly clickHouse?: ClickHouseReadState | undefined;
  /** Unreadable stored values that the question encountered. */
  readonly unreadable?: readonly UnreadableValue[];
}

interface Pending {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
}

/** Limit of pieces per account that wait for the thread: further callers are asked to retry. */
const waitingPerAccount = 2_000;
/** How soon a database that did not respond is queried again on request. */
const lookAgainMs = 1_000;
/**
 * Number of pieces that the thread holds: the next one is ready when one is answered, so that the thread does not idle
 * until the main thread, busy with other work, sends another.
 */
const piecesAtThread = 2;

/** Index of a question in the list of withdrawn ones: ids of the pieces in the thread are consecutive. */
export const stoppedAt = (id: number): number => id % piecesAtThread;

/** Questions about more checks are split into pieces of this size, so that others run in between. */
const checksPerPiece = 50;

/**
 * Answers questions about many results in a separate thread with its own connection, because they would block
 * noticeably: SQLite reads in the calling thread, and a million numbers have to be sorted. The thread starts with the
 * first question; if it dies, its current question fails and the next one starts a new thread. Accounts take turns,
 * public pages come first, and questions that the caller no longer waits for are dropped: the thread holds few pieces
 * at a time, all others wait here. A piece in the thread is stopped when its caller disconnects: before its next
 * statement, and on PostgreSQL within one.
 */
export class AnalyticsThread implements CoverageSource {
  readonly #place: AnalyticsPlace;
  readonly #onClickHouse: ((news: ClickHouseReadState) => void) | undefined;
  readonly #pending = new Map<number, Pending>();
  readonly #queue = new FairQueue({
    name: 'analytics',
    atOnce: piecesAtThread,
    waitingPerKey: waitingPerAccount,
  });
  readonly #stopped = new Int32Array(new SharedArrayBuffer(piecesAtThread * Int32Array.BYTES_PER_ELEMENT));
  #worker: Worker | undefined;
  #lastId = 0;
  #isClosed = false;
  #trouble: string | null = null;
  #failedAtMs = 0;

  /** @param onClickHouse called with the state of ClickHouse after each question that queried it. */
  constructor(place: AnalyticsPlace, onClickHouse?: (news: ClickHouseReadState) => void) {
    this.#place = place;
    this.#onClickHouse = onClickHouse;
  }

  /** @throws AppError STORE_UNAVAILABLE if the database does not respond, RATE_LIMITED if the account asks too much. */
  async ask(query: AnalyticsQuery): Promise<Series[]> {
    return (await this.#ask({ kind: 'series', query })) as Series[];
  }

  /**
   * Outcomes of the runs of checks in a window, by check; checks without runs are omitted.
   *
   * @throws AppError STORE_UNAVAILABLE if the database does not respond, RATE_LIMITED if the account asks too much.
   */
  async report(
    checks: readonly { readonly id: string; readonly checkType: string }[],
    window: Window,
  ): Promise<Map<string, RunAggregate>> {
    if (checks.length === 0) return new Map();
    const asked = checks.map(({ id, checkType }) => ({ id, metric: timeMetricOf(checkType) }));
    const pieces = await Promise.all(
      inPieces(asked).map((some) => {
        const query: ReportQuery = { checks: some, from: window.from, to: window.to };
        return this.#ask({ kind: 'report', query }) as Promise<CheckAggregate[]>;
      }),
    );
    return new Map(pieces.flat().map((one) => [one.checkId, one]));
  }

  async coverage(query: CoverageQuery): Promise<Map<string, CheckCoverage>> {
    if (query.checkIds.length === 0) return new Map();
    const pieces = await Promise.all(
      inPieces(query.checkIds).map(
        (checkIds) =>
          this.#ask({ kind: 'coverage', query: { ...query, checkIds } }) as Promise<CheckCoverage[]>,
      ),
    );
    return new Map(pieces.flat().map((one) => [one.checkId, one]));
  }

  /** Why the last question could not be answered; null if it was. Retries by itself. */
  problem(): string | null {
    if (this.#trouble !== null && performance.now() - this.#failedAtMs > lookAgainMs) {
      this.#failedAtMs = performance.now();
      this.examine().catch((thrown: unknown) => {
        this.#trouble = toError(thrown).message;
      });
    }
    return this.#trouble;
  }

  /** Why questions cannot be answered now; null if they can. */
  async examine(): Promise<string | null> {
    try {
      await this.#ask({ kind: 'report', query: { checks: [], from: 0, to: 0 } });
      return null;
    } catch (thrown) {
      if (thrown instanceof AppError && thrown.code === 'STORE_UNAVAILABLE') return thrown.message;
      throw thrown;
    }
  }

  /** Figures of the queue for the thread. */
  figures(): QueueFigures {
    return this.#queue.figures();
  }

  #ask(question: Question): Promise<Answer> {
    const turn = presentAsker();
    return this.#queue.run(turn, () => this.#answer(question, turn.gone));
  }

  async #answer(question: Question, gone: AbortSignal | undefined): Promise<Answer> {
    if (this.#isClosed) {
      throw new AppError('STORE_UNAVAILABLE', 'The service is shutting down.');
    }
    this.#worker ??= this.#start();
    const worker = this.#worker;
    this.#lastId += 1;
    const id = this.#lastId;
    const stop = () => {
      Atomics.store(this.#stopped, stoppedAt(id), id);
      worker.postMessage({ id } satisfies AnalyticsRequest);
    };
    gone?.addEventListener('abort', stop, { once: true });
    const answered = Promise.withResolvers<Answer>();
    this.#pending.set(id, answered);
    // Only a pending question keeps the process alive, not the thread by itself.
    worker.ref();
    worker.postMessage({ id, question } satisfies AnalyticsRequest);
    try {
      return await answered.promise;
    } finally {
      gone?.removeEventListener('abort', stop);
    }
  }

  #start(): Worker {
    const entry = new URL(`./analytics-worker${extname(import.meta.url)}`, import.meta.url);
    const start: AnalyticsStart = { place: this.#place, stopped: this.#stopped };
    const worker = new Worker(entry, { workerData: start, name: 'analytics' });
    worker.on('message', (reply: AnalyticsReply) => this.#settle(reply));
    worker.on('error', (error) => this.#end(worker, error));
    worker.on('exit', (code) => this.#end(worker, new Error(`the analytics thread ended with code ${code}`)));
    return worker;
  }

  #settle({ id, answer, problem, clickHouse, unreadable = [] }: AnalyticsReply): void {
    for (const value of unreadable) unreadableValues.publish(value);
    if (clickHouse !== undefined) this.#onClickHouse?.(clickHouse);
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    if (this.#pending.size === 0) this.#worker?.unref();
    const cause = new Error(problem?.message);
    if (answer) {
      this.#trouble = null;
      pending?.resolve(answer);
    } else if (problem?.isStopped) {
      pending?.reject(
        new AppError('CALLER_GONE', 'The client disconnected before the answer was ready.', { cause }),
      );
    } else if (problem?.unavailable !== undefined) {
      this.#trouble = problem.unavailable;
      this.#failedAtMs = performance.now();
      pending?.reject(new AppError('STORE_UNAVAILABLE', problem.unavailable, { cause }));
    } else pending?.reject(Object.assign(new Error(problem?.message), { stack: problem?.stack }));
  }

  #end(worker: Worker, error: Error): void {
    if (worker !== this.#worker) return;
    this.#worker = undefined;
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#worker?.terminate();
  }
}

function inPieces<Item>(items: readonly Item[]): Item[][] {
  return Array.from({ length: Math.ceil(items.length / checksPerPiece) }, (_, piece) =>
    items.slice(piece * checksPerPiece, (piece + 1) * checksPerPiece),
  );
}

/** Metric that holds the response time of a type's results. */
function timeMetricOf(checkType: string): string | null {
  const metrics = findCheckType(checkType)?.analytics.metrics ?? [];
  return metrics.find(({ path }) => path === undefined)?.name ?? null;
}
