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

/** Data of a thread that waits for its WorkerStart. */
interface Awaited {
  /** 0 until the start parameters are sent. */
  readonly sent: Int32Array;
}

/**
 * A thread that loads its program before its start parameters are known: an agent's main thread has as much to load,
 * and is ready a third sooner if both load at the same time. The thread waits in `startOfThread` until it is taken; it
 * keeps no process alive.
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
    // The pool starts another thread instead, which reports the reason.
    this.#worker.once('error', () => {
      this.#hasEnded = true;
    });
  }

  /** Terminates the thread, taken or not. */
  async terminate(): Promise<void> {
    await this.#worker.terminate();
  }

  /** Returns the thread, which now begins with `start`; undefined if it has ended. Call it once. */
  take(start: WorkerStart): Worker | undefined {
    if (this.#hasEnded) return undefined;
    this.#worker.ref();
    this.#worker.postMessage(start);
    Atomics.store(this.#sent, 0, 1);
    Atomics.notify(this.#sent, 0);
    return this.#worker;
  }
}

/** Returns this thread's start parameters; blocks until they arrive. */
export function startOfThread(): WorkerStart {
  const given = workerData as WorkerStart | Awaited;
  if (!('sent' in given)) return given;
  Atomics.wait(given.sent, 0, 0);
  const start = parentPort && receiveMessageOnPort(parentPort);
  if (!start) throw new Error('the thread was taken without a start');
  return start.message as WorkerStart;
}

/** Options of all threads that run checks. */
export function threadOptions(options: { readonly name: string; readonly maxHeapMb: number }): WorkerOptions {
  shareNativeLoads();
  return {
    name: options.name,
    // Runners get what they need through their context; they must not see the agent's own environment.
    env: ownThreadEnvironment,
    // A thread that exhausts its heap usually dies alone; if V8 notices too late, the agent dies and other agents take
    // over its leases. Few objects outlive a run: a larger young generation would double the memory and save few
    // collections.
    resourceLimits: { maxYoungGenerationSizeMb: 24, maxOldGenerationSizeMb: options.maxHeapMb },
  };
}
