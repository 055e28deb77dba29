/** Something with a time at which something is to be done about it. */
interface Due {
  /** By `performance.now()`. It does not change while the thing is queued. */
  readonly dueAtMs: number;
}

/**
 * Things in the order in which they are due: a binary heap, because it holds a thousand at a time and each
 * one often.
 */
export class DueQueue<T extends Due> {
  readonly #heap: T[] = [];

  /** What is due next. */
  get first(): T | undefined {
    return this.#heap[0];
  }

  clear(): void {
    this.#heap.length = 0;
  }

  add(added: T): void {
    const heap = this.#heap;
    let index = heap.length;
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = heap[parentIndex];
      if (!parent || parent.dueAtMs <= added.dueAtMs) break;
      heap[index] = parent;
      index = parentIndex;
    }
    heap[index] = added;
  }

  /** Takes out what is due next. */
  takeFirst(): T | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (!last || heap.length === 0) return first;
    let index = 0;
    for (;;) {
      let childIndex = 2 * index + 1;
      let child = heap[childIndex];
      const right = heap[childIndex + 1];
      if (child && right && right.dueAtMs < child.dueAtMs) {
        child = right;
        childIndex += 1;
      }
      if (!child || child.dueAtMs >= last.dueAtMs) break;
      heap[index] = child;
      index = childIndex;
    }
    heap[index] = last;
    return first;
  }
}
