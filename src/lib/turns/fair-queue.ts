import { leastOf } from '../bounds/extremes.ts';
import { AppError } from '../errors.ts';

/** Whose work it is, and when it is no longer wanted. */
export interface Turn {
  /** Work of one key never waits for more than one piece of another key's: an account, a location. */
  readonly key: string;
  /** Before the work of others: what readers of public pages wait for. */
  readonly isFirst?: boolean | undefined;
  /** Work that has not begun when it aborts is dropped. */
  readonly gone?: AbortSignal | undefined;
}

export interface FairQueueOptions {
  /** For metrics, such as `analytics`. */
  readonly name: string;
  /** How many pieces of work are under way at once; `resize` changes it. */
  readonly atOnce: number;
  /** How many of them may be of one key: the others are there for keys that come later. All when absent. */
  readonly atOnceOfKey?: (atOnce: number) => number;
  /** How many pieces of one key may wait. */
  readonly waitingPerKey: number;
  readonly nowMs?: () => number;
}

/** What an operator alerts on: how much waits now, and for how long all that began had waited. */
export interface QueueFigures {
  readonly name: string;
  /** How many pieces may be under way. */
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
  /** What the work of the key has cost, counted on from the least of those that were there when it came. */
  usedMs: number;
  underWay: number;
  lastTurn: number;
}

/** After this many turns in a row for work that comes first, the next one goes to other work. */
const mostFirstInARow = 3;
/** After this long requests that have come meanwhile are read, before the next turn. */
const readRequestsAfterMs = 5;

/**
 * A queue in which keys take turns by the time their work has taken: a key that has used less comes first, and at
 * the same use the one that was served longer ago. Time costs more the more work of the key waits, by the logarithm: a
 * key with little work waits only a little behind one with much, which still gets its part of the time. A key that comes
 * back starts at the least use of those that are there, so that it neither saves up turns nor pays for the past. Work
 * that is cut into pieces lets others in between; all of its pieces are to wait at once.
 *
 * Work that waits for nothing outside the process, as with SQLite, would make turns follow each other without the event
 * loop going round, and new requests would not even be read until no work is left. So turns pause every few milliseconds.
 */
export class FairQueue {
  readonly #options: FairQueueOptions;
  readonly #nowMs: () => number;
  readonly #lanes = new Map<string, Lane>();
  #atOnce: number;
  /** Those of which a piece has just ended, while others wait. */
  readonly #ending = new Map<string, Lane>();
  #underWay = 0;
  #waiting = 0;
  #turns = 0;
  /** When the turns began that follow each other in this round of the event loop. */
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
   * Does a piece of work when it is its key's turn.
   *
   * @throws AppError RATE_LIMITED when too much of the key waits, CALLER_GONE when it is no longer wanted.
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

  /** Has this many pieces under way at once from now on. */
  resize(atOnce: number): void {
    this.#atOnce = atOnce;
    this.#next();
  }

  figures(): QueueFigures {
    // Those that wait in one line came one after the other.
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
   * Decides on the next turn when what follows at once has come: work of many short pieces, each asked for when the
   * one before has ended, would else stand behind a piece of another key each time. Until then its use counts.
   */
  #ended(key: string, lane: Lane): void {
    if (this.#waiting === 0 && this.#ending.size === 0) {
      this.#forget(key, lane);
      return;
    }
    this.#ending.set(key, lane);
    if (this.#ending.size > 1) return;
    // After all that the end of the piece resolves.
    process.nextTick(() => {
      const ending = [...this.#ending];
      this.#ending.clear();
      for (const [ended, one] of ending) this.#forget(ended, one);
      this.#next();
    });
  }

  #next(): void {
    // The pieces that ended last may have another one to follow.
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

  /** Whether the next turn is for after what has come meanwhile. */
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

/** What a millisecond costs: 1 of the only piece, 10 where a thousand wait behind it. */
function priceOf(lane: Lane): number {
  return Math.log2(2 + waitingOf(lane));
}

/** Keys with work under way go behind those without: their use is not counted yet. */
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
