import type { Clock } from '@picket/lib/clock.ts';
import type { RunOrder } from '../../run/contracts.ts';
import { StartTimes } from '../../run/start-times.ts';
import type { RunSituation } from '../threads/worker-protocol.ts';

/** A thread that is later than this was probably stopped, with the process. */
const lateMs = 1000;

interface Held {
  readonly order: RunOrder;
  readonly situation: RunSituation;
}

/**
 * Orders that a probe thread has before their slots; it starts each at its slot.
 *
 * HELD. → Started at its slot. If that was more than a second ago, the process was probably stopped, and the lease may
 * be lost: → LATE, until the main thread has named the runs that it lost and says `startLate`. A run that is removed
 * never starts.
 */
export class HeldOrders {
  readonly #options: HeldOrdersOptions;
  readonly #times: StartTimes<Held>;
  readonly #held = new Map<string, Held>();
  #late: Held[] = [];

  constructor(options: HeldOrdersOptions) {
    this.#options = options;
    this.#times = new StartTimes({ clock: options.clock, start: (held) => this.#timeCame(held) });
  }

  /** Takes an order whose slot is to come. @returns false if it may start now. */
  hold(order: RunOrder, situation: RunSituation): boolean {
    if (order.receivedAtMs <= this.#options.clock.monotonicMs()) return false;
    const held = { order, situation };
    this.#held.set(order.runId, held);
    this.#times.add(held, order.receivedAtMs);
    return true;
  }

  /** Removes a run that has not started, and returns it; undefined if no such run is here. */
  remove(runId: string): Held | undefined {
    const held = this.#held.get(runId);
    if (!held) return undefined;
    this.#held.delete(runId);
    this.#times.delete(held);
    return held;
  }

  /** Removes all. */
  removeAll(): Held[] {
    const all = [...this.#held.values()];
    this.#held.clear();
    this.#times.takeAll();
    return all;
  }

  /** Starts those that were late and are still wanted. */
  startLate(): void {
    const late = this.#late;
    this.#late = [];
    for (const held of late) this.#start(held);
  }

  #timeCame(held: Held): void {
    const isLate = this.#options.clock.monotonicMs() - held.order.receivedAtMs > lateMs;
    if (!isLate) this.#start(held);
    else if (this.#late.push(held) === 1) this.#options.onLate();
  }

  #start(held: Held): void {
    // A run that was removed meanwhile may be here again with a newer lease.
    if (this.#held.get(held.order.runId) !== held) return;
    this.#held.delete(held.order.runId);
    this.#options.start(held.order, held.situation);
  }
}

export interface HeldOrdersOptions {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly start: (order: RunOrder, situation: RunSituation) => void;
  /** Called with the first run that is late; `startLate` follows. */
  readonly onLate: () => void;
}
