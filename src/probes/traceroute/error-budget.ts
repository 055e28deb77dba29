import { LruMap } from '@picket/lib/lru.ts';

/** Linux sends a peer six ICMP errors in a burst, and then one a second (`net.ipv4.icmp_ratelimit`). */
const mostErrors = 6;
const errorIntervalMs = 1000;
/** Longest wait of an optional probe. */
const longestExtraWaitMs = 2000;
/** After this long without an answer, the distance of the target is forgotten. */
const rememberedMs = 60_000;
/** Longest wait for another trace that is determining the distance of the target. */
const longestFindingMs = 3000;
const keptTargets = 1000;

/**
 * Paces the UDP probes that reach their targets, for all traces of this thread: a target answers each of them with an
 * ICMP error. Without pacing, concurrent traces of one host use up each other's answers and report a healthy target as
 * silent.
 */
export class ErrorBudget {
  readonly #targets = new LruMap<string, TargetBudget>(keptTargets);

  of(address: string): TargetBudget {
    return this.#targets.getOrMake(address, () => new TargetBudget());
  }
}

interface Waiting {
  readonly isExtra: boolean;
  grant(isGranted: boolean): void;
}

/** The error budget of one target. */
export class TargetBudget {
  #errors = mostErrors;
  #countedAtMs = performance.now();
  #waiting: Waiting[] = [];
  #timer: NodeJS.Timeout | undefined;
  /** Distance of the target according to the last trace that reached it; null if none did recently. */
  #distance: number | null | undefined;
  #reachedAtMs = -Infinity;
  #finding: Promise<void> | undefined;

  /**
   * Called before a trace begins: only one at a time determines the distance, because until then no probe is known to
   * reach the target.
   *
   * @returns a function that ends the search with the distance found.
   */
  async begin(stopped: Promise<void>): Promise<(distance: number | null) => void> {
    if (this.#distance === undefined && this.#finding) {
      await settledWithin(longestFindingMs, Promise.race([this.#finding, stopped]));
    }
    const end = (distance: number | null) => {
      const nowMs = performance.now();
      if (distance !== null) this.#reachedAtMs = nowMs;
      else if (nowMs - this.#reachedAtMs < rememberedMs) return;
      this.#distance = distance;
    };
    if (this.#distance !== undefined || this.#finding) return end;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#finding = promise;
    return (distance) => {
      end(distance);
      this.#finding = undefined;
      resolve();
    };
  }

  /** Returns whether a probe with this time to live may reach the target, as far as is known. */
  isReachedBy(ttl: number): boolean {
    return typeof this.#distance === 'number' && ttl >= this.#distance;
  }

  /**
   * Waits until the target can answer another probe.
   *
   * @param isExtra the probe is optional: others go first, and its wait is limited.
   * @returns false if the probe must be skipped.
   */
  async take({ isExtra, stopped }: { isExtra: boolean; stopped: Promise<void> }): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const waiting: Waiting = { isExtra, grant: resolve };
    this.#waiting.push(waiting);
    this.#grant();
    const isGranted = await settledWithin(
      isExtra ? longestExtraWaitMs : undefined,
      Promise.race([promise, stopped]),
    );
    this.#waiting = this.#waiting.filter((one) => one !== waiting);
    return isGranted === true;
  }

  /** Counts an answer to a probe that was not known to reach the target. */
  spend(): void {
    this.#refill();
    this.#errors -= 1;
  }

  /** Refunds a probe that the target did not answer: it can answer another one. */
  giveBack(): void {
    this.#errors = Math.min(mostErrors, this.#errors + 1);
    this.#grant();
  }

  #grant(): void {
    this.#refill();
    while (this.#errors >= 1) {
      const next = this.#waiting.find(({ isExtra }) => !isExtra) ?? this.#waiting[0];
      if (!next) return;
      this.#waiting = this.#waiting.filter((one) => one !== next);
      this.#errors -= 1;
      next.grant(true);
    }
    if (this.#waiting.length === 0 || this.#timer) return;
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        this.#grant();
      },
      Math.ceil((1 - this.#errors) * errorIntervalMs),
    );
  }

  #refill(): void {
    const nowMs = performance.now();
    this.#errors = Math.min(mostErrors, this.#errors + (nowMs - this.#countedAtMs) / errorIntervalMs);
    this.#countedAtMs = nowMs;
  }
}

/** Returns the value of a promise; undefined if the limit passes first. */
async function settledWithin<Value>(
  limitMs: number | undefined,
  promise: Promise<Value>,
): Promise<Value | undefined> {
  if (limitMs === undefined) return await promise;
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), limitMs);
  });
  try {
    return await Promise.race([promise, over]);
  } finally {
    clearTimeout(timer);
  }
}

/** The budget of all UDP traces of this thread. */
export const udpErrorBudget = new ErrorBudget();
