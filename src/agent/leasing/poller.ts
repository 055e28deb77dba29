import { type Lane, lanes } from '@picket/checks/contract/check-type.ts';
import type { LeaseRef } from '@picket/protocol/agent/agent.ts';
import type { Answer, ClaimAnswer } from '../client/service-client.ts';
import { retryDelayMs, ServiceError } from '../client/service-error.ts';
import { Claims, type ClaimsOptions, noSlots } from './claims.ts';

const longPollMs = 25_000;
const settlingPollMs = 1000;
/** Poll interval while some types lack memory: other programs may free some, without notification. */
const fullPollMs = 5000;
/** When a full lane gets a free slot, more follow soon; a claim for each slot would cost more than it gains. */
const slotGatherMs = 20;
/** An empty response that arrives much too early must not cause a busy loop. */
const hastyPauseMs = 1000;

/** Why a pending claim is aborted: a lane that it does not cover has room now, and no work. */
const outdated = new DOMException('a full lane has capacity again', 'AbortError');

type State = 'created' | 'claiming' | 'waiting-for-slot' | 'pausing' | 'stopped';

const nextStates: Readonly<Record<State, readonly State[]>> = {
  created: ['claiming', 'waiting-for-slot', 'stopped'],
  claiming: ['claiming', 'waiting-for-slot', 'pausing', 'stopped'],
  'waiting-for-slot': ['claiming', 'waiting-for-slot', 'stopped'],
  pausing: ['claiming', 'waiting-for-slot', 'stopped'],
  stopped: [],
};

export interface PollerStatus {
  /** Whether the last claim succeeded. */
  readonly isConnected: boolean;
  /** Why the last claim failed, in words for an operator. */
  readonly problem: string;
  /** Monotonic time of the last successful response. */
  readonly lastClaimAtMs: number | undefined;
  readonly failedClaims: number;
}

/** The pending long claim, and the lanes and types that it does not cover. */
interface LongClaim {
  readonly stop: AbortController;
  /** Lanes that it requests no runs for. */
  readonly fullLanes: readonly Lane[];
  /** Check types that it excludes, because the host has no memory for them. */
  readonly fullTypes: readonly string[];
  /** Whether it requests runs before they are due. */
  readonly isAhead: boolean;
}

/**
 * Requests work from the service, one long claim at a time.
 *
 * CREATED. → CLAIMING when a lane has room: a long poll with the free slots of each lane is pending, and its runs are
 * put into their lanes. → CLAIMING again at once. → WAITING_FOR_SLOT when no lane has room; a finished run wakes it,
 * after a short time to gather more slots. → PAUSING when a claim failed (`retryDelayMs` says for how long; a refusal
 * of any other call, `interrupt`, counts as one), or an empty response arrived much too early. → STOPPED from any state
 * by `stop`: the pending claim is aborted, and leases of a response that had already arrived are given back unstarted.
 *
 * TOP-UP, during CLAIMING: a lane that was full when the long claim was sent, and has room now, gets a short claim of
 * its own, and another whenever more slots have gathered. Once such a claim returns no runs, the long claim is replaced
 * by one that covers all lanes; the same happens at once when a check type that it excludes has room again, or when
 * enough runs have started that were claimed before their slots. A long
 * claim never begins while a top-up is pending: two claims for the same slots would lease twice as many runs as fit.
 */
export class Poller {
  readonly #options: PollerOptions;
  readonly #claims: Claims;
  readonly #stop = new AbortController();
  #state: State = 'created';
  #longClaim: LongClaim | undefined;
  #topUp: Promise<void> | undefined;
  #slotFree: PromiseWithResolvers<void> | undefined;
  #isConnected = false;
  #problem = 'starting: probe threads load';
  #failedClaims = 0;
  #failedAttempts = 0;
  #loop: Promise<void> | undefined;

  constructor(options: PollerOptions) {
    this.#options = options;
    this.#claims = new Claims(options);
  }

  get status(): PollerStatus {
    return {
      isConnected: this.#isConnected,
      problem: this.#problem,
      lastClaimAtMs: this.#claims.lastClaimAtMs,
      failedClaims: this.#failedClaims,
    };
  }

  /** How long the service has been unreachable, undefined before the first contact; and why. */
  get connection(): { readonly awayMs: number | undefined; readonly problem: string } {
    const { lastClaimAtMs } = this.#claims;
    if (lastClaimAtMs === undefined) return { awayMs: undefined, problem: this.#problem };
    const awayMs = this.#isConnected ? 0 : this.#options.clock.monotonicMs() - lastClaimAtMs;
    return { awayMs, problem: this.#problem };
  }

  get isStarted(): boolean {
    return this.#loop !== undefined;
  }

  start(): void {
    this.#problem = 'starting: no response to a claim yet';
    this.#loop ??= this.#poll();
  }

  /** Called when a lane may have room again. */
  slotFreed(): void {
    this.#slotFree?.resolve();
    if (this.#lanesToTopUp().length > 0) this.#topUp ??= this.#topUpLanes();
    // A second claim would fill the lane twice: the long one also requests its other types.
    if (this.#hasTypeWithRoom() || this.#mayClaimAhead()) this.#longClaim?.stop.abort(outdated);
  }

  /** Aborts the pending claim, because another call found that the key is refused. */
  interrupt(): void {
    this.#longClaim?.stop.abort();
  }

  /** Stops claiming. Resolves when the pending claim has ended. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.interrupt();
    this.#slotFree?.resolve();
    await Promise.all([this.#loop, this.#topUp]);
  }

  /** Call after `stop`: runs that the service leased for the aborted claim go to other agents at once. */
  async tellLost(timeoutMs: number): Promise<void> {
    await this.#claims.tellLost(timeoutMs);
  }

  async #poll(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      if (!this.#mayClaim()) {
        this.#enter('waiting-for-slot');
        await this.#waitForSlot();
        continue;
      }
      this.#enter('claiming');
      const pauseMs = await this.#claimOnce();
      if (pauseMs === 0) continue;
      this.#enter('pausing');
      await this.#options.clock.sleep(pauseMs, signal);
    }
    this.#enter('stopped');
  }

  #enter(state: State): void {
    if (!nextStates[this.#state].includes(state) || this.#longClaim) {
      throw new Error(`the poller cannot go from ${this.#state} to ${state}`);
    }
    this.#state = state;
  }

  /** A drained agent claims without slots: its location sees it, and can end the drain. */
  #mayClaim(): boolean {
    if (this.#options.settings.isDraining) return true;
    return Object.values(this.#options.dispatcher.freeSlots()).some((count) => count > 0);
  }

  async #waitForSlot(): Promise<void> {
    this.#slotFree = Promise.withResolvers();
    if (this.#stop.signal.aborted || this.#mayClaim()) return;
    await this.#slotFree.promise;
    this.#slotFree = undefined;
    await this.#options.clock.sleep(slotGatherMs, this.#stop.signal);
  }

  /**
   * Makes one long claim and puts its runs into their lanes. Returns the pause before the next one, in milliseconds.
   */
  async #claimOnce(): Promise<number> {
    const { dispatcher, serviceClock, isSettled, log } = this.#options;
    await this.#topUp;
    if (this.#stop.signal.aborted) return 0;
    // A long poll says little about the clock, so the first claim, and one from time to time, is a short one. Until all
    // capabilities of this agent are known, polls are shorter, so that the next claim can announce more.
    const settledWaitMs = dispatcher.fullTypes().length === 0 ? longPollMs : fullPollMs;
    const fullWaitMs = isSettled() ? settledWaitMs : settlingPollMs;
    const waitMs = serviceClock.isStale ? 0 : fullWaitMs;
    let answer: Answer<ClaimAnswer> | undefined;
    try {
      answer = await this.#claimLong(waitMs);
    } catch (thrown) {
      if (!(thrown instanceof ServiceError)) throw thrown;
      return this.#failed(thrown);
    }
    if (!answer) return 0;
    if (!this.#isConnected) log.info('connected to the service');
    this.#isConnected = true;
    this.#problem = '';
    this.#failedAttempts = 0;
    if (answer.body.runs.length > 0) await this.#claims.refreshClock();
    this.#acceptClaim(answer);
    const { runs, cancelledRunIds, followedRunIds } = answer.body;
    if (runs.length > 0 || cancelledRunIds.length > 0 || followedRunIds.length > 0) return 0;
    log.debug('No jobs. Waiting..');
    return answer.receivedAtMs - answer.sentAtMs < waitMs / 2 ? hastyPauseMs : 0;
  }

  /** Resolves with undefined if the claim was aborted as outdated. */
  async #claimLong(waitMs: number): Promise<Answer<ClaimAnswer> | undefined> {
    const { dispatcher } = this.#options;
    const freeSlots = dispatcher.freeSlots();
    const aheadSlots = dispatcher.aheadSlots();
    const stop = new AbortController();
    this.#longClaim = {
      stop,
      fullLanes: lanes.filter((lane) => freeSlots[lane] === 0),
      fullTypes: dispatcher.fullTypes(),
      isAhead: aheadSlots.probe > 0,
    };
    try {
      return await this.#claims.claim({ freeSlots, aheadSlots }, waitMs, stop.signal);
    } catch (thrown) {
      const isOutdated = thrown instanceof ServiceError && thrown.kind === 'stopped';
      if (isOutdated && stop.signal.reason === outdated) return undefined;
      throw thrown;
    } finally {
      this.#longClaim = undefined;
    }
  }

  /** Lanes with room that the long claim does not cover. */
  #lanesToTopUp(): Lane[] {
    const { fullLanes = [] } = this.#longClaim ?? {};
    if (fullLanes.length === 0) return [];
    const free = this.#options.dispatcher.freeSlots();
    return fullLanes.filter((lane) => free[lane] > 0);
  }

  #mayClaimAhead(): boolean {
    if (!this.#longClaim || this.#longClaim.isAhead || this.#longClaim.fullLanes.includes('probe'))
      return false;
    return this.#options.dispatcher.aheadSlots().probe > 0;
  }

  #hasTypeWithRoom(): boolean {
    if (!this.#longClaim || this.#longClaim.fullTypes.length === 0) return false;
    const full = this.#options.dispatcher.fullTypes();
    return this.#longClaim.fullTypes.some((name) => !full.includes(name));
  }

  /** Fills lanes that the long claim does not cover, as long as there is work for them. */
  async #topUpLanes(): Promise<void> {
    const { clock, dispatcher } = this.#options;
    const { signal } = this.#stop;
    try {
      for (;;) {
        await clock.sleep(slotGatherMs, signal);
        const wanted = this.#lanesToTopUp();
        if (signal.aborted || wanted.length === 0) return;
        const free = dispatcher.freeSlots();
        const freeSlots = { ...noSlots };
        for (const lane of wanted) freeSlots[lane] = free[lane];
        const answer = await this.#claims.claim({ freeSlots, aheadSlots: noSlots }, 0, signal);
        this.#acceptClaim(answer);
        if (answer.body.runs.length === 0) break;
      }
    } catch (thrown) {
      // The long claim hits the same error, reports it and backs off.
      if (!(thrown instanceof ServiceError)) throw thrown;
    } finally {
      this.#topUp = undefined;
    }
    // Both claims may have been pending at once: abort the long one only if it still does not cover these lanes.
    if (this.#lanesToTopUp().length > 0) this.#longClaim?.stop.abort(outdated);
  }

  #acceptClaim(answer: Answer<ClaimAnswer>): void {
    const unwanted = this.#claims.accept(answer, this.#stop.signal.aborted);
    if (unwanted.length > 0) this.#options.onUnwanted(unwanted);
  }

  #failed(error: ServiceError): number {
    if (error.kind === 'stopped' && this.#stop.signal.aborted) return 0;
    const failed =
      error.kind === 'stopped'
        ? new ServiceError('refused', 'the service rejected the key on another call', { httpStatus: 401 })
        : error;
    const delayMs = retryDelayMs(failed, this.#failedAttempts);
    const isNews = this.#isConnected || this.#failedAttempts === 0 || this.#problem !== failed.message;
    this.#isConnected = false;
    this.#claims.disconnected();
    this.#problem = failed.message;
    this.#failedClaims++;
    this.#failedAttempts++;
    const level = failed.kind === 'refused' || failed.kind === 'rejected' ? 'error' : 'warn';
    this.#options.log[isNews ? level : 'debug'](
      {
        code: failed.code,
        status: failed.httpStatus,
        reason: failed.message,
        retryMs: Math.round(delayMs),
      },
      failed.kind === 'refused'
        ? 'location key refused; check API_KEY. No work is claimed until it is accepted'
        : 'failed to claim work',
    );
    return delayMs;
  }
}

export interface PollerOptions extends ClaimsOptions {
  /** Whether the agent's capabilities are known and final. */
  readonly isSettled: () => boolean;
  /** Called with leases that arrive after the stop; they are to be given back. */
  readonly onUnwanted: (leases: LeaseRef[]) => void;
}
