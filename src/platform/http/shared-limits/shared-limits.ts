import { createHash } from 'node:crypto';
import type { Clock } from '@picket/lib/clock.ts';
import type { RateLimit, Route } from '@picket/protocol/http/route.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Store } from '../../store/store.ts';
import { answerLimit, callerNetwork } from '../limits.ts';

type SharedLimit = Pick<Route, 'operationId'> & { readonly rateLimit?: RateLimit | undefined };

/**
 * Limits attempts without a session, such as to log in or to have a mail sent. The database counts them: for all
 * service processes together, and across restarts. Each process counts limits that only spread load (limits.ts).
 */
export class SharedLimits {
  readonly #store: Pick<Store, 'spentLimits'>;
  readonly #clock: Clock;

  constructor(store: Pick<Store, 'spentLimits'>, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /**
   * Charges one attempt to the requesting address.
   *
   * @throws AppError RATE_LIMITED, with a Retry-After header.
   */
  async spend(limit: SharedLimit, { ip }: Pick<FastifyRequest, 'ip'>, reply: FastifyReply): Promise<void> {
    await this.spendOf(limit, `address ${callerNetwork(ip)}`, reply);
  }

  /**
   * Charges one attempt to a caller who is identified by other means.
   *
   * @throws AppError RATE_LIMITED
   */
  async spendOf({ operationId, rateLimit }: SharedLimit, who: string, reply: FastifyReply): Promise<void> {
    if (!rateLimit) throw new Error(`${operationId} has no limit`);
    const now = Math.round(this.#clock.wallMs());
    const windowMs = rateLimit.windowSeconds * 1000;
    const costMs = Math.ceil(windowMs / rateLimit.requests);
    const nameHash = createHash('sha256').update(`${operationId} ${who}`).digest('base64url');
    const taken = await this.#store.spentLimits.take(nameHash, { now, costMs, windowMs });
    const missingMs = Math.min(Math.max(0, taken.fullAt - now), windowMs);
    answerLimit(reply, rateLimit, now, {
      remaining: taken.isTaken ? Math.floor((windowMs - missingMs) / costMs) : 0,
      retryAfterSeconds: taken.isTaken ? null : Math.ceil((missingMs + costMs - windowMs) / 1000),
      fullInSeconds: missingMs / 1000,
    });
  }
}
