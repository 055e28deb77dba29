/** Ends a start; calling it again has no effect. */
export type EndStart = () => void;

/**
 * Lets up to a number of runs start at once. To start is nearly all of the processor time of most scripts: of five runs that start
 * at once on two processors, all are late; one after the other, most are early, and the last is no later.
 *
 * A start ends with its run, or after a time: a run that takes longer mostly waits for something.
 */
export class StartGate {
  readonly #count: number;
  readonly #maxStartMs: number;
  readonly #waiting: (() => void)[] = [];
  #startingCount = 0;

  /**
   * @param options.count number of runs that may start at once.
   * @param options.maxStartMs time after which a start has ended, in milliseconds.
   */
  constructor(options: { readonly count: number; readonly maxStartMs: number }) {
    this.#count = options.count;
    this.#maxStartMs = options.maxStartMs;
  }

  /** Whether runs wait for their start. */
  get isFull(): boolean {
    return this.#waiting.length > 0;
  }

  /** Resolves when a run may start, first come, first served. @throws the signal's reason if it aborts first. */
  async enter(signal: AbortSignal): Promise<EndStart> {
    signal.throwIfAborted();
    if (this.#startingCount < this.#count) return this.#start();
    return await new Promise<EndStart>((resolve, reject) => {
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(enter), 1);
        reject(signal.reason);
      };
      const enter = () => {
        signal.removeEventListener('abort', leave);
        resolve(this.#start());
      };
      signal.addEventListener('abort', leave, { once: true });
      this.#waiting.push(enter);
    });
  }

  #start(): EndStart {
    this.#startingCount += 1;
    let isStarting = true;
    const end = () => {
      if (!isStarting) return;
      isStarting = false;
      clearTimeout(timer);
      this.#startingCount -= 1;
      this.#waiting.shift()?.();
    };
    const timer = setTimeout(end, this.#maxStartMs).unref();
    return end;
  }
}
