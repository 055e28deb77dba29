import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { ownThreadEnvironment } from '@picket/lib/env.ts';
import { toError } from '@picket/lib/errors.ts';
import { openEpoll } from '../sys/epoll.ts';
import { type Libc, SysUnavailable } from '../sys/libc.ts';
import { WakeUp } from '../sys/wake-up.ts';
import type { FromKernelThread, KernelThreadStart, ToKernelThread } from './messages.ts';
import { WatchTable } from './watch-table.ts';

const entry = new URL(`./kernel-worker${extname(import.meta.url)}`, import.meta.url);

/** Callbacks of a thread. */
export interface KernelThreadListener {
  /** Everything the thread says. */
  onMessage?(message: FromKernelThread): void;
  /** The thread has ended, whatever the reason. Called once. */
  onEnd?(cause: Error | undefined): void;
}

/** The one of this thread, while somebody uses it. */
let current: KernelThread | undefined;

/**
 * The thread that waits for the kernel (see kernel-loop.ts), as the thread that uses it sees it. There is one
 * for each thread that probes, for all its probes; it ends when nobody uses it any more. It keeps the process
 * alive only while somebody holds it (`hold`). Once ended it is never used again; the next user gets another.
 */
export class KernelThread {
  readonly table = new WatchTable();
  /** Rejects with SysUnavailable when the thread can do nothing here. */
  readonly ready: Promise<void>;
  readonly #worker: Worker;
  readonly #wakeUp: WakeUp;
  readonly #epoll: ReturnType<typeof openEpoll>;
  readonly #listeners = new Set<KernelThreadListener>();
  readonly #exit = Promise.withResolvers<void>();
  #userCount = 0;
  #holdCount = 0;
  #isReady = false;
  #isEnded = false;
  #lastError: Error | undefined;

  /**
   * The thread of this thread; started when there is none. `release` it when it is of no use any more.
   *
   * @throws SysError when the kernel has no descriptors left.
   */
  static use(libc: Libc, listener: KernelThreadListener = {}): KernelThread {
    if (!current || current.#isEnded) current = new KernelThread(libc);
    current.#userCount += 1;
    current.#listeners.add(listener);
    return current;
  }

  private constructor(libc: Libc) {
    this.#epoll = openEpoll(libc);
    try {
      this.#wakeUp = new WakeUp(libc);
    } catch (thrown) {
      this.#epoll.close();
      throw thrown;
    }
    const start: KernelThreadStart = {
      epollDescriptor: this.#epoll.descriptor,
      wakeUpDescriptor: this.#wakeUp.descriptor,
      table: this.table.memory,
    };
    this.#worker = new Worker(entry, {
      name: 'kernel',
      workerData: start,
      env: ownThreadEnvironment,
      resourceLimits: { maxYoungGenerationSizeMb: 24 },
    });
    const ready = Promise.withResolvers<void>();
    this.ready = ready.promise;
    // Callers that wait for it get the error; it is no fault that nobody waits.
    this.ready.catch(() => undefined);
    this.hold();
    ready.promise.finally(() => this.letGo()).catch(() => undefined);
    this.#worker.on('message', (message: FromKernelThread) => {
      if (message.type === 'ready') {
        this.#isReady = true;
        ready.resolve();
      } else if (message.type === 'unavailable') ready.reject(new SysUnavailable(message.reason));
      for (const { onMessage } of this.#listeners) onMessage?.(message);
    });
    this.#worker.on('error', (error) => {
      this.#lastError = toError(error);
    });
    this.#worker.on('exit', () => {
      this.#isEnded = true;
      if (current === this) current = undefined;
      ready.reject(new Error("the kernel's thread ended unexpectedly", { cause: this.#lastError }));
      this.#wakeUp.close();
      this.#epoll.close();
      for (const { onEnd } of this.#listeners) onEnd?.(this.#lastError);
      this.#listeners.clear();
      this.#exit.resolve();
    });
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** False while it starts, and once it has ended. */
  get isUp(): boolean {
    return this.#isReady && !this.#isEnded;
  }

  /** The epoll descriptor of the thread, to add sockets to. */
  get epollDescriptor(): number {
    return this.#epoll.descriptor;
  }

  post(message: ToKernelThread): void {
    if (this.#isEnded) return;
    this.#worker.postMessage(message);
    this.#wakeUp.wake();
  }

  /** Keeps the process alive until `letGo` was called as often. */
  hold(): void {
    this.#holdCount += 1;
    if (this.#holdCount === 1 && !this.#isEnded) this.#worker?.ref();
  }

  letGo(): void {
    this.#holdCount -= 1;
    if (this.#holdCount === 0 && !this.#isEnded) this.#worker.unref();
  }

  /** To be called once for each `use`. The last one ends the thread and waits until it is gone. */
  async release(listener?: KernelThreadListener): Promise<void> {
    if (listener) this.#listeners.delete(listener);
    this.#userCount -= 1;
    if (this.#userCount > 0 || this.#isEnded) return;
    if (current === this) current = undefined;
    // The process stays alive while it waits for the end.
    this.hold();
    this.post({ type: 'end' });
    await this.#exit.promise;
  }
}
