/** Window in which diagnoses are counted, in milliseconds. */
const windowMs = 60_000;
/** In one minute, for all targets together. */
export const maxPerMinute = 6;
/** For one target, so that one check that always fails leaves room for others. */
export const maxPerTarget = 2;

/**
 * Limits diagnoses, however many checks fail: one at a time, and a maximum number in any minute. Each probe thread has
 * one gate.
 */
export class DiagnosisGate {
  readonly #nowMs: () => number;
  #begun: { readonly atMs: number; readonly target: string }[] = [];
  #isBusy = false;

  /** @param nowMs a monotonic clock. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /**
   * Requests a diagnosis of a target. A caller that is admitted must call `leave` afterwards.
   *
   * @returns why the diagnosis is refused, or undefined.
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
