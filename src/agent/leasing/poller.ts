import { z } from 'zod';
import { type Lane, lanes } from '../../checks/contract/check-type.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { LeasedRun, type LeaseRef } from '../../protocol/agent/agent.ts';
import type { LeaseKeeper } from '../client/lease-keeper.ts';
import type { Answer, ClaimAnswer, ServiceClient } from '../client/service-client.ts';
import type { ServiceClock } from '../client/service-clock.ts';
import { retryDelayMs, ServiceError } from '../client/service-error.ts';
import type { Dispatcher, LeaseTerms } from './dispatcher.ts';

const longPollMs = 25_000;
const settlingPollMs = 1000;
/** After a full lane got a free slot, others follow soon; claims for one slot each would cost more than they bring. */
const slotGatherMs = 20;
/** An empty answer that came much too early must not make the agent ask again without a pause. */
const hastyPauseMs = 1000;

/** Who knows the service's clock no better than this asks again before runs begin. */
const maxClockErrorMs = 500;
const clockAnswerMs = 2000;

/** Leases of older ones have long run out. */
const maxLostClaims = 100;
const noSlots: Readonly<Record<Lane, number>> = { probe: 0, script: 0 };

/** Why a claim under way is given up: a lane that it asked nothing for has room now, and nothing to do. */
const outdated = new DOMException('a full lane has room again', 'AbortError');

/** What every lease must have for its run to be reported, whatever else this agent does not understand about it. */
const LeaseIds = z.object({ runId: z.uuid(), leaseNumber: z.int().min(1), resultId: z.uuid() });
const LeaseType = z.object({ check: z.object({ checkType: z.string().max(64) }) });

export interface PollerStatus {
  /** Whether the last claim succeeded. */
  readonly isConnected: boolean;
  /** Why not, in words for an operator. */
  readonly problem: string;
  /** Monotonic time of the last good answer. */
  readonly lastClaimAtMs: number | undefined;
  readonly failedClaims: number;
}

/**
 * Asks the service for work, one claim at a time.
 *
 * CLAIMING: a long poll with the free slots of each lane is under way. → CLAIMING again as soon as the answer's runs are
 * in their lanes. → WAITING_FOR_SLOT when no lane has room; a finished run wakes it, and after a short time to let more
 * slots gather it is CLAIMING. A lane that was full when the claim under way was sent, and has room now, gets a second,
 * short claim of its own beside that one, and another whenever more slots have gathered. Once such a claim brings
 * nothing, the long one under way is given up for another that asks for all lanes; so it is at once when a check type that
 * it leaves out has room again. → BACKING_OFF when a claim failed;
 * `retryDelayMs` says for how long. A refusal of any other call (`interrupt`) ends the claim under way and backs off as
 * well. → STOPPED from any state by `stop`: the claim under way is given up, and leases in an answer that had already come
 * are given back unstarted.
 */
export class Poller {
  readonly #options: PollerOptions;
  readonly #stop = new AbortController();
  #claimStop = new AbortController();
  #hasAskedTheTime = false;
  /** Lanes that the claim under way asks nothing for. */
  #fullLanes: readonly Lane[] = [];
  /** Check types that the claim under way leaves out, because the host has no room for them. */
  #fullTypes: readonly string[] = [];
  #topUp: Promise<void> | undefined;
  #claimCount = 0;
  /** Numbers of claims whose answers never came, until an answer to a later one shows that the service knows. */
  readonly #lostClaims = new Set<number>();
  #slotFree: PromiseWithResolvers<void> | undefined;
  #isConnected = false;
  #problem = 'starting: no claim was answered yet';
  #lastClaimAtMs: number | undefined;
  #failedClaims = 0;
  #failedAttempts = 0;
  #loop: Promise<void> | undefined;

  constructor(options: PollerOptions) {
    this.#options = options;
  }

  get status(): PollerStatus {
    return {
      isConnected: this.#isConnected,
      problem: this.#problem,
      lastClaimAtMs: this.#lastClaimAtMs,
      failedClaims: this.#failedClaims,
    };
  }

  start(): void {
    this.#loop ??= this.#poll();
  }

  /** Tells that a lane may have room again. */
  slotFreed(): void {
    this.#slotFree?.resolve();
    if (this.#lanesToTopUp().length > 0) this.#topUp ??= this.#topUpLanes();
    // A second claim would have the lane filled twice: the one under way asks for its other types.
    if (this.#hasTypeWithRoom()) this.#claimStop.abort(outdated);
  }

  /** Ends the claim under way, because another call learnt that the key is refused. */
  interrupt(): void {
    this.#claimStop.abort();
  }

  /** Claims nothing more. Resolves when the claim under way has ended. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#claimStop.abort();
    this.#slotFree?.resolve();
    await Promise.all([this.#loop, this.#topUp]);
  }

  async #poll(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      if (!this.#hasFreeSlot()) {
        await this.#waitForSlot();
        continue;
      }
      const pauseMs = await this.#claimOnce();
      if (pauseMs > 0) await this.#options.clock.sleep(pauseMs, signal);
    }
  }

  #hasFreeSlot(): boolean {
    return Object.values(this.#options.dispatcher.freeSlots()).some((count) => count > 0);
  }

  /** Lanes with room that the claim under way asks nothing for. */
  #lanesToTopUp(): Lane[] {
    const free = this.#options.dispatcher.freeSlots();
    return this.#fullLanes.filter((lane) => free[lane] > 0);
  }

  #hasTypeWithRoom(): boolean {
    if (this.#fullTypes.length === 0) return false;
    const full = this.#options.dispatcher.fullTypes();
    return this.#fullTypes.some((name) => !full.includes(name));
  }

  /** Fills lanes that the claim under way leaves out, for as long as there is work for them. */
  async #topUpLanes(): Promise<void> {
    const { clock, dispatcher } = this.#options;
    const { signal } = this.#stop;
    try {
      while (true) {
        await clock.sleep(slotGatherMs, signal);
        const wanted = this.#lanesToTopUp();
        if (signal.aborted || wanted.length === 0) return;
        const free = dispatcher.freeSlots();
        const freeSlots = { ...noSlots };
        for (const lane of wanted) freeSlots[lane] = free[lane];
        const answer = await this.#claim(freeSlots, 0, signal);
        this.#take(answer);
        if (answer.body.runs.length > 0) continue;
        // Both claims may have been on their way at once: only one that still leaves the lanes out is in the way.
        if (this.#lanesToTopUp().length > 0) this.#claimStop.abort(outdated);
        return;
      }
    } catch (thrown) {
      // The claim of the loop meets the same fault, tells of it and backs off.
      if (!(thrown instanceof ServiceError)) throw thrown;
      if (this.#lanesToTopUp().length > 0) this.#claimStop.abort(outdated);
    } finally {
      this.#topUp = undefined;
    }
  }

  async #waitForSlot(): Promise<void> {
    this.#slotFree = Promise.withResolvers();
    if (this.#stop.signal.aborted || this.#hasFreeSlot()) return;
    await this.#slotFree.promise;
    this.#slotFree = undefined;
    await this.#options.clock.sleep(slotGatherMs, this.#stop.signal);
  }

  /** One claim from request to runs in their lanes. Returns how long to pause before the next, in milliseconds. */
  async #claimOnce(): Promise<number> {
    const { dispatcher, serviceClock, log } = this.#options;
    // Two claims for the same slots would lease twice what fits. With no long claim under way, this one ends soon.
    await this.#topUp;
    if (this.#stop.signal.aborted) return 0;
    // A long answer says little about the clock, so the first question, and one now and then, is a short one.
    // While it is not yet known what all this agent can run, the next claim that can tell of more is not far away.
    const fullWaitMs = this.#options.isSettled() ? longPollMs : settlingPollMs;
    const waitMs = serviceClock.isStale ? 0 : fullWaitMs;
    this.#claimStop = new AbortController();
    const freeSlots = dispatcher.freeSlots();
    this.#fullLanes = lanes.filter((lane) => freeSlots[lane] === 0);
    this.#fullTypes = dispatcher.fullTypes();
    let answer: Answer<ClaimAnswer>;
    try {
      answer = await this.#claim(freeSlots, waitMs, this.#claimStop.signal);
    } catch (thrown) {
      if (!(thrown instanceof ServiceError)) throw thrown;
      if (thrown.kind === 'stopped' && this.#claimStop.signal.reason === outdated) return 0;
      return this.#failed(thrown);
    } finally {
      this.#fullLanes = [];
      this.#fullTypes = [];
    }
    if (!this.#isConnected) log.info('connected to the service');
    this.#isConnected = true;
    this.#problem = '';
    this.#failedAttempts = 0;
    if (answer.body.runs.length > 0) await this.#knowTheTime();
    this.#take(answer);
    if (answer.body.runs.length > 0 || answer.body.cancelledRunIds.length > 0) return 0;
    log.debug('No jobs. Waiting..');
    return answer.receivedAtMs - answer.sentAtMs < waitMs / 2 ? hastyPauseMs : 0;
  }

  /**
   * The times of runs are made of the service's clock, of which an answer that was long on its way says too little: then it is
   * asked again before the first runs begin, once for each connection. Whatever comes of this, they are run.
   */
  async #knowTheTime(): Promise<void> {
    const { client, serviceClock, log } = this.#options;
    if (this.#hasAskedTheTime || serviceClock.errorMs <= maxClockErrorMs) return;
    this.#hasAskedTheTime = true;
    try {
      await client.renew([], clockAnswerMs);
    } catch (thrown) {
      if (!(thrown instanceof ServiceError)) throw thrown;
      log.debug({ code: thrown.code }, "the service's clock is known badly");
    }
  }

  /** A claim with a number of its own. One that failed may have leased runs all the same: the next one tells of it. */
  async #claim(
    freeSlots: Record<Lane, number>,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<Answer<ClaimAnswer>> {
    const claimNumber = ++this.#claimCount;
    const lostClaims = [...this.#lostClaims];
    try {
      const request = {
        ...this.#options.description(),
        freeSlots,
        fullCheckTypes: this.#options.dispatcher.fullTypes(),
        waitMs,
        claimNumber,
        lostClaims,
      };
      const answer = await this.#options.client.claim(request, signal);
      for (const number of lostClaims) this.#lostClaims.delete(number);
      this.#lastClaimAtMs = this.#options.clock.monotonicMs();
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

  #failed(error: ServiceError): number {
    if (error.kind === 'stopped' && this.#stop.signal.aborted) return 0;
    const failed =
      error.kind === 'stopped'
        ? new ServiceError('refused', 'the service refused the key on another call', { httpStatus: 401 })
        : error;
    const delayMs = retryDelayMs(failed, this.#failedAttempts);
    const isNews = this.#isConnected || this.#failedAttempts === 0 || this.#problem !== failed.message;
    this.#isConnected = false;
    this.#hasAskedTheTime = false;
    this.#problem = failed.message;
    this.#failedClaims++;
    this.#failedAttempts++;
    const level = failed.kind === 'refused' || failed.kind === 'rejected' ? 'error' : 'warn';
    this.#options.log[isNews ? level : 'debug'](
      { code: failed.code, status: failed.httpStatus, retryMs: Math.round(delayMs) },
      failed.kind === 'refused'
        ? `no more work is taken, the location key is refused; check API_KEY: ${failed.message}`
        : `the service gave no work: ${failed.message}`,
    );
    return delayMs;
  }

  /** Puts the runs of an answer into their lanes. Synchronous: nothing can happen in between. */
  #take(answer: Answer<ClaimAnswer>): void {
    const { dispatcher, leaseKeeper, onUnwanted } = this.#options;
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
        this.#options.log.error(
          'a leased run without usable ids was ignored; it returns when its lease runs out',
        );
      } else if (this.#stop.signal.aborted) {
        unwanted.push({ runId: lease.runId, leaseNumber: lease.leaseNumber });
      } else if (run.success) {
        dispatcher.accept(run.data, terms);
      } else {
        dispatcher.refuse(lease, terms, notUnderstood(raw, run.error));
      }
    }
    if (unwanted.length > 0) onUnwanted(unwanted);
  }
}

function notUnderstood(raw: unknown, error: z.ZodError): { checkType: string; message: string } {
  const places = error.issues.slice(0, 5).map(({ path }) => path.join('.'));
  return {
    checkType: LeaseType.safeParse(raw).data?.check.checkType ?? 'unknown',
    message: `This agent does not understand the run at ${places.join(', ')}. Upgrade the agent.`,
  };
}

export interface PollerOptions {
  readonly client: ServiceClient;
  readonly dispatcher: Dispatcher;
  readonly leaseKeeper: LeaseKeeper;
  readonly clock: Clock;
  readonly serviceClock: ServiceClock;
  readonly log: Logger;
  /** What the agent tells of itself with each claim. */
  readonly description: () => {
    readonly version: string;
    readonly platform: string;
    readonly runtimes: string[];
    readonly checkTypes: string[];
    readonly backends: Record<string, string>;
    readonly unavailable: Record<string, string>;
    readonly droppedResults: number;
  };
  /** Whether what it tells will stay as it is. */
  readonly isSettled: () => boolean;
  /** Gets leases that came after the stop; they are to be given back. */
  readonly onUnwanted: (leases: LeaseRef[]) => void;
}
