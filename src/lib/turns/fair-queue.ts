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
  /** How many pieces of work are under way at once. */
  readonly atOnce: number;
  /** How many pieces of one key may wait. */
  readonly waitingPerKey: number;
  readonly nowMs?: () => number;
}

/** What an operator alerts on: how much waits now, and for how long all that began had waited. */
export interface QueueFigures {
  readonly name: string;
  readonly waiting: number;
  readonly oldestWaitMs: number;
  readonly begun: number;
  readonly waitedMs: number;
  readonly refused: number;
  readonly dropped: number;
}

interface Waiting {
  readonly sinceMs: number;
  readonly isFirst: boolean;
  readonly begin: () => void;
}

interface Lane {
  readonly waiting: Waiting[];
  /** How much time the work of the key has taken, counted on from the least of those that were there when it came. */
  usedMs: number;
  underWay: number;
  lastTurn: number;
}

/** After this many turns in a row for work that comes first, the next one goes to other work. */
const mostFirstInARow = 3;

/**
 * A queue in which keys take turns by the time their work has taken: a key that has used less comes first, and at
 * the same use the one that was served longer ago. A key that comes back starts at the least use of those that are
 * there, so that it neither saves up turns nor pays for the past. Work that is cut into pieces lets others in
 * between; all of its pieces are to wait at once.
 */
export class FairQueue {
  readonly #options: FairQueueOptions;
  readonly #nowMs: () => number;
  readonly #lanes = new Map<string, Lane>();
  #underWay = 0;
  #turns = 0;
  #firstInARow = 0;
  #begun = 0;
  #waitedMs = 0;
  #refused = 0;
  #dropped = 0;

  constructor(options: FairQueueOptions) {
    this.#options = options;
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
    if (lane.waiting.length >= this.#options.waitingPerKey) {
      this.#refused += 1;
      throw tooMany(this.#options.waitingPerKey);
    }
    await this.#turnOf(lane, turn);
    const beganMs = this.#nowMs();
    try {
      return await work();
    } finally {
      lane.usedMs += this.#nowMs() - beganMs;
      lane.underWay -= 1;
      this.#underWay -= 1;
      this.#forget(turn.key, lane);
      this.#next();
    }
  }

  figures(): QueueFigures {
    const waiting = [...this.#lanes.values()].flatMap((lane) => lane.waiting);
    const oldest = Math.min(...waiting.map(({ sinceMs }) => sinceMs));
    return {
      name: this.#options.name,
      waiting: waiting.length,
      oldestWaitMs: waiting.length === 0 ? 0 : this.#nowMs() - oldest,
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
    const usedMs = used.length === 0 ? 0 : Math.min(...used);
    const lane: Lane = { waiting: [], usedMs, underWay: 0, lastTurn: 0 };
    this.#lanes.set(key, lane);
    return lane;
  }

  #turnOf(lane: Lane, { key, isFirst = false, gone }: Turn): Promise<void> {
    const begun = Promise.withResolvers<void>();
    const leave = () => {
      lane.waiting.splice(lane.waiting.indexOf(entry), 1);
      this.#forget(key, lane);
      begun.reject(this.#drop());
    };
    const entry: Waiting = {
      sinceMs: this.#nowMs(),
      isFirst,
      begin: () => {
        gone?.removeEventListener('abort', leave);
        begun.resolve();
      },
    };
    lane.waiting.push(entry);
    gone?.addEventListener('abort', leave, { once: true });
    this.#next();
    return begun.promise;
  }

  #next(): void {
    while (this.#underWay < this.#options.atOnce) {
      const wantsFirst = this.#firstInARow < mostFirstInARow;
      const lane =
        this.#nextLane((one) => one.waiting.some(({ isFirst }) => isFirst === wantsFirst)) ??
        this.#nextLane((one) => one.waiting.length > 0);
      if (!lane) return;
      const place = lane.waiting.findIndex(({ isFirst }) => isFirst === wantsFirst);
      const [entry] = lane.waiting.splice(Math.max(0, place), 1);
      if (!entry) return;
      this.#firstInARow = entry.isFirst ? this.#firstInARow + 1 : 0;
      this.#turns += 1;
      lane.lastTurn = this.#turns;
      lane.underWay += 1;
      this.#underWay += 1;
      this.#begun += 1;
      this.#waitedMs += this.#nowMs() - entry.sinceMs;
      entry.begin();
    }
  }

  #nextLane(has: (lane: Lane) => boolean): Lane | undefined {
    let next: Lane | undefined;
    for (const lane of this.#lanes.values()) {
      if (has(lane) && (next === undefined || isBefore(lane, next))) next = lane;
    }
    return next;
  }

  #forget(key: string, lane: Lane): void {
    if (lane.waiting.length === 0 && lane.underWay === 0) this.#lanes.delete(key);
  }

  #drop(): AppError {
    this.#dropped += 1;
    return new AppError('CALLER_GONE', 'The caller hung up before the answer was made.');
  }
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
    `Too many requests wait for an answer: ${most} may wait at once. Try again in a second.`,
    { attributes: { limit: most, retryAfterSeconds: 1 } },
  );
}
