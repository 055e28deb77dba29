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

/** The kernel thread of this thread, while it has users. */
let current: KernelThread | undefined;

/**
 * The thread that waits for the kernel (see kernel-loop.ts), as seen by the thread that uses it. Each probing thread
 * has one, shared by all its probes; it ends with its last user. It keeps the process alive only while it starts and
 * ends. Once ended it is never used again; the next user gets a new one.
 */
export class KernelThread {
  readonly table = new WatchTable();
  /** Rejects with SysUnavailable if the thread cannot work on this host. */
  readonly ready: Promise<void>;
  readonly #worker: Worker;
  readonly #wakeUp: WakeUp;
  readonly #epoll: ReturnType<typeof openEpoll>;
  readonly #exit = Promise.withResolvers<void>();
  #userCount = 0;
  #holdCount = 0;
  #isReady = false;
  #isEnded = false;
  #lastError: Error | undefined;

  /**
   * Returns the kernel thread of this thread, and starts it if necessary. Call `release` when done.
   *
   * @throws SysError if the kernel has no descriptors left.
   */
  static use(libc: Libc): KernelThread {
    if (!current || current.#isEnded) current = new KernelThread(libc);
    current.#userCount += 1;
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
    // Callers that await it get the error; without one, it must not be reported as unhandled.
    this.ready.catch(() => undefined);
    this.#hold();
    ready.promise.finally(() => this.#letGo()).catch(() => undefined);
    this.#worker.on('message', (message: FromKernelThread) => {
      if (message.type === 'ready') {
        this.#isReady = true;
        ready.resolve();
      } else if (message.type === 'unavailable') ready.reject(new SysUnavailable(message.reason));
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
      this.#exit.resolve();
    });
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** False while the thread starts, and after it has ended. */
  get isUp(): boolean {
    return this.#isReady && !this.#isEnded;
  }

  /** The thread's epoll descriptor, to which sockets are added. */
  get epollDescriptor(): number {
    return this.#epoll.descriptor;
  }

  post(message: ToKernelThread): void {
    if (this.#isEnded) return;
    this.#worker.postMessage(message);
    this.#wakeUp.wake();
  }

  /** Call once for each `use`. The last call ends the thread and waits for its exit. */
  async release(): Promise<void> {
    this.#userCount -= 1;
    if (this.#userCount > 0 || this.#isEnded) return;
    if (current === this) current = undefined;
    // Keeps the process alive until the thread has exited.
    this.#hold();
    this.post({ type: 'end' });
    await this.#exit.promise;
  }

  /** Keeps the process alive until `#letGo` has been called as often. */
  #hold(): void {
    this.#holdCount += 1;
    if (this.#holdCount === 1 && !this.#isEnded) this.#worker?.ref();
  }

  #letGo(): void {
    this.#holdCount -= 1;
    if (this.#holdCount === 0 && !this.#isEnded) this.#worker.unref();
  }
}
