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

/** Number of callers remembered; the least recently seen is forgotten first. */
const callersRemembered = 50_000;

/**
 * Request limits per caller: operations by API key, public pages by address, each of them separately; pings by their
 * URL, regardless of origin. Agents are not limited: their requests follow from the checks they run.
 *
 * Each limit is a bucket that holds `requests` and fills evenly, from empty to full in `windowSeconds`. Only one number
 * is kept: when it will be full again (the generic cell rate algorithm of ITU-T I.371). A request that finds it empty
 * costs nothing. Operations without a limit of their own share one bucket per caller. Each process counts separately:
 * these limits spread load. Limits against guessing are counted by all processes together (shared-limits/).
 */
export class RateLimits {
  readonly #clock: Clock;
  readonly #general: RateLimit;
  readonly #buckets = new LruMap<string, { fullAtMs: number }>(callersRemembered);
  /** Buckets under names that callers can invent; a separate map, so that they evict no other caller. */
  readonly #named = new LruMap<string, { fullAtMs: number }>(callersRemembered);

  constructor(clock: Clock, requestsPerMinute: number) {
    this.#clock = clock;
    this.#general = { requests: requestsPerMinute, windowSeconds: 60 };
  }

  /**
   * Takes one request from the caller's bucket and reports the remainder in headers.
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
   * Charges a request for an unknown name to the bucket of its address, against guessing of names.
   *
   * @throws AppError RATE_LIMITED
   */
  spendUnknown(route: LimitedRoute, { ip }: Pick<FastifyRequest, 'ip'>, reply: Headers): void {
    this.#spend(this.#buckets, route, `unknown of address ${callerNetwork(ip)}`, reply);
  }

  /**
   * Charges a caller who is identified by other means.
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
    // Sums of fractions: a thousandth of a millisecond is not a request.
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

/** Outcome of a request for part of an allowance. */
interface Taken {
  readonly remaining: number;
  /** Null if the allowance sufficed. */
  readonly retryAfterSeconds: number | null;
  readonly fullInSeconds: number;
}

/**
 * Reports the remainder of an allowance in headers.
 *
 * @throws AppError RATE_LIMITED, with a Retry-After header, if it did not suffice.
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
 * Returns the part of an address that identifies a caller: an IPv6 network of 64 bits, the smallest one assigned (RFC
 * 6177). An IPv4 address counts by itself, also where the socket spells it as IPv6.
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
