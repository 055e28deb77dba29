/** A map that keeps entries up to a capacity in all; the least recently used one goes first. */
export class LruMap<Key, Value> {
  readonly #capacity: number;
  readonly #sizeOf: (value: Value, key: Key) => number;
  readonly #entries = new Map<Key, { readonly value: Value; readonly size: number }>();
  #size = 0;

  /**
   * @param sizeOf what an entry takes of the capacity; 1 when absent, so that the capacity is a number of
   * entries.
   */
  constructor(capacity: number, sizeOf: (value: Value, key: Key) => number = () => 1) {
    this.#capacity = capacity;
    this.#sizeOf = sizeOf;
  }

  get(key: Key): Value | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  /**
   * Keeps an entry, and drops the oldest ones that no longer fit; one larger than the capacity is not kept
   * either.
   */
  set(key: Key, value: Value): void {
    this.#remove(key);
    const entry = { value, size: this.#sizeOf(value, key) };
    this.#entries.set(key, entry);
    this.#size += entry.size;
    for (const oldest of this.#entries.keys()) {
      if (this.#size <= this.#capacity) break;
      this.#remove(oldest);
    }
  }

  /**
   * The value of a key, made and kept when it is not there. What `make` throws is passed on and nothing is
   * kept.
   */
  getOrMake(key: Key, make: () => Value): Value {
    const known = this.get(key);
    if (known !== undefined) return known;
    const value = make();
    this.set(key, value);
    return value;
  }

  delete(key: Key): void {
    this.#remove(key);
  }

  /** Every value; reading them is no use of their entries. */
  *values(): Generator<Value> {
    for (const { value } of this.#entries.values()) yield value;
  }

  get size(): number {
    return this.#entries.size;
  }

  #remove(key: Key): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    this.#entries.delete(key);
    this.#size -= entry.size;
  }
}
