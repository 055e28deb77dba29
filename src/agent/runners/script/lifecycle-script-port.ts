import type { MessagePort } from 'node:worker_threads';
import { toError } from '@picket/lib/errors.ts';
import type {
  LifecycleJob,
  LifecycleScript,
  LifecycleScriptEnd,
  LifecycleScripts,
  LifecycleSession,
} from '@picket/sandbox/lifecycle/lifecycle-scripts.ts';

/**
 * Runs execute on probe threads, their scripts in sandboxes of the script thread. This port connects the two directly,
 * without the main thread. The requesting side numbers the sessions.
 */
type Ask =
  | { readonly kind: 'open'; readonly session: number; readonly order: LifecycleJob }
  | { readonly kind: 'run'; readonly session: number; readonly phase: LifecycleScript }
  /** The run was stopped, or is over. */
  | { readonly kind: 'stop'; readonly session: number }
  | { readonly kind: 'close'; readonly session: number };

type Answer =
  | { readonly kind: 'opened'; readonly session: number }
  | {
      readonly kind: 'missing';
      readonly session: number;
      readonly missing: 'runtime' | 'sandbox';
      readonly message: string;
    }
  | {
      readonly kind: 'ended';
      readonly session: number;
      readonly end: LifecycleScriptEnd;
      readonly isOpen: boolean;
    };

type Take = (answer: Answer) => void;

const lost = 'the part of the agent that runs scripts ended, or is not there yet';

/**
 * Lifecycle scripts as seen by a probe thread. If the other side is gone, they are unavailable until another one is
 * connected.
 */
export class LifecycleScriptPort implements LifecycleScripts {
  readonly #takers = new Map<number, Take>();
  #port: MessagePort | undefined;
  #sessionCount = 0;

  /** Connects the port to the script thread and drops an earlier one. */
  connect(port: MessagePort): void {
    this.#lose();
    this.#port = port;
    port.on('message', (answer: Answer) => this.#takers.get(answer.session)?.(answer));
    port.on('close', () => {
      if (this.#port === port) this.#lose();
    });
    port.unref();
  }

  async open(order: LifecycleJob, signal: AbortSignal): ReturnType<LifecycleScripts['open']> {
    signal.throwIfAborted();
    if (!this.#port) return { missing: 'sandbox', message: lost };
    this.#sessionCount += 1;
    const session = this.#sessionCount;
    const stop = () => this.#ask({ kind: 'stop', session });
    signal.addEventListener('abort', stop, { once: true });
    const answer = await this.#answerTo({ kind: 'open', session, order });
    const close = () => {
      signal.removeEventListener('abort', stop);
      this.#ask({ kind: 'close', session });
    };
    if (answer.kind === 'opened' && !signal.aborted) return { session: this.#session(session, close) };
    close();
    signal.throwIfAborted();
    return answer.kind === 'missing'
      ? { missing: answer.missing, message: answer.message }
      : { missing: 'sandbox', message: lost };
  }

  #session(session: number, close: () => void): LifecycleSession {
    let isOpen = true;
    return {
      get isOpen() {
        return isOpen;
      },
      run: async (phase) => {
        const answer = await this.#answerTo({ kind: 'run', session, phase });
        if (answer.kind !== 'ended') {
          isOpen = false;
          return lostEnd();
        }
        isOpen = answer.isOpen;
        return answer.end;
      },
      close: () => {
        if (isOpen) close();
        isOpen = false;
      },
    };
  }

  async #answerTo(ask: Extract<Ask, { kind: 'open' | 'run' }>): Promise<Answer> {
    const { promise, resolve } = Promise.withResolvers<Answer>();
    const { session } = ask;
    this.#takers.set(session, resolve);
    if (this.#port) this.#ask(ask);
    else resolve({ kind: 'missing', session, missing: 'sandbox', message: lost });
    const answer = await promise;
    this.#takers.delete(session);
    return answer;
  }

  #ask(ask: Ask): void {
    this.#port?.postMessage(ask);
  }

  #lose(): void {
    this.#port?.close();
    this.#port = undefined;
    for (const [session, take] of this.#takers) {
      take({ kind: 'missing', session, missing: 'sandbox', message: lost });
    }
  }
}

function lostEnd(): LifecycleScriptEnd {
  const failure = { problem: 'unavailable', message: lost, stack: null } as const;
  return { durationMs: 0, lines: [], droppedLines: 0, secrets: [], variables: {}, failure };
}

/**
 * Serves one port with this host's scripts. If the other side dies, its sessions are ended.
 *
 * @param host undefined if scripts cannot run; `unavailable` then says why.
 */
export function serveLifecycleScripts(
  port: MessagePort,
  host: LifecycleScripts | undefined,
  unavailable: string,
): void {
  const sessions = new Map<number, { readonly stop: AbortController; opened?: LifecycleSession }>();
  const answer = (text: Answer) => port.postMessage(text);
  const end = (session: number) => {
    const open = sessions.get(session);
    sessions.delete(session);
    open?.stop.abort(new DOMException('The run is over', 'AbortError'));
    open?.opened?.close();
  };
  const open = async (session: number, order: LifecycleJob) => {
    if (!host) {
      answer({ kind: 'missing', session, missing: 'sandbox', message: unavailable });
      return;
    }
    const entry: { readonly stop: AbortController; opened?: LifecycleSession } = {
      stop: new AbortController(),
    };
    sessions.set(session, entry);
    try {
      const opened = await host.open(order, entry.stop.signal);
      if ('missing' in opened) answer({ kind: 'missing', session, ...opened });
      else if (entry.stop.signal.aborted) opened.session.close();
      else {
        entry.opened = opened.session;
        answer({ kind: 'opened', session });
      }
    } catch (thrown) {
      // A full disk, for instance: this thread itself is not broken.
      const message = `no process could be started: ${toError(thrown).message}`;
      if (!entry.stop.signal.aborted) answer({ kind: 'missing', session, missing: 'sandbox', message });
    }
    // The caller is gone, or waits for the confirmation that it was stopped.
    if (entry.stop.signal.aborted) {
      answer({ kind: 'missing', session, missing: 'sandbox', message: 'the run was stopped' });
    }
  };
  port.on('message', (ask: Ask) => {
    const { session } = ask;
    const entry = sessions.get(session);
    if (ask.kind === 'open') void open(session, ask.order);
    else if (ask.kind === 'stop') entry?.stop.abort(new DOMException('The run was stopped', 'AbortError'));
    else if (ask.kind === 'close') end(session);
    else {
      const { opened } = entry ?? {};
      if (!opened) answer({ kind: 'missing', session, missing: 'sandbox', message: lost });
      else {
        void opened
          .run(ask.phase)
          .then((result) => answer({ kind: 'ended', session, end: result, isOpen: opened.isOpen }));
      }
    }
  });
  port.on('close', () => {
    for (const session of [...sessions.keys()]) end(session);
  });
  port.unref();
}
