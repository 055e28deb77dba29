import type { Blackbox } from './blackbox.ts';
import type { Loadable } from './loads.ts';

/** blackbox_exporter under a load: its reports, by the index of the probe. */
export class BlackboxLoad implements Loadable {
  readonly metrics = new Map<number, ReadonlyMap<string, number>>();
  readonly #blackbox: Blackbox;
  readonly #targetOf: (index: number) => string;
  readonly #running = new Set<Promise<void>>();

  constructor(blackbox: Blackbox, targetOf: (index: number) => string) {
    this.#blackbox = blackbox;
    this.#targetOf = targetOf;
  }

  async closedLoop(first: number, end: number, inFlight: number): Promise<void> {
    let next = first;
    const worker = async () => {
      while (next < end) {
        const index = next;
        next += 1;
        await this.#probe(index);
      }
    };
    await Promise.all(Array.from({ length: inFlight }, worker));
  }

  start(index: number): void {
    const running = this.#probe(index).finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  async ended(): Promise<void> {
    await Promise.all(this.#running);
  }

  async #probe(index: number): Promise<void> {
    this.metrics.set(index, await this.#blackbox.probe('http', this.#targetOf(index)));
  }
}
