import { type KernelTime, msBetween } from '../../sys/kernel-clock.ts';

/**
 * Records when the requests of a socket left: the kernel timestamps each as it hands it to the network, some ten
 * microseconds after the send began, or a hundred in a thread that has just slept. The timestamps arrive in request
 * order but do not name their request; a request takes the first one between the start of its send and of the next.
 * Without a timestamp (its device does not support them, or it waited in a queue) it keeps the start of its send.
 */
export class Departures {
  #requests: { sentAt: KernelTime }[] = [];
  /** The request whose send the last timestamp belongs to. */
  #current = -1;

  /** True if a timestamp may still arrive for some request. */
  get areAwaited(): boolean {
    return this.#requests.length > 0;
  }

  /** Adds a request that was sent. */
  add(request: { sentAt: KernelTime }): void {
    this.#requests.push(request);
  }

  /** Assigns a timestamp. */
  stamp(at: KernelTime): void {
    const before = this.#current;
    for (;;) {
      const next = this.#requests[this.#current + 1];
      if (!next || msBetween(next.sentAt, at) < 0) break;
      this.#current += 1;
    }
    const request = this.#requests[this.#current];
    if (request && this.#current > before) request.sentAt = at;
  }

  /** All available timestamps were read; stops waiting for more. */
  end(): void {
    this.#requests = [];
    this.#current = -1;
  }
}
