import type { SandboxedProcess } from '../sandbox.ts';

/** Kinds that no run has asked for since are not kept ready any more. */
const idleKindMs = 10 * 60_000;
/** How often it is looked whether a processor is free to start another one. */
const lookMs = 100;
/** A processor counts as free when this part of it was idle since the last look. */
const idlePart = 0.6;
/** One that died is not replaced at once: where it was killed for want of memory, the next would be as well. */
const afterDeathMs = 3000;

/** A process that was started to wait, and what becomes of it. */
export interface StartedSpare<Waiting> {
  readonly waiting: Waiting;
  /** Resolves with true when it has loaded everything, with false when that took too long or it ended. */
  readonly loaded: Promise<boolean>;
}

interface Spare<Waiting> {
  readonly waiting: Waiting;
  readonly startedAtMs: number;
  /** Resolves when a run has it. */
  readonly taken: PromiseWithResolvers<void>;
  isLoaded: boolean;
}

interface Kind<Place, Waiting> {
  place: Place;
  askedAtMs: number;
  readonly spares: Set<Spare<Waiting>>;
}

/**
 * Processes that have loaded everything and wait for a script: some of each kind that was asked for lately. Each is used
 * once, by one run, and replaced when a processor is free. A spare that dies or grows old is given back and replaced.
 *
 * LOADING: one at a time. A run may have it already: whatever it has loaded by then a new process would not. → READY. → taken,
 * by a run, from either; or dropped.
 */
export class Spares<Place, Waiting extends { readonly process: SandboxedProcess }> {
  readonly #options: SparesOptions<Place, Waiting>;
  readonly #kinds = new Map<string, Kind<Place, Waiting>>();
  #filling: Promise<void> | undefined;
  #isClosed = false;
  /** No spare is started before, on the clock of performance.now(). */
  #quietUntilMs = 0;
  #idleBefore: { idleMs: number; atMs: number } | undefined;

  constructor(options: SparesOptions<Place, Waiting>) {
    this.#options = options;
  }

  /** A spare for a place, if there is one; from then on it belongs to the caller. */
  take(place: Place): Waiting | undefined {
    const { spares } = this.#kind(place);
    // The oldest comes first: should one be loading still, it is the last.
    const [spare] = spares;
    if (spare) spares.delete(spare);
    spare?.taken.resolve();
    // A run that has all it needs is over soon: until then, or for as long as there is patience, it has the processors.
    if (spare?.isLoaded) this.#quietUntilMs = performance.now() + this.#options.patienceMs;
    this.want(place);
    return spare?.waiting;
  }

  /** A run is over: whoever starts what is missing need not wait for it. */
  runEnded(): void {
    this.#quietUntilMs = 0;
    this.fill();
  }

  /** Keeps spares for a place ready from now on, as far as there is room. */
  want(place: Place): void {
    const kind = this.#kind(place);
    kind.place = place;
    kind.askedAtMs = performance.now();
    this.fill();
  }

  /** Starts what is missing, one after the other, as processors become free. */
  fill(): void {
    if (this.#isClosed || this.#filling) return;
    this.#filling = this.#fill().finally(() => {
      this.#filling = undefined;
    });
  }

  /** Resolves when nothing is missing any more, or there is no room for what is. */
  async filled(): Promise<void> {
    await this.#filling;
  }

  /** Ends all spares. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#dropAll();
    await this.#filling;
    // One more may have been started meanwhile.
    this.#dropAll();
  }

  async #fill(): Promise<void> {
    for (;;) {
      this.#dropOld();
      if (!this.#missing()) return;
      const sinceMs = performance.now();
      while (!this.#isClosed && !this.#mayStart() && performance.now() - sinceMs < this.#options.patienceMs) {
        await new Promise((resolve) => setTimeout(resolve, lookMs));
      }
      // What is missed most may be another one by now.
      const kind = this.#missing();
      if (!kind || !this.#options.hasRoom()) return;
      const started = await this.#options.start(kind.place);
      if (!started) return;
      if (!(await this.#keep(kind, started))) return;
    }
  }

  /** @returns whether it has loaded, or a run has it. */
  async #keep(kind: Kind<Place, Waiting>, { waiting, loaded }: StartedSpare<Waiting>): Promise<boolean> {
    const spare: Spare<Waiting> = {
      waiting,
      startedAtMs: performance.now(),
      taken: Promise.withResolvers<void>(),
      isLoaded: false,
    };
    void loaded.then((isLoaded) => {
      spare.isLoaded = isLoaded;
    });
    kind.spares.add(spare);
    if (this.#isClosed) this.#drop(kind, spare);
    void waiting.process.ended.then(() => {
      // Nobody has taken it: it died, or had waited for as long as it may.
      if (!kind.spares.has(spare)) return;
      this.#drop(kind, spare);
      setTimeout(() => this.fill(), afterDeathMs).unref();
    });
    const isOfUse = await Promise.race([loaded, spare.taken.promise.then(() => true)]);
    if (!isOfUse && kind.spares.has(spare)) this.#drop(kind, spare);
    return isOfUse;
  }

  /** Of the kinds that lack spares the one that has the fewest, and of those the one asked for last. */
  #missing(): Kind<Place, Waiting> | undefined {
    if (this.#isClosed || this.#count >= this.#options.maxCount) return undefined;
    const nowMs = performance.now();
    return [...this.#kinds.values()]
      .filter(({ spares, askedAtMs }) => {
        return spares.size < this.#options.countPerKind && nowMs - askedAtMs < idleKindMs;
      })
      .sort((left, right) => left.spares.size - right.spares.size || right.askedAtMs - left.askedAtMs)[0];
  }

  get #count(): number {
    return [...this.#kinds.values()].reduce((sum, { spares }) => sum + spares.size, 0);
  }

  #dropOld(): void {
    const nowMs = performance.now();
    for (const kind of this.#kinds.values()) {
      for (const spare of kind.spares) {
        const isOld = nowMs - spare.startedAtMs > this.#options.maxAgeMs;
        const isUnwanted = nowMs - kind.askedAtMs > idleKindMs && this.#count >= this.#options.maxCount;
        if (isOld || isUnwanted) this.#drop(kind, spare);
      }
    }
  }

  #dropAll(): void {
    for (const kind of this.#kinds.values()) for (const spare of kind.spares) this.#drop(kind, spare);
  }

  #drop(kind: Kind<Place, Waiting>, spare: Spare<Waiting>): void {
    kind.spares.delete(spare);
    this.#options.release(spare.waiting);
  }

  #kind(place: Place): Kind<Place, Waiting> {
    const name = this.#options.kindOf(place);
    let kind = this.#kinds.get(name);
    if (!kind) {
      kind = { place, askedAtMs: performance.now(), spares: new Set() };
      this.#kinds.set(name, kind);
    }
    return kind;
  }

  #mayStart(): boolean {
    return performance.now() >= this.#quietUntilMs && this.#isProcessorFree();
  }

  #isProcessorFree(): boolean {
    const now = { idleMs: this.#options.idleMs(), atMs: performance.now() };
    const before = this.#idleBefore;
    this.#idleBefore = now;
    // Nothing to compare with: the next look tells. What has just taken a spare is at work now.
    if (!before || now.atMs - before.atMs > 10 * lookMs) return false;
    const elapsedMs = now.atMs - before.atMs;
    return elapsedMs > 0 && (now.idleMs - before.idleMs) / elapsedMs >= idlePart;
  }
}

export interface SparesOptions<Place, Waiting> {
  /** How many there may be at a time. */
  readonly maxCount: number;
  /** How many of one kind. */
  readonly countPerKind: number;
  /** After so long a spare is started on a busy host too, in milliseconds. */
  readonly patienceMs: number;
  /** After how long a spare is replaced by a fresh one, in milliseconds. */
  readonly maxAgeMs: number;
  /** Places with the same text can use each other's spares. */
  readonly kindOf: (place: Place) => string;
  /** Whether the host has memory for one more. */
  readonly hasRoom: () => boolean;
  /** For how long processors were idle since the host started, all together, in milliseconds. */
  readonly idleMs: () => number;
  /** Starts one; resolves with undefined when it could not be had. */
  readonly start: (place: Place) => Promise<StartedSpare<Waiting> | undefined>;
  readonly release: (waiting: Waiting) => void;
}
