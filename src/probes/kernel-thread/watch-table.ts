/**
 * Socket events recorded by the kernel thread, in memory shared with the thread that owns the sockets. A row serves one
 * socket at a time. Its generation changes when it is released, so that a late event can detect that its socket is
 * gone.
 *
 * Words of 8 bytes: [generation, descriptor] [edge count, answered] [answered at] then the edges, four words each:
 * [time] [bytes received] [time since data was sent] [doubt]. Of many edges the first and the last are kept; those in
 * between are not needed. All times are milliseconds of the monotonic clock.
 */
export const rowCount = 2048;
const firstEdges = 24;
const lastEdges = 8;
const edgeWords = 4;
const headerWords = 3;
const rowWords = headerWords + (firstEdges + lastEdges) * edgeWords;
/**
 * The words before the rows: the state of the thread with the number of rows in use, the end of the thread's last
 * standstill, and the start of its last wait.
 */
const commonWords = 3;

/** Arrival of data at a socket. */
export interface Edge {
  readonly atMs: number;
  /** Total bytes received by then. */
  readonly receivedBytes: number;
  /**
   * How long before the arrival data had last been sent, in whole milliseconds of a clock that moves in steps of a few.
   */
  readonly sinceSentMs: number;
  /** How much earlier the data may have arrived. */
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

  // Used by both threads: the kernel thread sleeps only when nothing is watched, and the first new watch wakes it. Each
  // side first writes its own word and then reads the other's, so at least one of them sees the other.

  /** Counts another socket; false if the thread sleeps and must be woken. */
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

  // Used by the watching thread.

  /** When the last standstill of the kernel thread ended; 0 without one. */
  get standstillEndedAtMs(): number {
    return this.#numbers[1] ?? 0;
  }

  /** When the last wait of the kernel thread began; 0 before the first one. */
  get waitBeganAtMs(): number {
    return this.#numbers[2] ?? 0;
  }

  /** Clears a row for a socket; returns its generation. */
  begin(row: number, descriptor: number): number {
    const base = integerBase(row);
    Atomics.store(this.#integers, base + 1, descriptor);
    Atomics.store(this.#integers, base + 2, 0);
    Atomics.store(this.#integers, base + 3, 0);
    return Atomics.load(this.#integers, base) >>> 0;
  }

  /** Releases a row; pending events of its socket are no longer recorded in it. */
  end(row: number): void {
    Atomics.add(this.#integers, integerBase(row), 1);
  }

  /** When the peer accepted or refused the connection; undefined before. */
  answeredAtMs(row: number): number | undefined {
    if (Atomics.load(this.#integers, integerBase(row) + 3) === 0) return undefined;
    return this.#numbers[wordBase(row) + 2];
  }

  /** Arrivals in order; those in the middle are missing if there are very many. */
  edges(row: number): Edge[] {
    const count = this.edgeCount(row);
    const edges: Edge[] = [];
    for (let index = 0; index < count; index += 1) {
      if (index === firstEdges && count > firstEdges + lastEdges) index = count - lastEdges;
      edges.push(this.#edge(row, index));
    }
    // The newest ones may have been overwritten during the read.
    const isOverwritten = Atomics.load(this.#integers, integerBase(row) + 2) > Math.max(count, firstEdges);
    return isOverwritten ? edges.slice(0, firstEdges) : edges;
  }

  /** Bytes received by the last recorded arrival. */
  receivedBytes(row: number): number {
    const count = Atomics.load(this.#integers, integerBase(row) + 2);
    return count === 0 ? 0 : (this.#numbers[edgeWord(row, count - 1) + 1] ?? 0);
  }

  /** Number of recorded arrivals. */
  edgeCount(row: number): number {
    return Atomics.load(this.#integers, integerBase(row) + 2);
  }

  /** Waits until more than that many arrivals are recorded, or until the timeout. */
  awaitEdge(row: number, knownCount: number, timeoutMs: number): void {
    Atomics.wait(this.#integers, integerBase(row) + 2, knownCount, timeoutMs);
  }

  // Used by the kernel thread.

  /** Timestamps between the previous wait and this time are too late. */
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

  /** @returns whether it is the first answer. */
  addAnswer(row: number, atMs: number): boolean {
    const base = integerBase(row);
    if (Atomics.load(this.#integers, base + 3) !== 0) return false;
    this.#numbers[wordBase(row) + 2] = atMs;
    Atomics.store(this.#integers, base + 3, 1);
    return true;
  }

  /** Records an arrival, unless it brought no new bytes. */
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

/** After the first edges, the last ones rotate through the remaining positions. */
function edgeWord(row: number, index: number): number {
  const position = index < firstEdges ? index : firstEdges + ((index - firstEdges) % lastEdges);
  return wordBase(row) + headerWords + position * edgeWords;
}
