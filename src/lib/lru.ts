/** A map with a total capacity; it evicts the least recently used entries first. */
export class LruMap<Key, Value> {
  readonly #capacity: number;
  readonly #sizeOf: (value: Value, key: Key) => number;
  readonly #entries = new Map<Key, { readonly value: Value; readonly size: number }>();
  #size = 0;

  /** @param sizeOf returns the size of an entry; 1 by default, so that the capacity is a number of entries. */
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

  /** Stores an entry and evicts the oldest ones that no longer fit, including an entry larger than the capacity. */
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

  /** Returns the value of a key; makes and stores it if absent. Stores nothing if `make` throws. */
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

  /** Yields every value without counting as use of its entry. */
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
