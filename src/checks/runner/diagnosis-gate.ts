/** A minute in which diagnoses are counted, in milliseconds. */
const windowMs = 60_000;
/** In one minute, for all targets together. */
export const maxPerMinute = 6;
/** For one target, so that one check that fails all the time leaves room for others. */
export const maxPerTarget = 2;

/**
 * Keeps diagnoses few, however many checks fail: one at a time, and a limited number in any minute. There is
 * one gate to a probe thread.
 */
export class DiagnosisGate {
  readonly #nowMs: () => number;
  #begun: { readonly atMs: number; readonly target: string }[] = [];
  #isBusy = false;

  /** @param nowMs a clock that only goes forward. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /**
   * Asks for a diagnosis of a target. A caller that may make one calls `leave` at its end.
   *
   * @returns why there is to be none, or undefined.
   */
  enter(target: string): string | undefined {
    if (this.#isBusy) return 'another diagnosis is in progress';
    const nowMs = this.#nowMs();
    this.#begun = this.#begun.filter(({ atMs }) => nowMs - atMs < windowMs);
    if (this.#begun.length >= maxPerMinute) return `there were ${maxPerMinute} in the last minute`;
    const sameTarget = this.#begun.filter((begun) => begun.target === target);
    if (sameTarget.length >= maxPerTarget)
      return `there were ${maxPerTarget} of this target in the last minute`;
    this.#begun.push({ atMs: nowMs, target });
    this.#isBusy = true;
    return undefined;
  }

  leave(): void {
    this.#isBusy = false;
  }
}
