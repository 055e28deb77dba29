/** A map that keeps at most `capacity` entries; the least recently used one goes first. */
export class LruMap<Key, Value> {
  readonly #capacity: number;
  readonly #entries = new Map<Key, Value>();

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** The value of a key, made and kept when it is not there. What `make` throws is passed on and nothing is kept. */
  getOrMake(key: Key, make: () => Value): Value {
    const known = this.#entries.get(key);
    if (known !== undefined) {
      this.#entries.delete(key);
      this.#entries.set(key, known);
      return known;
    }
    const value = make();
    if (this.#entries.size >= this.#capacity) {
      for (const oldest of this.#entries.keys()) {
        this.#entries.delete(oldest);
        break;
      }
    }
    this.#entries.set(key, value);
    return value;
  }

  get size(): number {
    return this.#entries.size;
  }
}
