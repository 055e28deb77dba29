import {
  parentPort,
  receiveMessageOnPort,
  Worker,
  type WorkerOptions,
  workerData,
} from 'node:worker_threads';
import { ownThreadEnvironment } from '@picket/lib/env.ts';
import { shareNativeLoads } from '@picket/probes/sys/native-loads.ts';
import type { WorkerStart } from './worker-protocol.ts';

/** What a thread has instead of a WorkerStart until somebody takes it. */
interface Awaited {
  /** 0 until its start was sent. */
  readonly sent: Int32Array;
}

/**
 * A thread that loads its program while nobody knows yet what it is to work with: an agent's main thread has
 * as much to load, and is ready a third sooner when both do it at the same time. The thread waits in
 * `startOfThread` until it is taken; it keeps no process alive.
 */
export class ThreadAhead {
  readonly #worker: Worker;
  readonly #sent = new Int32Array(new SharedArrayBuffer(4));
  #hasEnded = false;
  /** Resolves when the thread has ended, taken or not. */
  readonly ended: Promise<void>;

  constructor(entry: URL, options: { readonly name: string; readonly maxHeapMb: number }) {
    const awaited: Awaited = { sent: this.#sent };
    this.#worker = new Worker(entry, { ...threadOptions(options), workerData: awaited });
    this.#worker.unref();
    this.ended = new Promise((resolve) => {
      this.#worker.once('exit', () => {
        this.#hasEnded = true;
        resolve();
      });
    });
    // The pool starts another one instead, and hears the reason from that.
    this.#worker.once('error', () => {
      this.#hasEnded = true;
    });
  }

  /** Ends the thread, taken or not. */
  async terminate(): Promise<void> {
    await this.#worker.terminate();
  }

  /** The thread, which begins with `start` now; undefined when it has ended. To be called once. */
  take(start: WorkerStart): Worker | undefined {
    if (this.#hasEnded) return undefined;
    this.#worker.ref();
    this.#worker.postMessage(start);
    Atomics.store(this.#sent, 0, 1);
    Atomics.notify(this.#sent, 0);
    return this.#worker;
  }
}

/** What this thread works with, once that is known. */
export function startOfThread(): WorkerStart {
  const given = workerData as WorkerStart | Awaited;
  if (!('sent' in given)) return given;
  Atomics.wait(given.sent, 0, 0);
  const start = parentPort && receiveMessageOnPort(parentPort);
  if (!start) throw new Error('the thread was taken without a start');
  return start.message as WorkerStart;
}

/** How threads that run checks are started. */
export function threadOptions(options: { readonly name: string; readonly maxHeapMb: number }): WorkerOptions {
  shareNativeLoads();
  return {
    name: options.name,
    // Runners get what they need through their context; the agent's own environment is none of their business.
    env: ownThreadEnvironment,
    // A thread that eats memory mostly dies alone; when V8 notices too late the agent dies and its leases go on. Few
    // objects outlive a run: with more room for new ones V8 would take twice the memory for a few collections less.
    resourceLimits: { maxYoungGenerationSizeMb: 24, maxOldGenerationSizeMb: options.maxHeapMb },
  };
}
