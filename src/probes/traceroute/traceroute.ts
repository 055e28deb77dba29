import type { IpFamily } from '../address.ts';
import type { EchoAnswer } from '../echo/answers.ts';
import type { IcmpBackend } from '../echo/backend.ts';

/** What became of one echo request of a hop. */
export type HopAnswer =
  /** `error` is the ICMP error of a router that is on the way; null when the target itself answered. */
  | {
      readonly kind: 'answer';
      readonly address: string | null;
      readonly rttMs: number | null;
      readonly error: { readonly type: number; readonly code: number } | null;
    }
  | { readonly kind: 'silence' }
  /** This host did not send it. */
  | { readonly kind: 'unsent'; readonly errno: string };

/** All routers at the same distance. */
export interface Hop {
  /** The distance: the time to live of the requests. */
  readonly ttl: number;
  readonly answers: readonly HopAnswer[];
}

/**
 * Why a traceroute ended. `reached`: the target answered. `unreachable`: somebody on the way said that there
 * is no way on. `silent`: nobody answered for a number of hops. `unsent`: this host itself did not send.
 */
export type TracerouteEnd = 'reached' | 'unreachable' | 'silent' | 'hop-limit' | 'time-limit' | 'unsent';

export interface Route {
  readonly hops: readonly Hop[];
  readonly end: TracerouteEnd;
}

export interface TracerouteRequest {
  readonly address: string;
  readonly family: IpFamily;
}

export interface TracerouteControls {
  readonly backend: IcmpBackend;
  /** Aborting ends it with what is known by then. */
  readonly signal: AbortSignal;
  /** Limit for all of it, in milliseconds. */
  readonly timeoutMs: number;
}

export const maxHops = 30;
export const probesPerHop = 3;
/** Hops that are asked at a time. */
const windowHops = 6;
/** After this many hops in a row without an answer, those behind them will not answer either. */
const maxSilentHops = 6;
/** Routers limit how many errors they send; requests at once would show loss where there is none. */
const intervalMs = 25;
const replyTimeoutMs = 900;
const dataBytes = 32;

/**
 * Finds the routers on the way to an address: echo requests with a growing time to live, which each router on
 * the way answers in its turn. Looks no names up and needs no privilege where the backend needs none.
 */
export async function traceRoute(
  { address, family }: TracerouteRequest,
  { backend, signal, timeoutMs }: TracerouteControls,
): Promise<Route> {
  const stop = AbortSignal.any([signal, AbortSignal.timeout(Math.max(0, Math.floor(timeoutMs)))]);
  const hops: Hop[] = [];
  for (let first = 1; first <= maxHops; first += windowHops) {
    const count = Math.min(windowHops, maxHops - first + 1);
    const found = await Promise.all(
      Array.from({ length: count }, async (_, index) => {
        const ttl = first + index;
        const train = { address, family, count: probesPerHop, intervalMs, replyTimeoutMs, dataBytes, ttl };
        const answers = await backend.ping(train, stop);
        return { ttl, answers: answers.map((answer) => hopAnswer(answer, address)) };
      }),
    );
    for (const hop of found) {
      // What was not asked to the end says nothing.
      if (stop.aborted && hop.answers.length === 0) return { hops, end: 'time-limit' };
      hops.push(hop);
      const end = endAt(hops, family);
      if (end) return { hops: end === 'silent' ? hops.slice(0, lastHeard(hops) + 1) : hops, end };
    }
    if (stop.aborted) return { hops, end: 'time-limit' };
  }
  return { hops, end: 'hop-limit' };
}

function hopAnswer(answer: EchoAnswer, address: string): HopAnswer {
  switch (answer.kind) {
    case 'reply':
      return { kind: 'answer', address, rttMs: answer.rttMs, error: null };
    case 'error': {
      const { type, code, from, rttMs } = answer;
      return { kind: 'answer', address: from, rttMs, error: { type, code } };
    }
    case 'silence':
      return { kind: 'silence' };
    case 'unsent':
      return { kind: 'unsent', errno: answer.errno };
  }
}

/** Why nothing is to be asked behind the last of these hops; undefined when there is. */
function endAt(hops: readonly Hop[], family: IpFamily): TracerouteEnd | undefined {
  const answers = hops.at(-1)?.answers ?? [];
  const heard = answers.filter((answer) => answer.kind === 'answer');
  if (heard.some(({ error }) => error === null)) return 'reached';
  if (heard.some(({ error }) => error !== null && !isTimeExceeded(family, error.type))) return 'unreachable';
  if (answers.length > 0 && answers.every(({ kind }) => kind === 'unsent')) return 'unsent';
  return hops.length - 1 - lastHeard(hops) >= maxSilentHops ? 'silent' : undefined;
}

/** Index of the last hop that somebody answered from; -1 when nobody did. */
function lastHeard(hops: readonly Hop[]): number {
  return hops.findLastIndex(({ answers }) => answers.some(({ kind }) => kind === 'answer'));
}

/** The answer that every router on the way gives: RFC 792 type 11, RFC 4443 type 3. */
export function isTimeExceeded(family: IpFamily, type: number): boolean {
  return type === (family === 4 ? 11 : 3);
}
