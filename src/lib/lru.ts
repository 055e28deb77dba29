/** A map that keeps at most `capacity` entries; the least recently used one goes first. */
export class LruMap<Key, Value> {
  readonly #capacity: number;
  readonly #entries = new Map<Key, Value>();

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** The value of a key, made and kept when it is not there. What `make` throws is passed on and nothing is kept. */
  getOrMake(key: Key, make: () => Value): Value {
    const value = this.#entries.get(key) ?? make();
    this.set(key, value);
    return value;
  }

  /** Reading is no use of an entry. */
  get(key: Key): Value | undefined {
    return this.#entries.get(key);
  }

  set(key: Key, value: Value): void {
    this.#entries.delete(key);
    if (this.#entries.size >= this.#capacity) {
      const [oldest] = this.#entries.keys();
      if (oldest !== undefined) this.#entries.delete(oldest);
    }
    this.#entries.set(key, value);
  }

  values(): Iterable<Value> {
    return this.#entries.values();
  }

  get size(): number {
    return this.#entries.size;
  }
}
