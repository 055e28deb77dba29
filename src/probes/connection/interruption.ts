import { deadlineError, ProbeError, type ProbePhase } from './errors.ts';

/** Why a probe has to end before it is done. */
export type Interruption = 'deadline' | 'abort';

/** What can interrupt a probe. */
export interface InterruptionSources {
  /** Aborting ends the probe with `aborted`, or as a passed deadline when its reason is a TimeoutError. */
  readonly signal: AbortSignal;
  /** Limit for the whole probe, in milliseconds from now. */
  readonly timeoutMs: number;
}

/**
 * Waits for the first interruption of a probe and reports it, once; at once when the signal has aborted
 * already.
 */
export class Interruptions {
  readonly #signal: AbortSignal;
  readonly #timer: NodeJS.Timeout;
  #lastTurn: NodeJS.Immediate | undefined;
  readonly #onInterrupted: (interruption: Interruption) => void;
  readonly #onAbort = () => {
    if (isTimeout(this.#signal.reason)) this.#expire();
    else this.#interrupt('abort');
  };

  constructor({ signal, timeoutMs }: InterruptionSources, onInterrupted: (reason: Interruption) => void) {
    this.#signal = signal;
    this.#onInterrupted = onInterrupted;
    this.#timer = setTimeout(() => this.#expire(), Math.max(0, timeoutMs));
    signal.addEventListener('abort', this.#onAbort, { once: true });
    if (signal.aborted) this.#interrupt(isTimeout(signal.reason) ? 'deadline' : 'abort');
  }

  /** Ends the waiting; to be called when the probe is done. */
  release(): void {
    clearTimeout(this.#timer);
    clearImmediate(this.#lastTurn);
    this.#signal.removeEventListener('abort', this.#onAbort);
  }

  /** What had arrived by the deadline is read first: a thread that was late must not call it missing. */
  #expire(): void {
    this.#lastTurn ??= setImmediate(() => this.#interrupt('deadline'));
  }

  #interrupt(interruption: Interruption): void {
    this.release();
    this.#onInterrupted(interruption);
  }
}

/** The error of a probe that was interrupted in some phase. */
export function interruptionError(
  interruption: Interruption,
  at: { readonly phase: ProbePhase; readonly where: string; readonly timeoutMs: number },
): ProbeError {
  if (interruption === 'deadline') return deadlineError(at.phase, at.timeoutMs, at.where);
  return new ProbeError('aborted', at.phase, `the run was stopped while ${at.where} was being probed`);
}

/** Whether that is why a signal aborts whose time is over. */
export function isTimeout(reason: unknown): boolean {
  return reason instanceof Error && reason.name === 'TimeoutError';
}
