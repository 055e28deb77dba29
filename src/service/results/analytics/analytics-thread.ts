import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { AppError } from '../../../lib/errors.ts';
import type { StorePlace } from '../../store.ts';
import type { AnalyticsQuery, Series } from './series.ts';

export interface AnalyticsRequest {
  readonly id: number;
  readonly query: AnalyticsQuery;
}

export interface AnalyticsReply {
  readonly id: number;
  readonly series?: Series[];
  readonly problem?: { readonly message: string; readonly stack: string; readonly isUnavailable: boolean };
}

interface Pending {
  readonly resolve: (series: Series[]) => void;
  readonly reject: (error: Error) => void;
}

/** More questions than this do not wait for the thread: further callers are asked to retry. */
const maxPending = 500;

/**
 * Answers questions about many results in a thread of its own with a connection of its own, because they take
 * long enough to be felt: SQLite reads where it is called, and a million numbers are sorted somewhere. The
 * thread starts with the first question; one that died fails the questions it had and is replaced at the
 * next.
 */
export class AnalyticsThread {
  readonly #place: StorePlace;
  readonly #pending = new Map<number, Pending>();
  #worker: Worker | undefined;
  #lastId = 0;
  #isClosed = false;

  constructor(place: StorePlace) {
    this.#place = place;
  }

  /** @throws AppError STORE_UNAVAILABLE when the database does not answer, or too much is asked at once. */
  ask(query: AnalyticsQuery): Promise<Series[]> {
    if (this.#isClosed || this.#pending.size >= maxPending) {
      return Promise.reject(
        new AppError('STORE_UNAVAILABLE', 'Too many analytics queries are queued. Try again.'),
      );
    }
    this.#worker ??= this.#start();
    const worker = this.#worker;
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      // Only a question keeps the process alive, the thread by itself does not.
      worker.ref();
      worker.postMessage({ id, query } satisfies AnalyticsRequest);
    });
  }

  #start(): Worker {
    const entry = new URL(`./analytics-worker${extname(import.meta.url)}`, import.meta.url);
    const worker = new Worker(entry, { workerData: this.#place, name: 'analytics' });
    worker.on('message', (reply: AnalyticsReply) => this.#settle(reply));
    worker.on('error', (error) => this.#end(worker, error));
    worker.on('exit', (code) => this.#end(worker, new Error(`the analytics thread ended with code ${code}`)));
    return worker;
  }

  #settle({ id, series, problem }: AnalyticsReply): void {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    if (this.#pending.size === 0) this.#worker?.unref();
    if (series) pending?.resolve(series);
    else if (problem?.isUnavailable) {
      pending?.reject(
        new AppError('STORE_UNAVAILABLE', 'The database is unavailable. Try again.', {
          cause: new Error(problem.message),
        }),
      );
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
