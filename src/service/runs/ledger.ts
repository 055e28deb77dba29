import { lanes } from '@picket/checks/contract/check-type.ts';
import type { Clock } from '@picket/lib/clock.ts';
import { AppError } from '@picket/lib/errors.ts';
import { FairQueue, type QueueFigures } from '@picket/lib/turns/fair-queue.ts';
import type { LocationCaller } from '@picket/platform/ids/callers.ts';
import { queuedSignals, testedSignals } from '@picket/platform/store/engine/signals.ts';
import type { Store } from '@picket/platform/store/store.ts';
import type { ClaimRequest, LeasedRun, ReleaseRequest, RenewRequest } from '@picket/protocol/agent/agent.ts';
import { revisionOf } from '../agent-presence/location-settings.ts';
import { metNeeds } from '../agent-presence/needed-browsers.ts';
import { AgentPresence } from '../agent-presence/presence.ts';
import type { SessionLeases } from './lease-store.ts';
import { leasedRuns } from './leased-run.ts';
import type { RunRow } from './tables.ts';
import { type WaitingPoll, WaitingPolls } from './waiting-polls.ts';

export interface LedgerOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly leaseTtlMs: number;
  /** Called when an agent requests runs at a location that had no agents. */
  readonly onAgentsBack: (location: LocationCaller) => Promise<void>;
}

/** Response to a poll. */
export interface Claim {
  readonly runs: readonly RunRow[];
  /** Runs of the session that were cancelled while the poll waited. */
  readonly cancelledRunIds: readonly string[];
  /** Runs of the session whose log someone began to read while the poll waited. */
  readonly followedRunIds: readonly string[];
  /** The poll ended because something about its location changed. */
  readonly isDismissed: boolean;
}

/** How often polls query the database, in case another process's signal was lost; less often if there are many. */
const lookAgainMs = 5_000;
const pollsThatLookOften = 20;
/** Limit of waiting polls of one location per process, far more than a location has agents. */
const pollsOfLocation = 1_000;
const comeBackSeconds = 5;
/** Number of claims that query the database at once: locations take turns. */
const claimsAtOnce = 4;
/** Runs that become due within such a step of each other wake a poll once. */
const readyStepMs = 100;

/**
 * The run ledger. Lifecycle of a run:
 *
 * The scheduler inserts it as `queued`. An agent of its location claims it: `leased`, with a fencing token that
 * increases with every lease of the run, and an expiry. From there:
 * - the agent renews the lease while it works: still `leased`, the expiry moves;
 * - the agent releases it, disconnected before it got the response, or reports with a later claim that the
 *   response never arrived: `queued` again, nothing is held against it;
 * - the lease expires without a report: `queued` again and a death is counted; after the second one the run is
 *   `missed`, agent-lost, because a run that kills its agents must not circulate forever;
 * - a result with the current fencing token arrives: `final`, or `queued` for another attempt (attempt + 1,
 *   deaths 0, perhaps at another location, not before its back-off is over).
 *
 * A run that waits in the queue longer than its slot is fresh is `missed`, with the reason. If an attempt had been
 * stored before, that one becomes the final result instead, so that no measurement is lost. If a check is deactivated
 * (itself or with its group) or deleted, its runs become `cancelled`. A slot within a maintenance window that pauses
 * its check is inserted as `missed` from the start.
 *
 * `final`, `missed` and `cancelled` are terminal. Every change names the state (and fencing token) that it leaves, in
 * the transaction that stores its result, so each run gets exactly one terminal record regardless of races. A result
 * with an old fencing token is fenced: kept as evidence, never counted.
 */
export class Ledger {
  readonly leaseTtlMs: number;
  readonly presence: AgentPresence;
  readonly #onAgentsBack: LedgerOptions['onAgentsBack'];
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #polls: WaitingPolls;
  readonly #queue = new FairQueue({
    name: 'claims',
    atOnce: claimsAtOnce,
    // One place stays free for other locations.
    atOnceOfKey: (all) => all - 1,
    waitingPerKey: pollsOfLocation,
  });
  readonly #draining = new AbortController();

  constructor(options: LedgerOptions) {
    this.leaseTtlMs = options.leaseTtlMs;
    this.#onAgentsBack = options.onAgentsBack;
    this.#store = options.store;
    this.#clock = options.clock;
    this.presence = new AgentPresence(options.store);
    this.#polls = new WaitingPolls(options.clock, options.store.signals);
  }

  /**
   * Leases due runs to an agent: per lane up to its free slots, oldest slot first, only types it can run; and if it
   * asks for them, scheduled runs that become due soon, which it starts at their slots. If there is nothing, it waits up to `waitMs`, or until a run of the session is cancelled or followed: a waiting poll delivers that
   * news at once, before the next renewal would. If `gone` aborts (the agent disconnected), nothing stays leased.
   *
   * @throws AppError RATE_LIMITED if far more polls of the location wait than it can have agents.
   */
  async claim(location: LocationCaller, request: ClaimRequest, gone: AbortSignal): Promise<Claim> {
    if (this.#polls.countOf(location.id) >= pollsOfLocation) throw tooManyPolls();
    const freeLanes = lanes.filter((lane) => request.freeSlots[lane] > 0);
    const checkTypes = request.checkTypes.filter((type) => !request.fullCheckTypes.includes(type));
    const poll = this.#polls.join({
      locationId: location.id,
      sessionId: request.sessionId,
      freeSlots: new Map(freeLanes.map((lane) => [lane, request.freeSlots[lane]])),
      checkTypes,
    });
    const stop = AbortSignal.any([gone, this.#draining.signal]);
    const turn = { key: location.id, gone };
    // An agent that does not know what its location asks of it gets that at once.
    const isBehind = request.settings !== null && request.settings.revision !== revisionOf(location);
    const endMs = this.#clock.monotonicMs() + (isBehind ? 0 : request.waitMs);
    try {
      await this.#queue.run(turn, () => this.#arrive(location, request));
      const hasNews = () => poll.cancelledRunIds.length > 0 || poll.followedRunIds.length > 0;
      while (!stop.aborted && !poll.isDismissed && !hasNews()) {
        const runs = await this.#queue.run(turn, () =>
          this.#leaseRuns(location.id, freeLanes, { ...request, checkTypes }),
        );
        if (runs.length > 0) {
          if (!gone.aborted) {
            poll.passOn(runs.length);
            this.#store.signals.send(testedSignals(runs));
            return { ...news(poll), runs };
          }
          await this.requeue(runs);
          break;
        }
        const leftMs = endMs - this.#clock.monotonicMs();
        if (leftMs <= 0) break;
        const now = this.#clock.wallMs();
        const { nextReadyAt, areReady } =
          freeLanes.length === 0
            ? { nextReadyAt: null, areReady: false }
            : await this.#queue.run(turn, () => this.#store.leases.waiting(location.id, now));
        if (areReady) poll.passOn(1);
        const crowd = Math.max(1, this.#polls.countOf(location.id) / pollsThatLookOften);
        const wakeAt = nextReadyAt === null ? null : Math.ceil(nextReadyAt / readyStepMs) * readyStepMs;
        const untilReadyMs = wakeAt === null ? Number.POSITIVE_INFINITY : Math.max(1, wakeAt - now);
        await poll.sleep(Math.min(leftMs, lookAgainMs * crowd, untilReadyMs), stop);
      }
      return { ...news(poll), runs: [] };
    } finally {
      poll.leave();
    }
  }

  /** Handles the arrival of a claim: records the agent's presence, and requeues runs whose leases it never received. */
  async #arrive(location: LocationCaller, request: ClaimRequest): Promise<void> {
    await this.presence.recordClaim(location, request, this.#clock.wallMs());
    if (location.no_agent_since !== null) await this.#onAgentsBack(location);
    await this.#requeueUnheard(location.id, request);
  }

  /** Figures of the queue of claims. */
  figures(): QueueFigures {
    return this.#queue.figures();
  }

  async #leaseRuns(
    locationId: string,
    freeLanes: readonly (typeof lanes)[number][],
    request: ClaimRequest,
  ): Promise<RunRow[]> {
    const now = this.#clock.wallMs();
    const filter = {
      locationId,
      lanes: freeLanes.map((lane) => {
        const limit = request.freeSlots[lane];
        const early = request.aheadSlots[lane];
        // One statement finds due runs and, after them, early ones: together no more than it takes of these.
        return early === 0
          ? { lane, limit }
          : { lane, limit: Math.min(limit, early), until: now + request.aheadMs };
      }),
      checkTypes: request.checkTypes,
      needs: metNeeds(request.runtimes, request.browsers),
      agentId: request.agentId,
      sessionId: request.sessionId,
      claimNumber: request.claimNumber ?? null,
      now,
      leaseUntil: now + this.leaseTtlMs,
    };
    // A run that ends at this moment is moved to another partition, which a statement may be unable to follow.
    return this.#store.retrying(({ leases }) => leases.claim(filter));
  }

  /** Everything an agent needs to run its leases. */
  async leasedRuns(location: LocationCaller, runs: readonly RunRow[]): Promise<LeasedRun[]> {
    return leasedRuns(this.#store, location, runs);
  }

  /** Requeues runs that were leased for claims whose responses the agent reports as lost. */
  async #requeueUnheard(locationId: string, request: ClaimRequest): Promise<void> {
    const { agentId, sessionId, lostClaims } = request;
    if (lostClaims.length === 0) return;
    const now = this.#clock.wallMs();
    const session = { locationId, agentId, sessionId };
    const released = await this.#store.transaction((repositories) =>
      repositories.leases.releaseClaims(session, lostClaims, now),
    );
    this.#store.signals.send(queuedSignals(released));
  }

  /** Requeues runs whose lease response was never received. */
  async requeue(runs: readonly RunRow[]): Promise<void> {
    const [first] = runs;
    if (!first?.location_id || first.agent_id === null || first.session_id === null) return;
    await this.#release({
      locationId: first.location_id,
      agentId: first.agent_id,
      sessionId: first.session_id,
      leases: runs.map((run) => [run.id, run.lease_number] as const),
    });
  }

  /** Renews the leases an agent still holds; returns which of the runs it names are lost or cancelled. */
  async renew(
    location: LocationCaller,
    request: RenewRequest,
  ): Promise<{ lostRunIds: string[]; cancelledRunIds: string[] }> {
    const now = this.#clock.wallMs();
    await this.presence.recordCall(location.id, request, now);
    const held = sessionLeases(location, request);
    const renewed = new Set(
      await this.#store.transaction((repositories) => repositories.leases.renew(held, now + this.leaseTtlMs)),
    );
    const lost = request.leases.map((lease) => lease.runId).filter((id) => !renewed.has(id));
    const cancelled = new Set(await this.#store.leases.cancelledAmong(location.id, lost, now));
    return {
      lostRunIds: lost.filter((id) => !cancelled.has(id)),
      cancelledRunIds: [...cancelled],
    };
  }

  /** Requeues the runs of leases that an agent releases; returns how many it still held. */
  async release(location: LocationCaller, request: ReleaseRequest): Promise<number> {
    const now = this.#clock.wallMs();
    if (request.isLeaving) await this.presence.recordDeparture(location.id, request, now);
    else await this.presence.recordCall(location.id, request, now);
    return this.#release(sessionLeases(location, request));
  }

  async #release(held: SessionLeases): Promise<number> {
    const now = this.#clock.wallMs();
    const released = await this.#store.transaction((repositories) => repositories.leases.release(held, now));
    this.#store.signals.send(queuedSignals(released));
    return released.length;
  }

  /** Aborts when waits must end because the service is stopping. */
  get draining(): AbortSignal {
    return this.#draining.signal;
  }

  /** Ends waiting polls with empty responses, and stops leasing. */
  drain(): void {
    this.#draining.abort();
    this.#polls.close();
  }
}

function news({ cancelledRunIds, followedRunIds, isDismissed }: WaitingPoll): Omit<Claim, 'runs'> {
  return { cancelledRunIds, followedRunIds, isDismissed };
}

function tooManyPolls(): AppError {
  return new AppError(
    'RATE_LIMITED',
    `${pollsOfLocation} agents of this location wait for runs already. Try again in ${comeBackSeconds} seconds.`,
    { attributes: { limit: pollsOfLocation, retryAfterSeconds: comeBackSeconds } },
  );
}

function sessionLeases(location: LocationCaller, request: RenewRequest): SessionLeases {
  return {
    locationId: location.id,
    agentId: request.agentId,
    sessionId: request.sessionId,
    leases: request.leases.map((lease) => [lease.runId, lease.leaseNumber] as const),
  };
}
