export interface GatheringOptions<Item> {
  /** Does the work for some items at once. */
  readonly work: (items: readonly Item[]) => Promise<void>;
  /** Size of an item. */
  readonly sizeOf: (item: Item) => number;
  /** Items are gathered up to this size; a larger one is alone. */
  readonly mostSize: number;
}

interface Waiting<Item> {
  readonly item: Item;
  readonly done: PromiseWithResolvers<void>;
}

/**
 * Gathers work, as databases do with commits: an item that comes while nothing is in progress begins at once; those that
 * come meanwhile wait, and then share one piece of work. So pieces grow with load, and nothing waits without load.
 * If the work of several items fails, each is done alone, so that no item fails because of another.
 */
export class Gathering<Item> {
  readonly #options: GatheringOptions<Item>;
  /** Items that wait, by key; a key is present while its work is in progress. */
  readonly #waiting = new Map<string, Waiting<Item>[]>();

  constructor(options: GatheringOptions<Item>) {
    this.#options = options;
  }

  /** Resolves when the work of the item is done; rejects with its error. Only items of one key share work. */
  async run(key: string, item: Item): Promise<void> {
    const waiting = this.#waiting.get(key);
    if (waiting) {
      const done = Promise.withResolvers<void>();
      waiting.push({ item, done });
      return done.promise;
    }
    this.#waiting.set(key, []);
    try {
      await this.#options.work([item]);
    } finally {
      void this.#continue(key);
    }
  }

  /** Does what has gathered. Never rejects: errors go to those who wait. */
  async #continue(key: string): Promise<void> {
    const waiting = this.#waiting.get(key) ?? [];
    while (waiting.length > 0) await this.#together(this.#first(waiting));
    this.#waiting.delete(key);
  }

  /** Takes the first items, up to the size. */
  #first(waiting: Waiting<Item>[]): Waiting<Item>[] {
    const { sizeOf, mostSize } = this.#options;
    let size = 0;
    const end = waiting.findIndex(({ item }, index) => {
      size += sizeOf(item);
      return index > 0 && size > mostSize;
    });
    return waiting.splice(0, end === -1 ? waiting.length : end);
  }

  async #together(some: readonly Waiting<Item>[]): Promise<void> {
    try {
      await this.#options.work(some.map(({ item }) => item));
    } catch (thrown) {
      if (some.length > 1) for (const one of some) await this.#together([one]);
      else for (const { done } of some) done.reject(thrown);
      return;
    }
    for (const { done } of some) done.resolve();
  }
}
