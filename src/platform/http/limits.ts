import type { Clock } from '@picket/lib/clock.ts';
import { AppError } from '@picket/lib/errors.ts';
import { LruMap } from '@picket/lib/lru.ts';
import { isIpv6, parseAddress } from '@picket/probes/egress/address.ts';
import type { RateLimit, Route } from '@picket/protocol/http/route.ts';
import type { FastifyRequest } from 'fastify';
import type { Reply } from '../feature/exchange.ts';

type LimitedRoute = Pick<Route, 'operationId' | 'rateLimit' | 'limitedBy'>;
type Headers = Pick<Reply, 'header'>;
type Buckets = LruMap<string, { fullAtMs: number }>;

/** Callers that are remembered; the one that was silent for longest is forgotten first. */
const callersRemembered = 50_000;

/**
 * How much each caller may ask: an API key of its operations, an address of public pages, each of them by itself; a
 * ping URL of its pings, wherever they come from. Agents are not limited: what they ask follows from the checks they
 * run.
 *
 * Each limit is a bucket that holds `requests` and fills evenly, from empty to full in `windowSeconds`. Only
 * one number is kept: when it will be full again (the generic cell rate algorithm of ITU-T I.371). A request
 * that finds it empty costs nothing. Operations without a limit of their own share one bucket per caller.
 * Each process counts by itself: these limits spread load. What keeps guessers out is counted by all of them together
 * (shared-limits/).
 */
export class RateLimits {
  readonly #clock: Clock;
  readonly #general: RateLimit;
  readonly #buckets = new LruMap<string, { fullAtMs: number }>(callersRemembered);
  /** Of names that callers may make up: however many they are, no other caller is forgotten for them. */
  readonly #named = new LruMap<string, { fullAtMs: number }>(callersRemembered);

  constructor(clock: Clock, requestsPerMinute: number) {
    this.#clock = clock;
    this.#general = { requests: requestsPerMinute, windowSeconds: 60 };
  }

  /**
   * Takes one request from the caller's bucket and says in headers what is left.
   *
   * @throws AppError RATE_LIMITED, with a Retry-After header, when the bucket is empty.
   */
  spend(
    route: LimitedRoute,
    { caller, ip, params }: Pick<FastifyRequest, 'caller' | 'ip'> & { readonly params?: unknown },
    reply: Headers,
  ): void {
    if (caller.kind === 'location') return;
    const named = route.limitedBy === undefined ? undefined : namedIn(params, route.limitedBy);
    if (caller.kind === 'account') this.spendOf(route, `caller ${caller.account.actor.id}`, reply);
    else if (named === undefined) this.spendOf(route, `address ${callerNetwork(ip)}`, reply);
    else this.#spend(this.#named, route, `${route.limitedBy} ${named}`, reply);
  }

  /**
   * Takes a request that found nothing from the bucket of its address: so names are not tried out.
   *
   * @throws AppError RATE_LIMITED
   */
  spendUnknown(route: LimitedRoute, { ip }: Pick<FastifyRequest, 'ip'>, reply: Headers): void {
    this.#spend(this.#buckets, route, `unknown of address ${callerNetwork(ip)}`, reply);
  }

  /**
   * The same for somebody who is known otherwise.
   *
   * @throws AppError RATE_LIMITED
   */
  spendOf(route: LimitedRoute, who: string, reply: Headers): void {
    this.#spend(this.#buckets, route, who, reply);
  }

  #spend(buckets: Buckets, route: LimitedRoute, who: string, reply: Headers): void {
    const limit = route.rateLimit ?? this.#general;
    const bucketName = `${route.rateLimit ? route.operationId : '*'} ${who}`;
    answerLimit(reply, limit, this.#clock.wallMs(), this.#take(buckets, bucketName, limit));
  }

  #take(buckets: Buckets, name: string, { requests, windowSeconds }: RateLimit): Taken {
    const nowMs = this.#clock.monotonicMs();
    const windowMs = windowSeconds * 1000;
    const costMs = windowMs / requests;
    const bucket = buckets.getOrMake(name, () => ({ fullAtMs: nowMs }));
    const missingMs = Math.max(0, bucket.fullAtMs - nowMs);
    const overdrawnMs = missingMs + costMs - windowMs;
    // Sums of fractions: a thousandth of a millisecond is no request.
    if (overdrawnMs > 1e-3) {
      return {
        remaining: 0,
        retryAfterSeconds: Math.ceil(overdrawnMs / 1000),
        fullInSeconds: missingMs / 1000,
      };
    }
    bucket.fullAtMs = nowMs + missingMs + costMs;
    return {
      remaining: Math.floor((windowMs - missingMs - costMs) / costMs + 1e-6),
      retryAfterSeconds: null,
      fullInSeconds: (missingMs + costMs) / 1000,
    };
  }
}

/** What became of a request that needed some of an allowance. */
interface Taken {
  readonly remaining: number;
  /** Null where it was enough. */
  readonly retryAfterSeconds: number | null;
  readonly fullInSeconds: number;
}

/**
 * Says in headers what is left of an allowance.
 *
 * @throws AppError RATE_LIMITED, with a Retry-After header, where it was not enough.
 */
export function answerLimit(
  reply: Headers,
  limit: RateLimit,
  nowMs: number,
  { remaining, retryAfterSeconds, fullInSeconds }: Taken,
): void {
  reply.header('x-ratelimit-limit', String(limit.requests));
  reply.header('x-ratelimit-remaining', String(remaining));
  reply.header('x-ratelimit-reset', String(Math.ceil(nowMs / 1000 + fullInSeconds)));
  if (retryAfterSeconds === null) return;
  reply.header('retry-after', String(retryAfterSeconds));
  throw new AppError(
    'RATE_LIMITED',
    `Too many requests: ${limit.requests} in ${limit.windowSeconds} seconds are allowed here. Try again in ${retryAfterSeconds} seconds.`,
    { attributes: { limit: limit.requests, windowSeconds: limit.windowSeconds, retryAfterSeconds } },
  );
}

/**
 * What of an address is one caller's: an IPv6 network of 64 bits, the smallest that anyone is given (RFC 6177). An IPv4
 * address counts by itself, also where the socket spells it as IPv6.
 */
export function callerNetwork(ip: string): string {
  const address = parseAddress(ip);
  if (!address) return ip;
  if (!isIpv6(address)) return address.toString();
  if (address.isIPv4MappedAddress()) return address.toIPv4Address().toString();
  const network = address.parts.slice(0, 4).map((part) => part.toString(16));
  return `${network.join(':')}::/64`;
}

function namedIn(params: unknown, name: string): string {
  return String((params as Readonly<Record<string, unknown>> | undefined)?.[name] ?? '').toLowerCase();
}
