import { setTimeout as delay } from 'node:timers/promises';

const everyMs = 100;
const timeoutMs = 2000;

/** What the probes of an agent answered at some time; 0 when nobody answered. */
export interface Look {
  /** On the clock of `performance.now()`. */
  readonly atMs: number;
  readonly readiness: number;
  readonly liveness: number;
  /** Why it is not ready, in its own words. */
  readonly reason: string;
}

export async function look(address: string): Promise<Look> {
  const atMs = performance.now();
  const [readiness, liveness] = await Promise.all([
    ask(`http://${address}:8081/-/readiness`),
    ask(`http://${address}:8081/-/liveness`),
  ]);
  return { atMs, readiness: readiness.status, liveness: liveness.status, reason: readiness.reason };
}

/** Asks for the probes of an agent again and again, beside the kubelet, which asks every five seconds. */
export class ProbeWatch {
  readonly #address: string;
  readonly #looks: Look[] = [];
  readonly #end = new AbortController();
  readonly #watching: Promise<void>;

  constructor(address: string) {
    this.#address = address;
    this.#watching = this.#watch();
  }

  get looks(): readonly Look[] {
    return this.#looks;
  }

  async end(): Promise<readonly Look[]> {
    this.#end.abort();
    await this.#watching;
    return this.#looks;
  }

  async #watch(): Promise<void> {
    while (!this.#end.signal.aborted) {
      this.#looks.push(await look(this.#address));
      await delay(everyMs);
    }
  }
}

async function ask(url: string): Promise<{ readonly status: number; readonly reason: string }> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) });
    const body = (await response.json()) as { readonly reason?: string };
    return { status: response.status, reason: body.reason ?? '' };
  } catch {
    return { status: 0, reason: '' }; // refused, or closed while it answered
  }
}
