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

/** What is asked: values over time of one check, or figures or the coverage of many. */
export type Question =
  | { readonly kind: 'series'; readonly query: AnalyticsQuery }
  | { readonly kind: 'report'; readonly query: ReportQuery }
  | { readonly kind: 'coverage'; readonly query: CoverageQuery };

type Answer = Series[] | CheckAggregate[] | CheckCoverage[];

/** Asks a question; without one, its answer is no longer wanted. */
export interface AnalyticsRequest {
  readonly id: number;
  readonly question?: Question;
}

/** What the thread is started with. */
export interface AnalyticsStart {
  readonly place: AnalyticsPlace;
  /** Seen by both at any time: the questions whose answers are no longer wanted, each at its `stoppedAt`. */
  readonly stopped: Int32Array;
}

/** Where the thread reads. */
export interface AnalyticsPlace extends StorePlace {
  /** A ClickHouse that has a copy of what is sealed. */
  readonly clickHouseUrl?: string | undefined;
  /** What its connections trust in addition to the usual certificates, as PEM texts. */
  readonly caCertificates?: readonly string[] | undefined;
}

export interface AnalyticsReply {
  readonly id: number;
  readonly answer?: Answer;
  readonly problem?: {
    readonly message: string;
    readonly stack: string;
    /** What people are to do, where the database gives no answer. */
    readonly unavailable: string | undefined;
    readonly isStopped: boolean;
  };
  /** What the question has found out about ClickHouse; absent when it was not asked. */
  readonly clickHouse?: ClickHouseReadState | undefined;
  /** Stored values that the question met and that cannot be read. */
  readonly unreadable?: readonly UnreadableValue[];
}

interface Pending {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
}

/** More pieces of one account than this do not wait for the thread: its further callers are asked to retry. */
const waitingPerAccount = 2_000;
/** How soon a database that gave no answer is asked again, when somebody wants to know. */
const lookAgainMs = 1_000;
/**
 * How many pieces the thread has: the next one is there when one is answered, else it would stand still until the main
 * thread, which works on something else meanwhile, gives it another.
 */
const piecesAtThread = 2;

/** Where a question stands in the list of those no longer wanted: those that the thread has follow each other. */
export const stoppedAt = (id: number): number => id % piecesAtThread;

/** Questions about more checks are cut into pieces of that many: others come in between. */
const checksPerPiece = 50;

/**
 * Answers questions about many results in a thread of its own with a connection of its own, because they take
 * long enough to be felt: SQLite reads where it is called, and a million numbers are sorted somewhere. The
 * thread starts with the first question; one that died fails the question it had and is replaced at the
 * next. Accounts take turns at it, public pages come first, and what a caller no longer waits for is not asked:
 * the thread has few pieces at a time, all others wait here. A piece that it has is stopped when its caller hangs
 * up: before its next statement, and on PostgreSQL within one.
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

  /** @param onClickHouse hears of each question that ClickHouse was asked. */
  constructor(place: AnalyticsPlace, onClickHouse?: (news: ClickHouseReadState) => void) {
    this.#place = place;
    this.#onClickHouse = onClickHouse;
  }

  /** @throws AppError STORE_UNAVAILABLE when the database does not answer, RATE_LIMITED when the account asks too much at once. */
  async ask(query: AnalyticsQuery): Promise<Series[]> {
    return (await this.#ask({ kind: 'series', query })) as Series[];
  }

  /**
   * How the runs of checks ended in a window, by check; those without runs are left out.
   *
   * @throws AppError STORE_UNAVAILABLE when the database does not answer, RATE_LIMITED when the account asks too much
   * at once.
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

  /** Why questions could not be answered, when last one was asked; null when it was. Looks again by itself. */
  problem(): string | null {
    if (this.#trouble !== null && performance.now() - this.#failedAtMs > lookAgainMs) {
      this.#failedAtMs = performance.now();
      this.examine().catch((thrown: unknown) => {
        this.#trouble = toError(thrown).message;
      });
    }
    return this.#trouble;
  }

  /** Why questions cannot be answered now; null when they can. */
  async examine(): Promise<string | null> {
    try {
      await this.#ask({ kind: 'report', query: { checks: [], from: 0, to: 0 } });
      return null;
    } catch (thrown) {
      if (thrown instanceof AppError && thrown.code === 'STORE_UNAVAILABLE') return thrown.message;
      throw thrown;
    }
  }

  /** How much waits for the thread. */
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
    // Only a question keeps the process alive, the thread by itself does not.
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

/** The metric that is the response time of a type's results. */
function timeMetricOf(checkType: string): string | null {
  const metrics = findCheckType(checkType)?.analytics.metrics ?? [];
  return metrics.find(({ path }) => path === undefined)?.name ?? null;
}
