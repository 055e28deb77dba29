import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { toError } from '../../lib/errors.ts';
import type { Libc } from '../sys/libc.ts';
import { WakeUp } from '../sys/wake-up.ts';
import { type EchoAnswer, IcmpUnavailable } from './backend.ts';
import type { EchoOrder, EngineStart, FamilyReport, FromEngine, ToEngine } from './engine-messages.ts';

const entry = new URL(`./engine-worker${extname(import.meta.url)}`, import.meta.url);

export type FamilyReports = { readonly 4: FamilyReport; readonly 6: FamilyReport };

interface Waiting {
  readonly resolve: (answer: EchoAnswer) => void;
  readonly reject: (error: Error) => void;
}

/**
 * The thread of an echo engine, seen from the thread that uses it. It keeps the process alive only while requests are
 * open. When it ends, whatever the reason, all open requests reject and `isEnded` is true; it is never used again.
 */
export class EngineThread {
  readonly #worker: Worker;
  readonly #wakeUp: WakeUp;
  readonly #waiting = new Map<number, Waiting>();
  readonly #exit: Promise<void>;
  #lastId = 0;
  #lastError: Error | undefined;
  #isEnded = false;
  /** What the sockets of each family turned out to be; rejects with IcmpUnavailable when there can be none. */
  readonly ready: Promise<FamilyReports>;

  constructor(libc: Libc) {
    this.#wakeUp = new WakeUp(libc);
    const start: EngineStart = { wakeUpDescriptor: this.#wakeUp.descriptor };
    this.#worker = new Worker(entry, { name: 'icmp', workerData: start, env: {} });
    const ready = Promise.withResolvers<FamilyReports>();
    const exit = Promise.withResolvers<void>();
    this.ready = ready.promise;
    // Whoever waits for it hears of it; that nobody waits is no fault.
    this.ready.catch(() => undefined);
    this.#exit = exit.promise;
    this.#worker.on('message', (message: FromEngine) => {
      if (message.type === 'answers') {
        for (const { id, answer } of message.answers) this.#settle(id, answer);
        return;
      }
      if (message.type === 'ready') ready.resolve(message.families);
      else ready.reject(new IcmpUnavailable(message.reason));
      if (this.#waiting.size === 0) this.#worker.unref();
    });
    this.#worker.on('error', (error) => {
      this.#lastError = toError(error);
    });
    this.#worker.on('exit', () => {
      this.#isEnded = true;
      const error = new Error('the ICMP engine ended unexpectedly', { cause: this.#lastError });
      ready.reject(error);
      for (const { reject } of this.#waiting.values()) reject(error);
      this.#waiting.clear();
      this.#wakeUp.close();
      exit.resolve();
    });
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
    if (this.#isEnded) throw new Error('the ICMP engine has ended', { cause: this.#lastError });
    this.#lastId += 1;
    const id = this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<EchoAnswer | undefined>();
    this.#waiting.set(id, { resolve, reject });
    this.#worker.ref();
    this.#post({ type: 'echo', order: { ...order, id } });
    const forget = () => {
      this.#drop(id);
      this.#post({ type: 'forget', ids: [id] });
      resolve(undefined);
    };
    signal.addEventListener('abort', forget, { once: true });
    try {
      return await promise;
    } finally {
      signal.removeEventListener('abort', forget);
    }
  }

  /** Ends the thread; resolves when it is gone. */
  async close(): Promise<void> {
    if (this.#isEnded) return;
    // Whoever waits for the end keeps the process alive for it.
    this.#worker.ref();
    this.#post({ type: 'close' });
    await this.#exit;
  }

  #settle(id: number, answer: EchoAnswer): void {
    this.#waiting.get(id)?.resolve(answer);
    this.#drop(id);
  }

  #drop(id: number): void {
    this.#waiting.delete(id);
    if (this.#waiting.size === 0) this.#worker.unref();
  }

  #post(message: ToEngine): void {
    if (this.#isEnded) return;
    this.#worker.postMessage(message);
    this.#wakeUp.wake();
  }
}
