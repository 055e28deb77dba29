import { type ChildProcess, fork } from 'node:child_process';
import { extname } from 'node:path';
import { IcmpUnavailable, type PingTrain } from '../backend.ts';
import type { EchoAnswer } from '../echo/answers.ts';
import type { FromNetPing, RawSocketReport, ToNetPing } from './messages.ts';

const entry = new URL(`./net-ping-main${extname(import.meta.url)}`, import.meta.url);

interface Waiting {
  readonly resolve: (answers: readonly EchoAnswer[]) => void;
  readonly reject: (error: Error) => void;
}

/**
 * The net-ping process, as seen by the thread that uses it. It keeps our own process alive only while trains are in
 * progress. When it ends, for whatever reason, they all reject and `isEnded` is true; the object is never used again.
 */
export class NetPingProcess {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, Waiting>();
  readonly #exit: Promise<void>;
  #lastId = 0;
  #brokenBy: string | undefined;
  #isEnded = false;
  /** State of the socket of each family; rejects with IcmpUnavailable if net-ping does not load. */
  readonly ready: Promise<{ readonly 4: RawSocketReport; readonly 6: RawSocketReport }>;

  constructor() {
    const ready = Promise.withResolvers<Awaited<typeof this.ready>>();
    const exit = Promise.withResolvers<void>();
    this.ready = ready.promise;
    // Callers that await it get the error; without one, it must not be reported as unhandled.
    this.ready.catch(() => undefined);
    this.#exit = exit.promise;
    // None of our environment, which contains the service key.
    this.#child = fork(entry, {
      env: {},
      execArgv: ['--disable-warning=ExperimentalWarning'],
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    const end = () => {
      if (this.#isEnded) return;
      this.#isEnded = true;
      const error = this.#endError();
      ready.reject(error);
      for (const { reject } of this.#waiting.values()) reject(error);
      this.#waiting.clear();
      exit.resolve();
    };
    this.#child.on('message', (message) => {
      const received = message as FromNetPing;
      if (received.type === 'ready') ready.resolve(received.families);
      else if (received.type === 'unavailable') ready.reject(new IcmpUnavailable(received.reason));
      else if (received.type === 'broken') this.#brokenBy = received.reason;
      else this.#waiting.get(received.id)?.resolve(received.answers);
      this.#keepAliveWhileUsed();
    });
    this.#child.on('error', (error) => {
      this.#brokenBy = error.message;
      // Without a process id it was never started, and no exit event follows.
      if (this.#child.pid === undefined) end();
    });
    this.#child.on('exit', end);
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Sends a train. @returns its answers; if the signal aborts, those received so far. */
  async ping(train: PingTrain, signal: AbortSignal): Promise<readonly EchoAnswer[]> {
    if (signal.aborted) return [];
    if (this.#isEnded) throw this.#endError();
    this.#lastId += 1;
    const id = this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<readonly EchoAnswer[]>();
    this.#waiting.set(id, { resolve, reject });
    const stop = () => this.#post({ type: 'stop', id });
    signal.addEventListener('abort', stop, { once: true });
    this.#post({ type: 'train', id, train });
    this.#keepAliveWhileUsed();
    try {
      return await promise;
    } finally {
      signal.removeEventListener('abort', stop);
      this.#waiting.delete(id);
      this.#keepAliveWhileUsed();
    }
  }

  /** Kills the process; resolves when it has exited. */
  async close(): Promise<void> {
    if (this.#isEnded) return;
    // Keeps our process alive until the child has exited.
    this.#child.ref();
    this.#child.kill('SIGKILL');
    await this.#exit;
  }

  #endError(): Error {
    const why = this.#brokenBy === undefined ? '' : `: ${this.#brokenBy}`;
    return new Error(`the net-ping process ended unexpectedly${why}`);
  }

  #keepAliveWhileUsed(): void {
    if (this.#isEnded) return;
    const isUsed = this.#waiting.size > 0;
    if (isUsed) this.#child.ref();
    else this.#child.unref();
    if (isUsed) this.#child.channel?.ref();
    else this.#child.channel?.unref();
  }

  #post(message: ToNetPing): void {
    // A closed channel means that the process has ended; its exit event follows.
    if (this.#child.connected) this.#child.send(message, () => undefined);
  }
}
