/**
 * Signals within this long after the first ask for the same stop: a terminal sends SIGINT to every process of a group, and what
 * started them (npm, an init, `npm start`) passes on a signal of its own.
 */
export const sameStopMs = 2000;

/** What a signal asks for: to stop, nothing that was not asked for already, or to stop at once. */
export type StopRequest = 'stop' | 'same' | 'hurry';

/** Tells the signals that a process gets apart: one stop from a person who does not want to wait for it. */
export class StopRequests {
  readonly #nowMs: () => number;
  #firstMs: number | undefined;

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** To be called for each signal, when it comes. */
  take(): StopRequest {
    const nowMs = this.#nowMs();
    if (this.#firstMs === undefined) {
      this.#firstMs = nowMs;
      return 'stop';
    }
    return nowMs - this.#firstMs < sameStopMs ? 'same' : 'hurry';
  }
}
