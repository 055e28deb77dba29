import type { Lane } from '@picket/checks/contract/check-type.ts';
import type { Clock } from '@picket/lib/clock.ts';
import type { Logger } from '@picket/lib/log.ts';
import { LeasedRun, type LeaseRef } from '@picket/protocol/agent/agent.ts';
import { z } from 'zod';
import type { LeaseKeeper } from '../client/lease-keeper.ts';
import type { Answer, ClaimAnswer, ServiceClient } from '../client/service-client.ts';
import type { ServiceClock } from '../client/service-clock.ts';
import { ServiceError } from '../client/service-error.ts';
import type { claimedDescription } from './description.ts';
import type { Dispatcher, LeaseTerms } from './dispatcher.ts';

/** Leases of older ones have long expired. */
const maxLostClaims = 100;
/** An agent whose knowledge of the service's clock is no better than this asks again before runs begin. */
const maxClockErrorMs = 500;
const clockAnswerMs = 2000;

/**
 * What every lease must have for its run to be reported, whatever else this agent does not understand about
 * it.
 */
const LeaseIds = z.object({ runId: z.uuid(), leaseNumber: z.int().min(1), resultId: z.uuid() });
const LeaseType = z.object({ check: z.object({ checkType: z.string().max(64) }) });

/**
 * Single claims: asking for runs, and putting those of an answer into their lanes.
 *
 * LOST CLAIMS. Each claim has a number. One that failed may have leased runs anyway: its number is sent with
 * every later claim, until an answer shows that the service knows. The claim that a stop gives up is one, too.
 *
 * THE TIME. The times of runs are made of the service's clock, of which an answer that took long says too
 * little. Then it is asked for again before the first runs begin, once for each connection. The question is a
 * renewal of no leases: of all calls whose answers carry the time the one that costs least and changes
 * nothing.
 */
export class Claims {
  readonly #options: ClaimsOptions;
  #claimCount = 0;
  readonly #lostClaims = new Set<number>();
  #hasRefreshedClock = false;
  #lastClaimAtMs: number | undefined;

  constructor(options: ClaimsOptions) {
    this.#options = options;
  }

  /** Monotonic time of the last good answer. */
  get lastClaimAtMs(): number | undefined {
    return this.#lastClaimAtMs;
  }

  /** @throws ServiceError */
  async claim(
    freeSlots: Record<Lane, number>,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<Answer<ClaimAnswer>> {
    const { client, clock, description, dispatcher } = this.#options;
    const claimNumber = ++this.#claimCount;
    const lostClaims = [...this.#lostClaims];
    const fullCheckTypes = dispatcher.fullTypes();
    try {
      const answer = await client.claim(
        { ...description(), freeSlots, fullCheckTypes, waitMs, claimNumber, lostClaims },
        signal,
      );
      for (const number of lostClaims) this.#lostClaims.delete(number);
      this.#lastClaimAtMs = clock.monotonicMs();
      return answer;
    } catch (thrown) {
      const isAnswerLost =
        thrown instanceof ServiceError && (thrown.kind === 'unreachable' || thrown.kind === 'stopped');
      if (isAnswerLost) this.#lostClaims.add(claimNumber);
      const [oldest] = this.#lostClaims;
      if (oldest !== undefined && this.#lostClaims.size > maxLostClaims) this.#lostClaims.delete(oldest);
      throw thrown;
    }
  }

  /** Tells the service, in a claim that asks for nothing, of claims whose leases nobody holds. */
  async tellLost(timeoutMs: number): Promise<void> {
    if (this.#lostClaims.size === 0) return;
    try {
      await this.claim({ probe: 0, script: 0 }, 0, AbortSignal.timeout(timeoutMs));
    } catch (thrown) {
      if (!(thrown instanceof ServiceError)) throw thrown;
      this.#options.log.debug(
        { code: thrown.code },
        'failed to return leases of lost responses; they will expire',
      );
    }
  }

  /** The connection is lost: the next one begins with what the clock is worth then. */
  disconnected(): void {
    this.#hasRefreshedClock = false;
  }

  /** Asks for the time where it is known badly. Whatever comes of this, the runs that wait for it are run. */
  async refreshClock(): Promise<void> {
    const { client, serviceClock, log } = this.#options;
    if (this.#hasRefreshedClock || serviceClock.errorMs <= maxClockErrorMs) return;
    this.#hasRefreshedClock = true;
    try {
      await client.renew([], clockAnswerMs);
    } catch (thrown) {
      if (!(thrown instanceof ServiceError)) throw thrown;
      log.debug({ code: thrown.code }, 'failed to refresh the service clock');
    }
  }

  /**
   * Puts the runs of an answer into their lanes. Synchronous: nothing can happen in between.
   *
   * @param isStopping leases are returned, to be given back, instead.
   */
  accept(answer: Answer<ClaimAnswer>, isStopping: boolean): LeaseRef[] {
    const { dispatcher, leaseKeeper } = this.#options;
    const terms: LeaseTerms = {
      ttlMs: answer.body.leaseTtlMs,
      expiresAtMs: leaseKeeper.expiryOf(answer),
      receivedAtMs: answer.receivedAtMs,
    };
    const unwanted: LeaseRef[] = [];
    dispatcher.cancel(answer.body.cancelledRunIds);
    for (const raw of answer.body.runs) {
      const run = LeasedRun.safeParse(raw);
      const lease = run.success ? run.data : LeaseIds.safeParse(raw).data;
      if (!lease) {
        this.#options.log.error('leased run without usable ids ignored; its lease will expire');
      } else if (isStopping) {
        unwanted.push({ runId: lease.runId, leaseNumber: lease.leaseNumber });
      } else if (run.success) {
        dispatcher.accept(run.data, terms);
      } else {
        dispatcher.refuse(lease, terms, notUnderstood(raw, run.error));
      }
    }
    return unwanted;
  }
}

function notUnderstood(raw: unknown, error: z.ZodError): { checkType: string; message: string } {
  const paths = error.issues.slice(0, 5).map(({ path }) => path.join('.'));
  return {
    checkType: LeaseType.safeParse(raw).data?.check.checkType ?? 'unknown',
    message: `This agent does not understand the run at ${paths.join(', ')}. Upgrade the agent.`,
  };
}

export interface ClaimsOptions {
  readonly client: ServiceClient;
  readonly dispatcher: Dispatcher;
  readonly leaseKeeper: LeaseKeeper;
  readonly clock: Clock;
  readonly serviceClock: ServiceClock;
  readonly log: Logger;
  /** What the agent says about itself in each claim. */
  readonly description: () => ReturnType<typeof claimedDescription> & { readonly droppedResults: number };
}
