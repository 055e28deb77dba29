import type { EchoAnswer } from '../kernel-thread/echo/answers.ts';
import type { FamilyReport, TrainSpec } from '../kernel-thread/echo/messages.ts';
import { KernelThread, type KernelThreadListener } from '../kernel-thread/kernel-thread.ts';
import { type Libc, SysUnavailable } from '../sys/libc.ts';
import { IcmpUnavailable } from './backend.ts';

export type FamilyReports = { readonly 4: FamilyReport; readonly 6: FamilyReport };

interface Waiting {
  readonly resolve: (answers: readonly EchoAnswer[]) => void;
  readonly reject: (error: Error) => void;
}

/** Shared by all users in this thread: they share an engine, and each receives the answers for all trains. */
let lastTrainId = 0;

/**
 * One user's view of the echo engine in the kernel thread. It keeps the process alive only while trains are in
 * progress. When the engine ends, for whatever reason, these reject and `isEnded` is true; the object is never used
 * again.
 */
export class EngineThread {
  readonly #thread: KernelThread;
  readonly #listener: KernelThreadListener;
  readonly #waiting = new Map<number, Waiting>();
  #cause: Error | undefined;
  #isEnded = false;
  /** Which sockets are available per family; rejects with IcmpUnavailable without any. */
  readonly ready: Promise<FamilyReports>;

  constructor(libc: Libc) {
    const ready = Promise.withResolvers<FamilyReports>();
    this.ready = ready.promise;
    // Callers that await it get the error; without one, it must not be reported as unhandled.
    this.ready.catch(() => undefined);
    this.#listener = {
      onMessage: (message) => {
        if (message.type === 'opened') ready.resolve(message.families);
        else if (message.type === 'answers') {
          for (const { id, answers } of message.trains) this.#settle(id, answers);
        }
      },
      onEnd: (cause) => {
        this.#end(cause);
        ready.reject(this.#endError());
      },
    };
    this.#thread = KernelThread.use(libc, this.#listener);
    this.#thread.ready.catch((error: unknown) => {
      ready.reject(error instanceof SysUnavailable ? new IcmpUnavailable(error.message) : error);
    });
    this.#thread.hold();
    ready.promise.finally(() => this.#thread.letGo()).catch(() => undefined);
    this.#thread.post({ type: 'open' });
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /**
   * Sends a train of requests.
   *
   * @returns their answers; if the signal aborts, those received so far.
   * @throws if the engine ends before.
   */
  async ping(spec: Omit<TrainSpec, 'id'>, signal: AbortSignal): Promise<readonly EchoAnswer[]> {
    if (signal.aborted) return [];
    if (this.#isEnded) throw new Error('the ICMP engine has ended', { cause: this.#cause });
    lastTrainId += 1;
    const id = lastTrainId;
    const { promise, resolve, reject } = Promise.withResolvers<readonly EchoAnswer[]>();
    this.#waiting.set(id, { resolve, reject });
    this.#thread.hold();
    this.#thread.post({ type: 'train', spec: { ...spec, id } });
    const stop = () => this.#thread.post({ type: 'stop', id });
    signal.addEventListener('abort', stop, { once: true });
    try {
      return await promise;
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  /** Releases the engine: the engine and its thread end with their last user. Resolves when that is done. */
  async close(): Promise<void> {
    if (this.#isEnded) return;
    for (const id of this.#waiting.keys()) this.#thread.post({ type: 'stop', id });
    this.#thread.post({ type: 'close' });
    this.#end(undefined);
    await this.#thread.release(this.#listener);
  }

  #end(cause: Error | undefined): void {
    this.#isEnded = true;
    this.#cause = cause;
    for (const [id, { reject }] of this.#waiting) {
      this.#drop(id);
      reject(this.#endError());
    }
  }

  #endError(): Error {
    return new Error('the ICMP engine ended unexpectedly', { cause: this.#cause });
  }

  #settle(id: number, answers: readonly EchoAnswer[]): void {
    this.#waiting.get(id)?.resolve(answers);
    this.#drop(id);
  }

  #drop(id: number): void {
    if (this.#waiting.delete(id)) this.#thread.letGo();
  }
}
