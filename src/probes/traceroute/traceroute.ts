import { answeringAddress } from '@picket/lib/wire/canonical-address.ts';
import type { IpFamily } from '../address.ts';
import type { TargetBudget } from './error-budget.ts';
import type { HopAnswer, HopProber } from './hop-prober.ts';

/** All routers at the same distance. */
export interface Hop {
  /** The distance: the time to live of the probes. */
  readonly ttl: number;
  readonly answers: readonly HopAnswer[];
}

/**
 * Why a traceroute ended. `reached`: the target responded. `unreachable`: a router reported that there is no route.
 * `silent`: several hops in a row did not answer. `unsent`: this host itself did not send.
 */
export type TracerouteEnd = 'reached' | 'unreachable' | 'silent' | 'hop-limit' | 'time-limit' | 'unsent';

export interface Route {
  readonly hops: readonly Hop[];
  readonly end: TracerouteEnd;
  /**
   * Distance of the target's address: the first hop from which it answered anything; null if it never did. A router
   * that owns the address and forwards the packets (DNAT, a load balancer) reports "time exceeded" from that address,
   * and the host behind it answers from further away.
   */
  readonly distance: number | null;
}

export interface TracerouteRequest {
  readonly address: string;
  readonly family: IpFamily;
  readonly maxHops?: number | undefined;
  readonly probesPerHop?: number | undefined;
  /** After this many silent hops in a row, no further hops are probed. */
  readonly maxSilentHops?: number | undefined;
  readonly replyTimeoutMs?: number | undefined;
}

export interface TracerouteControls {
  readonly prober: HopProber;
  /** Aborting ends the trace with the results so far. */
  readonly signal: AbortSignal;
  /** Limit for the whole trace, in milliseconds. */
  readonly timeoutMs: number;
}

export const defaultMaxHops = 30;
export const defaultProbesPerHop = 3;
const defaultMaxSilentHops = 6;
const defaultReplyTimeoutMs = 900;
/** The next hop is probed when this one has answered, or after this time: most hops answer sooner. */
const paceMs = 100;
/** Routers limit the errors they send; concurrent probes would show false loss. */
const intervalMs = 25;
/** Linux sends each peer six errors in a burst, and then one a second. */
const quickRounds = 4;
const slowRoundMs = 1000;

/**
 * Finds the routers on the route to an address: sends probes with a growing time to live; the router at that distance
 * answers. The first round goes from hop to hop until an answer marks the end; the others probe each known hop again.
 * Does not resolve names.
 *
 * @throws if the prober itself failed.
 */
export async function traceRoute(request: TracerouteRequest, controls: TracerouteControls): Promise<Route> {
  return await new Tracing(request, controls).run();
}

class Tracing {
  readonly #request: TracerouteRequest;
  readonly #prober: HopProber;
  readonly #budget: TargetBudget | undefined;
  readonly #stop: AbortSignal;
  readonly #stopped: Promise<void>;
  readonly #maxHops: number;
  readonly #maxSilentHops: number;
  /** Answers of each hop, starting at distance 1. */
  readonly #hops: HopAnswer[][] = [];
  /** Probes whose answers are pending. */
  readonly #open = new Set<Promise<void>>();
  /** The error of a failed prober, kept because its probe may not be awaited. */
  #broken: { readonly thrown: unknown } | undefined;

  constructor(request: TracerouteRequest, { prober, signal, timeoutMs }: TracerouteControls) {
    this.#request = request;
    this.#prober = prober;
    this.#budget = prober.budget?.of(request.address);
    this.#maxHops = request.maxHops ?? defaultMaxHops;
    this.#maxSilentHops = request.maxSilentHops ?? defaultMaxSilentHops;
    const limit = AbortSignal.timeout(Math.max(0, Math.floor(timeoutMs)));
    this.#stop = AbortSignal.any([signal, limit]);
    this.#stopped = new Promise((resolve) => {
      if (this.#stop.aborted) resolve();
      else this.#stop.addEventListener('abort', () => resolve(), { once: true });
    });
  }

  async run(): Promise<Route> {
    const endSearch = await this.#budget?.begin(this.#stopped);
    const found = await this.#findEnd().finally(() => endSearch?.(this.#distance()));
    if (found !== 'unsent') await this.#askAgain(found);
    if (this.#broken) throw this.#broken.thrown;
    return this.#route(found);
  }

  /** The first round: one probe for each hop, until one of them is the last. */
  async #findEnd(): Promise<TracerouteEnd> {
    for (let ttl = 1; ttl <= this.#maxHops; ttl += 1) {
      if (this.#stop.aborted) return 'time-limit';
      if (!(await this.#mayAsk(ttl, false))) continue;
      // The wait may have been long: check for an answer that arrived meanwhile.
      if (this.#finalHop() !== undefined) break;
      const answered = Promise.race([this.#ask(ttl), this.#pause(paceMs)]);
      await Promise.all([answered, this.#pause(intervalMs)]);
      if (this.#finalHop() !== undefined) break;
      if (this.#hops.at(-1)?.[0]?.kind === 'unsent') break;
      if (ttl - this.#lastHeard() < this.#maxSilentHops) continue;
      // Slow hops may still answer.
      await this.#settled();
      if (this.#finalHop() !== undefined || this.#stop.aborted) break;
      if (ttl - this.#lastHeard() >= this.#maxSilentHops) return 'silent';
    }
    await this.#settled();
    const final = this.#finalHop();
    if (final) return final.end;
    if (this.#hops.at(-1)?.[0]?.kind === 'unsent') return 'unsent';
    return this.#stop.aborted ? 'time-limit' : 'hop-limit';
  }

  /** The further rounds, over the known hops; after a silent end also the next one: its probe may have been lost. */
  async #askAgain(found: TracerouteEnd): Promise<void> {
    const isSilentEnd = found === 'silent' || found === 'hop-limit';
    const last = this.#finalHop()?.ttl ?? Math.min(this.#maxHops, this.#lastHeard() + (isSilentEnd ? 1 : 0));
    const rounds = this.#request.probesPerHop ?? defaultProbesPerHop;
    for (let round = 2; round <= rounds; round += 1) {
      const beganMs = performance.now();
      for (let ttl = 1; ttl <= last; ttl += 1) {
        if (this.#stop.aborted) return;
        if (!(await this.#mayAsk(ttl, true))) continue;
        void this.#ask(ttl);
        await this.#pause(intervalMs);
      }
      if (round >= quickRounds && round < rounds) {
        await this.#pause(slowRoundMs - (performance.now() - beganMs));
      }
    }
    await this.#settled();
  }

  /** Waits for budget if the probe reaches the target, which all traces to it share. */
  async #mayAsk(ttl: number, isExtra: boolean): Promise<boolean> {
    if (!this.#budget?.isReachedBy(ttl)) return true;
    return await this.#budget.take({ isExtra, stopped: this.#stopped });
  }

  #ask(ttl: number): Promise<void> {
    const isCounted = this.#budget?.isReachedBy(ttl) === true;
    const answers = this.#answersAt(ttl);
    const { address, family, replyTimeoutMs = defaultReplyTimeoutMs } = this.#request;
    const asked = this.#prober
      .probe({ address, family, ttl, replyTimeoutMs }, this.#stop)
      .then((answer) => {
        // An aborted probe has no result.
        if (answer) answers.push(answer);
        const isAnswered = answer?.kind === 'answer' && answer.error === null;
        if (isCounted && !isAnswered) this.#budget?.giveBack();
        if (!isCounted && isAnswered) this.#budget?.spend();
      })
      .catch((thrown: unknown) => {
        this.#broken ??= { thrown };
      })
      .finally(() => this.#open.delete(asked));
    this.#open.add(asked);
    return asked;
  }

  #answersAt(ttl: number): HopAnswer[] {
    const known = this.#hops[ttl - 1];
    if (known) return known;
    const answers: HopAnswer[] = [];
    this.#hops[ttl - 1] = answers;
    return answers;
  }

  async #settled(): Promise<void> {
    await Promise.all(this.#open);
  }

  async #pause(ms: number): Promise<void> {
    if (ms <= 0) return;
    let timer: NodeJS.Timeout | undefined;
    const over = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ms);
    });
    await Promise.race([over, this.#stopped]);
    clearTimeout(timer);
  }

  /**
   * Returns the first hop from which the target responded; otherwise the first that reported no route. If packets take
   * several paths, one of them may be closed.
   */
  #finalHop(): { readonly ttl: number; readonly end: 'reached' | 'unreachable' } | undefined {
    const { family } = this.#request;
    const reached = this.#firstHop(({ error }) => error === null);
    if (reached !== undefined) return { ttl: reached, end: 'reached' };
    const refused = this.#firstHop(({ error }) => error !== null && !isTimeExceeded(family, error.type));
    return refused === undefined ? undefined : { ttl: refused, end: 'unreachable' };
  }

  #firstHop(isWanted: (answer: Extract<HopAnswer, { kind: 'answer' }>) => boolean): number | undefined {
    const index = this.#hops.findIndex((answers) =>
      answers.some((answer) => answer.kind === 'answer' && isWanted(answer)),
    );
    return index < 0 ? undefined : index + 1;
  }

  /** The first hop from which the target itself answered. */
  #distance(): number | null {
    const final = this.#finalHop();
    return final?.end === 'reached' ? final.ttl : null;
  }

  /** Distance of the last hop that answered; 0 if none did. */
  #lastHeard(): number {
    return this.#hops.findLastIndex((answers) => answers.some(({ kind }) => kind === 'answer')) + 1;
  }

  #route(found: TracerouteEnd): Route {
    const final = this.#finalHop();
    const end = final?.end ?? found;
    // The trailing silent hops are omitted.
    const isSilentEnd = end === 'silent' || end === 'hop-limit';
    const count = final?.ttl ?? (isSilentEnd ? this.#lastHeard() : this.#hops.length);
    const hops = this.#hops.slice(0, count).map((answers, index) => ({ ttl: index + 1, answers }));
    const lastAsked = hops.findLastIndex(({ answers }) => answers.length > 0);
    const target = answeringAddress(this.#request.address);
    const isTarget = (answer: HopAnswer) => answer.kind === 'answer' && answer.address === target;
    const distance = hops.find(({ answers }) => answers.some(isTarget))?.ttl ?? null;
    return { hops: hops.slice(0, lastAsked + 1), end, distance };
  }
}

/** The error that every router on the route sends: RFC 792 type 11, RFC 4443 type 3. */
export function isTimeExceeded(family: IpFamily, type: number): boolean {
  return type === (family === 4 ? 11 : 3);
}
