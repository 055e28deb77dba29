import { leastOf } from '../bounds/extremes.ts';
import { AppError } from '../errors.ts';

/** Owner of a piece of work and its cancellation. */
export interface Turn {
  /** An account or a location. Work of one key never waits for more than one piece of another key. */
  readonly key: string;
  /** Ahead of other work: readers of public pages wait for it. */
  readonly isFirst?: boolean | undefined;
  /** Work that has not begun when this aborts is dropped. */
  readonly gone?: AbortSignal | undefined;
}

export interface FairQueueOptions {
  /** For metrics, such as `analytics`. */
  readonly name: string;
  /** Number of pieces in progress at once; `resize` changes it. */
  readonly atOnce: number;
  /** Number of those that one key may occupy: the rest is reserved for keys that arrive later. All if absent. */
  readonly atOnceOfKey?: (atOnce: number) => number;
  /** Number of pieces of one key that may wait. */
  readonly waitingPerKey: number;
  readonly nowMs?: () => number;
}

/** Metrics for alerts: the current backlog, and the total wait of all begun pieces. */
export interface QueueFigures {
  readonly name: string;
  /** Number of pieces that may be in progress. */
  readonly atOnce: number;
  readonly waiting: number;
  readonly oldestWaitMs: number;
  readonly begun: number;
  readonly waitedMs: number;
  readonly refused: number;
  readonly dropped: number;
}

interface Waiting {
  readonly sinceMs: number;
  readonly begin: () => void;
}

interface Lane {
  readonly first: Waiting[];
  readonly others: Waiting[];
  /** Cost of the key's work so far, counted from the least use among the lanes present at its arrival. */
  usedMs: number;
  underWay: number;
  lastTurn: number;
}

/** After this many consecutive turns for preferred work, the next turn serves other work. */
const mostFirstInARow = 3;
/** After this time, requests that have arrived meanwhile are read before the next turn. */
const readRequestsAfterMs = 5;

/**
 * A queue in which keys take turns by the time their work has taken: the key with less use is first, and at equal use
 * the one served longer ago. Time costs more the more work of the key waits, by the logarithm: a key with little work
 * waits only briefly behind one with much, which still gets its share of the time. A returning key starts at the least
 * use of the present keys, so that it neither saves up turns nor pays for the past. Work that is cut into pieces lets
 * other work in between; all of its pieces must be queued at once.
 *
 * Work that waits for nothing outside the process, as with SQLite, would chain turns without returning to the event
 * loop, and new requests would not be read before all work is done. So turns pause every few milliseconds.
 */
export class FairQueue {
  readonly #options: FairQueueOptions;
  readonly #nowMs: () => number;
  readonly #lanes = new Map<string, Lane>();
  #atOnce: number;
  /** Lanes in which a piece has just ended while others wait. */
  readonly #ending = new Map<string, Lane>();
  #underWay = 0;
  #waiting = 0;
  #turns = 0;
  /** Start of the consecutive turns of this round of the event loop. */
  #inARowSinceMs: number | undefined;
  #firstInARow = 0;
  #begun = 0;
  #waitedMs = 0;
  #refused = 0;
  #dropped = 0;

  constructor(options: FairQueueOptions) {
    this.#options = options;
    this.#atOnce = options.atOnce;
    this.#nowMs = options.nowMs ?? (() => performance.now());
  }

  /**
   * Runs a piece of work when it is its key's turn.
   *
   * @throws AppError RATE_LIMITED when too much work of the key waits, CALLER_GONE when the work is no longer wanted.
   */
  async run<T>(turn: Turn, work: () => Promise<T>): Promise<T> {
    if (turn.gone?.aborted) throw this.#drop();
    const lane = this.#laneOf(turn.key);
    if (waitingOf(lane) >= this.#options.waitingPerKey) {
      this.#refused += 1;
      throw tooMany(this.#options.waitingPerKey);
    }
    await this.#turnOf(lane, turn);
    const beganMs = this.#nowMs();
    try {
      return await work();
    } finally {
      lane.usedMs += (this.#nowMs() - beganMs) * priceOf(lane);
      lane.underWay -= 1;
      this.#underWay -= 1;
      this.#ended(turn.key, lane);
    }
  }

  /** Changes the number of pieces in progress at once. */
  resize(atOnce: number): void {
    this.#atOnce = atOnce;
    this.#next();
  }

  figures(): QueueFigures {
    // Each line is in order of arrival.
    const oldest = [...this.#lanes.values()].flatMap(({ first, others }) => [first[0], others[0]]);
    const since = oldest.flatMap((entry) => (entry ? [entry.sinceMs] : []));
    return {
      name: this.#options.name,
      atOnce: this.#atOnce,
      waiting: this.#waiting,
      oldestWaitMs: since.length === 0 ? 0 : this.#nowMs() - leastOf(since),
      begun: this.#begun,
      waitedMs: this.#waitedMs,
      refused: this.#refused,
      dropped: this.#dropped,
    };
  }

  #laneOf(key: string): Lane {
    const known = this.#lanes.get(key);
    if (known) return known;
    const used = [...this.#lanes.values()].map(({ usedMs }) => usedMs);
    const usedMs = used.length === 0 ? 0 : leastOf(used);
    const lane: Lane = { first: [], others: [], usedMs, underWay: 0, lastTurn: 0 };
    this.#lanes.set(key, lane);
    return lane;
  }

  #turnOf(lane: Lane, { key, isFirst = false, gone }: Turn): Promise<void> {
    const begun = Promise.withResolvers<void>();
    const line = isFirst ? lane.first : lane.others;
    const leave = () => {
      line.splice(line.indexOf(entry), 1);
      this.#waiting -= 1;
      this.#forget(key, lane);
      begun.reject(this.#drop());
    };
    const entry: Waiting = {
      sinceMs: this.#nowMs(),
      begin: () => {
        gone?.removeEventListener('abort', leave);
        begun.resolve();
      },
    };
    line.push(entry);
    this.#waiting += 1;
    gone?.addEventListener('abort', leave, { once: true });
    this.#next();
    return begun.promise;
  }

  /**
   * Defers the next turn until immediate follow-up work is queued: otherwise a series of short pieces, each submitted
   * when the previous one ends, would wait behind another key's piece every time. Until then the lane keeps its use.
   */
  #ended(key: string, lane: Lane): void {
    if (this.#waiting === 0 && this.#ending.size === 0) {
      this.#forget(key, lane);
      return;
    }
    this.#ending.set(key, lane);
    if (this.#ending.size > 1) return;
    // After every continuation of the ended piece has run.
    process.nextTick(() => {
      const ending = [...this.#ending];
      this.#ending.clear();
      for (const [ended, one] of ending) this.#forget(ended, one);
      this.#next();
    });
  }

  #next(): void {
    // The lanes that ended last may still submit a follow-up piece.
    if (this.#ending.size > 0) return;
    while (this.#waiting > 0 && this.#underWay < this.#atOnce && !this.#isPausing()) {
      const wantsFirst = this.#firstInARow < mostFirstInARow;
      const [preferred, other] = wantsFirst ? (['first', 'others'] as const) : (['others', 'first'] as const);
      const lane = this.#nextLane(preferred) ?? this.#nextLane(other);
      const kind = lane && lane[preferred].length > 0 ? preferred : other;
      const entry = lane?.[kind].shift();
      if (!lane || !entry) return;
      this.#firstInARow = kind === 'first' ? this.#firstInARow + 1 : 0;
      this.#turns += 1;
      lane.lastTurn = this.#turns;
      lane.underWay += 1;
      this.#underWay += 1;
      this.#waiting -= 1;
      this.#begun += 1;
      this.#waitedMs += this.#nowMs() - entry.sinceMs;
      entry.begin();
    }
  }

  /** Whether the next turn waits until newly arrived requests are read. */
  #isPausing(): boolean {
    if (this.#inARowSinceMs !== undefined) return this.#nowMs() - this.#inARowSinceMs > readRequestsAfterMs;
    this.#inARowSinceMs = this.#nowMs();
    setImmediate(() => {
      this.#inARowSinceMs = undefined;
      this.#next();
    });
    return false;
  }

  #nextLane(line: 'first' | 'others'): Lane | undefined {
    const most = this.#options.atOnceOfKey?.(this.#atOnce) ?? this.#atOnce;
    let next: Lane | undefined;
    for (const lane of this.#lanes.values()) {
      if (lane[line].length === 0 || lane.underWay >= most) continue;
      if (next === undefined || isBefore(lane, next)) next = lane;
    }
    return next;
  }

  #forget(key: string, lane: Lane): void {
    if (this.#ending.has(key)) return;
    if (waitingOf(lane) === 0 && lane.underWay === 0) this.#lanes.delete(key);
  }

  #drop(): AppError {
    this.#dropped += 1;
    return new AppError('CALLER_GONE', 'The client disconnected before the response was ready.');
  }
}

function waitingOf({ first, others }: Lane): number {
  return first.length + others.length;
}

/** Cost of a millisecond: 1 for a sole piece, 10 with a thousand waiting behind it. */
function priceOf(lane: Lane): number {
  return Math.log2(2 + waitingOf(lane));
}

/** Keys with work in progress follow those without: their use is not counted yet. */
function isBefore(one: Lane, other: Lane): boolean {
  if (one.underWay !== other.underWay) return one.underWay < other.underWay;
  if (one.usedMs !== other.usedMs) return one.usedMs < other.usedMs;
  return one.lastTurn < other.lastTurn;
}

function tooMany(most: number): AppError {
  return new AppError(
    'RATE_LIMITED',
    `Too many requests are waiting: the limit is ${most}. Try again in a second.`,
    { attributes: { limit: most, retryAfterSeconds: 1 } },
  );
}
