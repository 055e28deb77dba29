/** The part of an AbortSignal that the stages of a run use. */
export interface StopSignal {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: 'abort', listener: () => void, options?: { readonly once: true }): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

const none: readonly (() => void)[] = [];

/** Stops one run. Few runs are stopped, and an AbortController with a listener took a tenth of the main thread's time. */
export class RunStop implements StopSignal {
  #reason: unknown;
  #isStopped = false;
  #listeners = none;

  get aborted(): boolean {
    return this.#isStopped;
  }

  get reason(): unknown {
    return this.#reason;
  }

  /** Calls the listeners, once. */
  abort(reason: unknown): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#reason = reason;
    const listeners = this.#listeners;
    this.#listeners = none;
    for (const listener of listeners) listener();
  }

  /** Every listener is called once at most. */
  addEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners = this.#listeners.length === 0 ? [listener] : [...this.#listeners, listener];
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    const [first] = this.#listeners;
    const isOnly = first === listener && this.#listeners.length === 1;
    this.#listeners = isOnly ? none : this.#listeners.filter((other) => other !== listener);
  }
}
