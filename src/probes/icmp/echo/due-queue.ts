/** An element with a due time. */
interface Due {
  /** By `performance.now()`. Constant while the element is queued. */
  readonly dueAtMs: number;
}

/**
 * A queue ordered by due time: a binary heap, because it holds up to a thousand elements and each is requeued often.
 */
export class DueQueue<T extends Due> {
  readonly #heap: T[] = [];

  /** The element that is due next. */
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

  /** Removes and returns the element that is due next. */
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
