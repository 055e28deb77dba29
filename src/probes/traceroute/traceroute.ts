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
 * Why a traceroute ended. `reached`: the target responded. `unreachable`: somebody on the way said that there
 * is no way on. `silent`: nobody answered for a number of hops. `unsent`: this host itself did not send.
 */
export type TracerouteEnd = 'reached' | 'unreachable' | 'silent' | 'hop-limit' | 'time-limit' | 'unsent';

export interface Route {
  readonly hops: readonly Hop[];
  readonly end: TracerouteEnd;
  /**
   * How far the address of the target is: the first hop from which it answered anything; null when it never did. A
   * router that has the address and forwards the packets (DNAT, a load balancer) says in its name that their time is
   * over, and the host behind it answers from further away.
   */
  readonly distance: number | null;
}

export interface TracerouteRequest {
  readonly address: string;
  readonly family: IpFamily;
  readonly maxHops?: number | undefined;
  readonly probesPerHop?: number | undefined;
  /** After this many hops in a row without an answer, those behind them are not asked any more. */
  readonly maxSilentHops?: number | undefined;
  readonly replyTimeoutMs?: number | undefined;
}

export interface TracerouteControls {
  readonly prober: HopProber;
  /** Aborting ends it with what is known by then. */
  readonly signal: AbortSignal;
  /** Limit for all of it, in milliseconds. */
  readonly timeoutMs: number;
}

export const defaultMaxHops = 30;
export const defaultProbesPerHop = 3;
const defaultMaxSilentHops = 6;
const defaultReplyTimeoutMs = 900;
/** The next hop is asked when this one has answered, or after this time: most answer sooner. */
const paceMs = 100;
/** Routers limit how many errors they send; probes at once would show loss where there is none. */
const intervalMs = 25;
/** Linux sends each peer six errors at once, and then one a second. */
const quickRounds = 4;
const slowRoundMs = 1000;

/**
 * Finds the routers on the way to an address: probes with a growing time to live, which each router on the way
 * answers in its turn. The first round goes from hop to hop until somebody says that this is the end; the others
 * ask each hop that is known by then once more. Looks no names up.
 *
 * @throws when the prober itself broke.
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
  /** What is known of each hop, that of distance 1 first. */
  readonly #hops: HopAnswer[][] = [];
  /** Probes whose answers are still awaited. */
  readonly #open = new Set<Promise<void>>();
  /** What a prober that broke threw: nobody may be waiting for its probe. */
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
      // Its turn came late: an answer may have come meanwhile.
      if (this.#finalHop() !== undefined) break;
      const answered = Promise.race([this.#ask(ttl), this.#pause(paceMs)]);
      await Promise.all([answered, this.#pause(intervalMs)]);
      if (this.#finalHop() !== undefined) break;
      if (this.#hops.at(-1)?.[0]?.kind === 'unsent') break;
      if (ttl - this.#lastHeard() < this.#maxSilentHops) continue;
      // The slow ones may still answer.
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

  /** The further rounds, over the hops that are known. Behind the last of them one is asked too: it may have lost its probe. */
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

  /** Waits for the turn of a probe that reaches the target, and is one of several traces' probes there. */
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
        // What was not asked to the end says nothing.
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
   * The first hop from which the target responded; without one, the first from which somebody said that there is no
   * way on. Where packets take several ways, one of them may be closed.
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

  /** The distance of the last hop that somebody answered from; 0 when nobody did. */
  #lastHeard(): number {
    return this.#hops.findLastIndex((answers) => answers.some(({ kind }) => kind === 'answer')) + 1;
  }

  #route(found: TracerouteEnd): Route {
    const final = this.#finalHop();
    const end = final?.end ?? found;
    // Of the silence at the end nothing can be said.
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

/** The answer that every router on the way gives: RFC 792 type 11, RFC 4443 type 3. */
export function isTimeExceeded(family: IpFamily, type: number): boolean {
  return type === (family === 4 ? 11 : 3);
}
