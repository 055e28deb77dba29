import { deadlineError, ProbeError, type ProbePhase } from './errors.ts';

/** Why a probe ends before it is complete. */
export type Interruption = 'deadline' | 'abort';

/** Events that can interrupt a probe. */
export interface InterruptionSources {
  /** Aborting ends the probe with `aborted`, or with a timeout if the reason is a TimeoutError. */
  readonly signal: AbortSignal;
  /** Limit for the whole probe, in milliseconds from now. */
  readonly timeoutMs: number;
}

/** Waits for the first interruption of a probe and reports it once; immediately if the signal is already aborted. */
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

  /** Stops waiting; call it when the probe is done. */
  release(): void {
    clearTimeout(this.#timer);
    clearImmediate(this.#lastTurn);
    this.#signal.removeEventListener('abort', this.#onAbort);
  }

  /** Data that arrived before the deadline is read first: a late thread must not report it as missing. */
  #expire(): void {
    this.#lastTurn ??= setImmediate(() => this.#interrupt('deadline'));
  }

  #interrupt(interruption: Interruption): void {
    this.release();
    this.#onInterrupted(interruption);
  }
}

/** The error of a probe that was interrupted in a phase. */
export function interruptionError(
  interruption: Interruption,
  at: { readonly phase: ProbePhase; readonly where: string; readonly timeoutMs: number },
): ProbeError {
  if (interruption === 'deadline') return deadlineError(at.phase, at.timeoutMs, at.where);
  return new ProbeError('aborted', at.phase, `the run was stopped while ${at.where} was being probed`);
}

/** Returns true if a signal aborted because of a timeout. */
export function isTimeout(reason: unknown): boolean {
  return reason instanceof Error && reason.name === 'TimeoutError';
}
