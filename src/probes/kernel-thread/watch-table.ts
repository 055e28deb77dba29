/**
 * What the kernel's thread writes down of sockets, in memory that it shares with the thread whose sockets
 * they are. A row is for one socket at a time. Its generation changes when it is given back, so that an event
 * that comes late finds out that it is about a socket of the past.
 *
 * Words of 8 bytes: [generation, descriptor] [edge count, answered] [answered at] then the edges, four words
 * each: [time] [bytes received] [time since data was sent] [doubt]. Of many edges the first and the last are kept;
 * what is in between is of no use to anybody. All times are milliseconds of the monotonic clock.
 */
export const rowCount = 2048;
const firstEdges = 24;
const lastEdges = 8;
const edgeWords = 4;
const headerWords = 3;
const rowWords = headerWords + (firstEdges + lastEdges) * edgeWords;
/**
 * The words before the rows: the state of the thread with how many rows are in use, when a standstill of the
 * thread last ended, and when it began to wait last.
 */
const commonWords = 3;

/** Data that arrived at a socket. */
export interface Edge {
  readonly atMs: number;
  /** All bytes received until then. */
  readonly receivedBytes: number;
  /**
   * How long before that data had been sent last, in whole milliseconds of a clock that moves in steps of a
   * few.
   */
  readonly sinceSentMs: number;
  /** By how much earlier it may have arrived. */
  readonly doubtMs: number;
}

export class WatchTable {
  readonly memory: SharedArrayBuffer;
  readonly #integers: Int32Array;
  readonly #numbers: Float64Array;

  constructor(memory: SharedArrayBuffer = new SharedArrayBuffer((commonWords + rowCount * rowWords) * 8)) {
    this.memory = memory;
    this.#integers = new Int32Array(memory);
    this.#numbers = new Float64Array(memory);
  }

  // Of both threads: the thread goes to sleep only when nothing is watched, and the first that watches again
  // wakes it. Each side first writes its own word and then reads the other's, so at least one of them sees
  // the other.

  /** Counts one more socket; false when the thread sleeps and has to be woken. */
  addWatched(): boolean {
    Atomics.add(this.#integers, 1, 1);
    return Atomics.load(this.#integers, 0) === 1;
  }

  removeWatched(): void {
    Atomics.sub(this.#integers, 1, 1);
  }

  get isAnyWatched(): boolean {
    return Atomics.load(this.#integers, 1) > 0;
  }

  setAwake(isAwake: boolean): void {
    Atomics.store(this.#integers, 0, isAwake ? 1 : 0);
  }

  // Of the watching thread.

  /** When a standstill of the kernel's thread last ended; 0 when there was none. */
  get standstillEndedAtMs(): number {
    return this.#numbers[1] ?? 0;
  }

  /** When the kernel's thread began to wait last; 0 before the first time. */
  get waitBeganAtMs(): number {
    return this.#numbers[2] ?? 0;
  }

  /** Empties a row for a socket; returns its generation. */
  begin(row: number, descriptor: number): number {
    const base = integerBase(row);
    Atomics.store(this.#integers, base + 1, descriptor);
    Atomics.store(this.#integers, base + 2, 0);
    Atomics.store(this.#integers, base + 3, 0);
    return Atomics.load(this.#integers, base) >>> 0;
  }

  /** Whatever is still on its way to the row is not written into it any more. */
  end(row: number): void {
    Atomics.add(this.#integers, integerBase(row), 1);
  }

  /** When the peer answered the attempt to connect, for better or worse; undefined before. */
  answeredAtMs(row: number): number | undefined {
    if (Atomics.load(this.#integers, integerBase(row) + 3) === 0) return undefined;
    return this.#numbers[wordBase(row) + 2];
  }

  /** Arrivals in their order; of very many, those in the middle are missing. */
  edges(row: number): Edge[] {
    const count = this.edgeCount(row);
    const edges: Edge[] = [];
    for (let index = 0; index < count; index += 1) {
      if (index === firstEdges && count > firstEdges + lastEdges) index = count - lastEdges;
      edges.push(this.#edge(row, index));
    }
    // The newest ones may have been overwritten while they were read.
    const isOverwritten = Atomics.load(this.#integers, integerBase(row) + 2) > Math.max(count, firstEdges);
    return isOverwritten ? edges.slice(0, firstEdges) : edges;
  }

  /** How many bytes had come by the last arrival that was noted. */
  receivedBytes(row: number): number {
    const count = Atomics.load(this.#integers, integerBase(row) + 2);
    return count === 0 ? 0 : (this.#numbers[edgeWord(row, count - 1) + 1] ?? 0);
  }

  /** How many arrivals were noted so far. */
  edgeCount(row: number): number {
    return Atomics.load(this.#integers, integerBase(row) + 2);
  }

  /** Waits until more than that many arrivals are noted, but no longer than that. */
  awaitEdge(row: number, knownCount: number, timeoutMs: number): void {
    Atomics.wait(this.#integers, integerBase(row) + 2, knownCount, timeoutMs);
  }

  // Of the kernel's thread.

  /** What was stamped between then and the wait before was stamped too late. */
  recordStandstill(endedAtMs: number): void {
    this.#numbers[1] = endedAtMs;
  }

  recordWait(beganAtMs: number): void {
    this.#numbers[2] = beganAtMs;
  }

  isCurrent(row: number, generation: number): boolean {
    return Atomics.load(this.#integers, integerBase(row)) >>> 0 === generation;
  }

  descriptorOf(row: number): number {
    return Atomics.load(this.#integers, integerBase(row) + 1);
  }

  /** @returns whether it is the first one. */
  addAnswer(row: number, atMs: number): boolean {
    const base = integerBase(row);
    if (Atomics.load(this.#integers, base + 3) !== 0) return false;
    this.#numbers[wordBase(row) + 2] = atMs;
    Atomics.store(this.#integers, base + 3, 1);
    return true;
  }

  /** Notes an arrival, unless it brought nothing new. */
  addEdge(row: number, { atMs, receivedBytes, sinceSentMs, doubtMs }: Edge): void {
    const countAt = integerBase(row) + 2;
    const count = Atomics.load(this.#integers, countAt);
    if (receivedBytes <= this.receivedBytes(row)) return;
    const word = edgeWord(row, count);
    this.#numbers[word] = atMs;
    this.#numbers[word + 1] = receivedBytes;
    this.#numbers[word + 2] = sinceSentMs;
    this.#numbers[word + 3] = doubtMs;
    Atomics.store(this.#integers, countAt, count + 1);
    Atomics.notify(this.#integers, countAt);
  }

  #edge(row: number, index: number): Edge {
    const word = edgeWord(row, index);
    return {
      atMs: this.#numbers[word] ?? 0,
      receivedBytes: this.#numbers[word + 1] ?? 0,
      sinceSentMs: this.#numbers[word + 2] ?? 0,
      doubtMs: this.#numbers[word + 3] ?? 0,
    };
  }
}

const wordBase = (row: number) => commonWords + row * rowWords;
const integerBase = (row: number) => 2 * wordBase(row);

/** After the first edges the last ones take turns in the positions that are left. */
function edgeWord(row: number, index: number): number {
  const position = index < firstEdges ? index : firstEdges + ((index - firstEdges) % lastEdges);
  return wordBase(row) + headerWords + position * edgeWords;
}
