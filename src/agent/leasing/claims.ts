import type { Lane } from '@picket/checks/contract/check-type.ts';
import type { Clock } from '@picket/lib/clock.ts';
import type { Logger } from '@picket/lib/log.ts';
import type { ClaimRequest, LeaseRef } from '@picket/protocol/agent/agent.ts';
import { longestAheadMs } from '@picket/protocol/agent/lane-slots.ts';
import { z } from 'zod';
import type { LeaseKeeper } from '../client/lease-keeper.ts';
import type { Answer, ClaimAnswer, ServiceClient } from '../client/service-client.ts';
import type { ServiceClock } from '../client/service-clock.ts';
import { ServiceError } from '../client/service-error.ts';
import type { ConditionMeter } from './condition.ts';
import type { claimedDescription } from './description.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { LeaseTerms } from './lease-terms.ts';
import type { LocationSettings } from './location-settings.ts';
import { RunReader } from './run-reader.ts';

/** Slots that a claim offers. */
export interface ClaimedSlots {
  readonly freeSlots: Readonly<Record<Lane, number>>;
  readonly aheadSlots: Readonly<Record<Lane, number>>;
}

export const noSlots: Readonly<Record<Lane, number>> = { probe: 0, script: 0 };

/** Leases of older claims expired long ago. */
const maxLostClaims = 100;
/** If the service's clock is known less accurately than this, the agent refreshes its estimate before runs begin. */
const maxClockErrorMs = 500;
const clockAnswerMs = 2000;

/** Fields that a lease must have for its run to be reported, even if this agent does not understand the rest. */
const LeaseIds = z.object({ runId: z.uuid(), leaseNumber: z.int().min(1), resultId: z.uuid() });
const LeaseType = z.object({ check: z.object({ checkType: z.string().max(64) }) });

/**
 * Single claims: requests runs, and puts those of a response into their lanes.
 *
 * LOST CLAIMS. Each claim has a number. A failed claim may have leased runs anyway: its number is sent with every later
 * claim, until a response shows that the service knows. A claim aborted by a stop counts as one, too.
 *
 * THE TIME. The times of runs use the service's clock, and a slow response says too little about it. The agent then
 * refreshes its estimate before the first runs begin, once per connection, by renewing no leases: of all calls whose
 * responses carry the time, this is the cheapest and changes nothing.
 */
export class Claims {
  readonly #options: ClaimsOptions;
  #claimCount = 0;
  readonly #reader = new RunReader();
  readonly #lostClaims = new Set<number>();
  #hasRefreshedClock = false;
  #lastClaimAtMs: number | undefined;

  constructor(options: ClaimsOptions) {
    this.#options = options;
  }

  /** Monotonic time of the last successful response. */
  get lastClaimAtMs(): number | undefined {
    return this.#lastClaimAtMs;
  }

  /**
   * @param slots of each lane: for runs that are due, and for runs that become due within two seconds.
   * @throws ServiceError
   */
  async claim(
    { freeSlots, aheadSlots }: ClaimedSlots,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<Answer<ClaimAnswer>> {
    const { client, clock, description, dispatcher, settings } = this.#options;
    const claimNumber = ++this.#claimCount;
    const lostClaims = [...this.#lostClaims];
    const fullCheckTypes = dispatcher.fullTypes();
    try {
      const answer = await client.claim(
        {
          ...{ ...description(), freeSlots, fullCheckTypes, waitMs, claimNumber, lostClaims },
          ...{ aheadMs: longestAheadMs, aheadSlots },
        },
        signal,
      );
      for (const number of lostClaims) this.#lostClaims.delete(number);
      this.#lastClaimAtMs = clock.monotonicMs();
      settings.apply(answer.body.settings);
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

  /** Reports claims whose leases no agent holds, in a claim that requests no runs. */
  async tellLost(timeoutMs: number): Promise<void> {
    if (this.#lostClaims.size === 0) return;
    try {
      await this.claim({ freeSlots: noSlots, aheadSlots: noSlots }, 0, AbortSignal.timeout(timeoutMs));
    } catch (thrown) {
      if (!(thrown instanceof ServiceError)) throw thrown;
      this.#options.log.debug(
        { code: thrown.code },
        'failed to return leases of lost responses; they will expire',
      );
    }
  }

  /** Called when the connection is lost: the next one checks the accuracy of the clock again. */
  disconnected(): void {
    this.#hasRefreshedClock = false;
  }

  /** Refreshes an inaccurate estimate of the time. The waiting runs start even if that fails. */
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
   * Puts the runs of a response into their lanes. Synchronous, so that no other event intervenes.
   *
   * @param isStopping the leases are returned, to be given back, instead.
   */
  accept(answer: Answer<ClaimAnswer>, isStopping: boolean): LeaseRef[] {
    const { dispatcher, leaseKeeper } = this.#options;
    const terms: LeaseTerms = {
      ttlMs: answer.body.leaseTtlMs,
      expiresAtMs: leaseKeeper.expiryOf(answer),
      receivedAtMs: answer.receivedAtMs,
      serverTimeMs: answer.body.serverTime,
    };
    const unwanted: LeaseRef[] = [];
    dispatcher.cancel(answer.body.cancelledRunIds);
    for (const raw of answer.body.runs) {
      const run = this.#reader.read(raw);
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
    this.#options.onFollowed(answer.body.followedRunIds);
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
  readonly settings: LocationSettings;
  readonly client: ServiceClient;
  readonly dispatcher: Dispatcher;
  readonly leaseKeeper: LeaseKeeper;
  readonly clock: Clock;
  readonly serviceClock: ServiceClock;
  readonly log: Logger;
  /** Called with the runs of a response whose log someone reads. */
  readonly onFollowed: (runIds: readonly string[]) => void;
  /** How the agent describes itself in each claim. */
  readonly description: () => ReturnType<typeof claimedDescription> & {
    readonly droppedResults: number;
    readonly condition: ReturnType<ConditionMeter['read']>;
    readonly trustedKeys: ClaimRequest['trustedKeys'];
  };
}
