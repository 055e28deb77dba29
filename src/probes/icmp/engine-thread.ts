import { KernelThread, type KernelThreadListener } from '../kernel-thread/kernel-thread.ts';
import { type Libc, SysUnavailable } from '../sys/libc.ts';
import { type EchoAnswer, IcmpUnavailable } from './backend.ts';
import type { EchoOrder, FamilyReport } from './engine-messages.ts';

export type FamilyReports = { readonly 4: FamilyReport; readonly 6: FamilyReport };

interface Waiting {
  readonly resolve: (answer: EchoAnswer) => void;
  readonly reject: (error: Error) => void;
}

/**
 * The echo engine in the kernel's thread, seen from the thread that uses it. It keeps the process alive only while
 * requests are open. When it ends, whatever the reason, all open requests reject and `isEnded` is true; it is never used
 * again.
 */
export class EngineThread {
  readonly #thread: KernelThread;
  readonly #listener: KernelThreadListener;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;
  #cause: Error | undefined;
  #isEnded = false;
  /** What the sockets of each family turned out to be; rejects with IcmpUnavailable when there can be none. */
  readonly ready: Promise<FamilyReports>;

  constructor(libc: Libc) {
    const ready = Promise.withResolvers<FamilyReports>();
    this.ready = ready.promise;
    // Whoever waits for it hears of it; that nobody waits is no fault.
    this.ready.catch(() => undefined);
    this.#listener = {
      onMessage: (message) => {
        if (message.type === 'opened') ready.resolve(message.families);
        else if (message.type === 'answers') {
          for (const { id, answer } of message.answers) this.#settle(id, answer);
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
   * Sends one request.
   *
   * @returns its answer; undefined when the signal aborted first.
   * @throws when the engine ends before.
   */
  async echo(order: Omit<EchoOrder, 'id'>, signal: AbortSignal): Promise<EchoAnswer | undefined> {
    if (signal.aborted) return undefined;
    if (this.#isEnded) throw new Error('the ICMP engine has ended', { cause: this.#cause });
    this.#lastId += 1;
    const id = this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<EchoAnswer | undefined>();
    this.#waiting.set(id, { resolve, reject });
    this.#thread.hold();
    this.#thread.post({ type: 'echo', order: { ...order, id } });
    const forget = () => {
      this.#drop(id);
      this.#thread.post({ type: 'forget', ids: [id] });
      resolve(undefined);
    };
    signal.addEventListener('abort', forget, { once: true });
    try {
      return await promise;
    } finally {
      signal.removeEventListener('abort', forget);
    }
  }

  /** Ends the engine, and its thread when nobody else uses that; resolves when it is gone. */
  async close(): Promise<void> {
    if (this.#isEnded) return;
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

  #settle(id: number, answer: EchoAnswer): void {
    this.#waiting.get(id)?.resolve(answer);
    this.#drop(id);
  }

  #drop(id: number): void {
    if (this.#waiting.delete(id)) this.#thread.letGo();
  }
}
