import { type KernelTime, msBetween } from '../../sys/kernel-clock.ts';

/**
 * When the requests of a socket left: the kernel stamps each as it hands it to the network, which is some ten microseconds
 * after the sending began, and in a thread that has slept a hundred. Its stamps come in the order of the requests and
 * name none; that of a request is the first between the beginning of its sending and of the next. A request that gets
 * none (its device does not stamp, or it waited in a queue) keeps the beginning of its sending.
 */
export class Departures {
  #requests: { sentAt: KernelTime }[] = [];
  /** The request that was being sent at the time of the last stamp. */
  #current = -1;

  /** Whether there are requests that a stamp may be of. */
  get areAwaited(): boolean {
    return this.#requests.length > 0;
  }

  /** Notes a request that was sent. */
  add(request: { sentAt: KernelTime }): void {
    this.#requests.push(request);
  }

  /** Takes a stamp. */
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

  /** All stamps there are were taken: no other one is waited for. */
  end(): void {
    this.#requests = [];
    this.#current = -1;
  }
}
