/** A request that was sent. */
interface Sent {
  /** When its send began, or, once the kernel has reported it, when it left; see `kernelMs`. */
  leftMs: number;
}

/**
 * Records when the requests of a socket left: the kernel timestamps each as it hands it to the network, some ten
 * microseconds after the send began, or a hundred in a thread that has just slept. The timestamps arrive in request
 * order but do not name their request; a request takes the first one between the start of its send and of the next.
 * Without a timestamp (its device does not support them, or it waited in a queue) it keeps the start of its send.
 */
export class Departures {
  readonly #requests: Sent[] = [];
  /** The request whose send the last timestamp belongs to. */
  #current = -1;

  /** Adds a request that was sent. */
  add(request: Sent): void {
    this.#requests.push(request);
  }

  /** Assigns a timestamp. */
  stamp(atMs: number): void {
    const before = this.#current;
    for (;;) {
      const next = this.#requests[this.#current + 1];
      if (!next || next.leftMs > atMs) break;
      this.#current += 1;
    }
    const request = this.#requests[this.#current];
    if (request && this.#current > before) request.leftMs = atMs;
  }

  /** All available timestamps were read; stops waiting for more. */
  end(): void {
    this.#requests.length = 0;
    this.#current = -1;
  }
}
