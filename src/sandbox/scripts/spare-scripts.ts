import { availableParallelism } from 'node:os';
import type { ScriptPlace, WaitingScript } from './waiting-script.ts';
import { maxWaitMs } from './waiting-script.ts';

/** Kinds that no run has asked for since are not kept ready any more. */
const idleKindMs = 10 * 60_000;
/** How often it is looked whether a processor is free to start another one. */
const lookMs = 100;
/** A processor counts as free when this part of it was idle since the last look. */
const idlePart = 0.6;
/** After so long a spare is started on a busy host too. */
const patienceMs = 3000;

interface Spare {
  readonly waiting: WaitingScript;
  readonly startedAtMs: number;
}

/**
 * Processes that have loaded everything and wait for a script: one for each kind (runtime, with or without a browser) that
 * was asked for lately. Each is used once, by one run, and replaced when a processor is free. A spare that dies or
 * grows old is given back and replaced.
 */
export class SpareScripts {
  readonly #options: SpareScriptsOptions;
  readonly #spares = new Map<string, Spare>();
  readonly #kinds = new Map<string, { readonly place: ScriptPlace; readonly askedAtMs: number }>();
  #filling: Promise<void> | undefined;
  #isClosed = false;
  #idleBefore: { idleMs: number; atMs: number } | undefined;

  constructor(options: SpareScriptsOptions) {
    this.#options = options;
  }

  get count(): number {
    return this.#spares.size;
  }

  /** The spare for a place, if there is one; from then on it belongs to the caller. */
  take(place: ScriptPlace): WaitingScript | undefined {
    const kind = kindOf(place);
    const spare = this.#spares.get(kind);
    this.#spares.delete(kind);
    this.want(place);
    return spare?.waiting;
  }

  /** Keeps a spare for a place ready from now on, as far as there is room. */
  want(place: ScriptPlace): void {
    this.#kinds.set(kindOf(place), { place, askedAtMs: performance.now() });
    this.fill();
  }

  /** Starts what is missing, one after the other, as processors become free. */
  fill(): void {
    if (this.#isClosed || this.#filling) return;
    this.#filling = this.#fill().finally(() => {
      this.#filling = undefined;
    });
  }

  /** Ends all spares. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#filling;
    for (const [kind, spare] of this.#spares) this.#drop(kind, spare);
  }

  async #fill(): Promise<void> {
    for (;;) {
      this.#dropOld();
      const missing = this.#missing();
      if (!missing) return;
      const sinceMs = performance.now();
      while (!this.#isClosed && !this.#isProcessorFree() && performance.now() - sinceMs < patienceMs) {
        await new Promise((resolve) => setTimeout(resolve, lookMs));
      }
      if (this.#isClosed || !this.#options.hasRoom()) return;
      const waiting = await this.#options.start(missing.place);
      if (!waiting) return;
      const kind = kindOf(missing.place);
      const spare = { waiting, startedAtMs: performance.now() };
      this.#spares.set(kind, spare);
      void waiting.process.ended.then(() => {
        // Nobody has taken it: it died, or had waited for as long as it may.
        if (this.#spares.get(kind) !== spare) return;
        this.#drop(kind, spare);
        // Not at once: where it was killed for want of memory, the next would be as well.
        setTimeout(() => this.fill(), patienceMs).unref();
      });
    }
  }

  /** The kind asked for last that has no spare. */
  #missing() {
    if (this.#isClosed || this.#spares.size >= this.#options.maxCount) return undefined;
    const nowMs = performance.now();
    return [...this.#kinds.values()]
      .filter(({ place, askedAtMs }) => !this.#spares.has(kindOf(place)) && nowMs - askedAtMs < idleKindMs)
      .sort((left, right) => right.askedAtMs - left.askedAtMs)[0];
  }

  #dropOld(): void {
    const nowMs = performance.now();
    for (const [kind, spare] of this.#spares) {
      const askedAtMs = this.#kinds.get(kind)?.askedAtMs ?? 0;
      const isOld = nowMs - spare.startedAtMs > maxWaitMs / 2;
      const isUnwanted = nowMs - askedAtMs > idleKindMs && this.#spares.size >= this.#options.maxCount;
      if (isOld || isUnwanted) this.#drop(kind, spare);
    }
  }

  #drop(kind: string, spare: Spare): void {
    this.#spares.delete(kind);
    this.#options.release(spare.waiting);
  }

  #isProcessorFree(): boolean {
    const now = { idleMs: this.#options.idleMs(), atMs: performance.now() };
    const before = this.#idleBefore;
    this.#idleBefore = now;
    if (!before || now.atMs - before.atMs > 10 * lookMs) return availableParallelism() > 1;
    const elapsedMs = now.atMs - before.atMs;
    return elapsedMs > 0 && (now.idleMs - before.idleMs) / elapsedMs >= idlePart;
  }
}

export interface SpareScriptsOptions {
  /** How many there may be at a time. */
  readonly maxCount: number;
  /** Whether the host has memory for one more. */
  readonly hasRoom: () => boolean;
  /** For how long processors were idle since the host started, all together, in milliseconds. */
  readonly idleMs: () => number;
  /** Starts one; resolves when it has loaded everything, with undefined when it could not be had. */
  readonly start: (place: ScriptPlace) => Promise<WaitingScript | undefined>;
  readonly release: (waiting: WaitingScript) => void;
}

function kindOf({ runtime, browser }: ScriptPlace): string {
  return `${runtime.id} ${browser ? 'browser' : ''}`;
}
