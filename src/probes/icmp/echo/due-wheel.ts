/** An element with a due time. */
interface Due {
  /** By `performance.now()`. Constant while the element is in the wheel. */
  readonly dueAtMs: number;
  /** Where the wheel keeps it; -1: not there. */
  slot: number;
}

/** Elements of one slot are due together. */
const slotMs = 4;
/** Elements that are due after one turn of the wheel, eight seconds, are given out at its end. */
const slotCount = 2048;

/**
 * Elements by their due time, in steps of a few milliseconds: a timer wheel. Adding, removing and taking cost the same
 * however many there are.
 */
export class DueWheel<T extends Due> {
  readonly #slots: T[][] = Array.from({ length: slotCount }, () => []);
  /** All earlier slots are empty. */
  #first = 0;
  #size = 0;

  /** When the next elements can be taken; infinity without any. */
  get nextDueMs(): number {
    if (this.#size === 0) return Number.POSITIVE_INFINITY;
    while (this.#at(this.#first).length === 0) this.#first += 1;
    return (this.#first + 1) * slotMs;
  }

  /** @param nowMs the current time: what is due earlier can be taken next. */
  add(added: T, nowMs: number): void {
    if (this.#size === 0) this.#first = Math.floor(nowMs / slotMs);
    const slot = Math.floor(added.dueAtMs / slotMs);
    added.slot = Math.min(this.#first + slotCount - 1, Math.max(this.#first, slot));
    this.#at(added.slot).push(added);
    this.#size += 1;
  }

  remove(removed: T): void {
    if (removed.slot < 0) return;
    const slot = this.#at(removed.slot);
    const last = slot.pop();
    if (last && last !== removed) slot[slot.indexOf(removed)] = last;
    removed.slot = -1;
    this.#size -= 1;
  }

  /** Removes and returns elements that are due at that time; undefined without any. */
  take(nowMs: number): readonly T[] | undefined {
    if (this.nextDueMs > nowMs) return undefined;
    const due = this.#at(this.#first).splice(0);
    for (const one of due) one.slot = -1;
    this.#size -= due.length;
    this.#first += 1;
    return due;
  }

  #at(slot: number): T[] {
    return this.#slots[slot % slotCount] ?? [];
  }
}
