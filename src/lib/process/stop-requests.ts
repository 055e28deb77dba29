/**
 * Signals within this time after the first belong to the same stop: a terminal sends SIGINT to every process of a
 * group, and the parent (npm, an init, `npm start`) forwards its own signal.
 */
export const sameStopMs = 2000;

/** Meaning of a signal: stop, a repetition of the same request, or stop at once. */
export type StopRequest = 'stop' | 'same' | 'hurry';

/** Classifies the signals of a process: a first stop, its repetitions, and a user who does not want to wait. */
export class StopRequests {
  readonly #nowMs: () => number;
  #firstMs: number | undefined;

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** Call for each signal when it arrives. */
  take(): StopRequest {
    const nowMs = this.#nowMs();
    if (this.#firstMs === undefined) {
      this.#firstMs = nowMs;
      return 'stop';
    }
    return nowMs - this.#firstMs < sameStopMs ? 'same' : 'hurry';
  }
}
