import { type Lane, lanes } from '@picket/checks/contract/check-type.ts';
import type { FailureCode } from '@picket/checks/contract/failure.ts';
import type { FailureDetails } from '@picket/checks/contract/failure-details.ts';
import { hasScripts } from '@picket/checks/contract/lifecycle.ts';
import { findCheckType } from '@picket/checks/index.ts';
import type { Clock } from '@picket/lib/clock.ts';
import { toError } from '@picket/lib/errors.ts';
import type { Logger } from '@picket/lib/log.ts';
import type { LeasedRun, LeaseRef } from '@picket/protocol/agent/agent.ts';
import type { LeaseEnd, LeaseKeeper } from '../client/lease-keeper.ts';
import type { ServiceClock } from '../client/service-clock.ts';
import { type OwnProblem, ownReport } from '../delivery/agent-failure-report.ts';
import type { SecretReferences } from '../references/secret-references.ts';
import {
  type Executor,
  type FinishedRun,
  RunCrashes,
  type RunIds,
  type RunOrder,
  type RunOrigin,
} from '../run/contracts.ts';
import { withSecrets } from '../run/run-secrets.ts';
import { RunStop } from '../run/run-stop.ts';
import type { Scrubber } from '../scrub/scrubber.ts';
import type { Trust } from '../trust/trust.ts';
import { EarlyRuns } from './early-runs.ts';
import { LaneQueue } from './lane-queue.ts';
import { dueTime, type LeaseTerms } from './lease-terms.ts';
import type { LocationSettings } from './location-settings.ts';
import { runOrder } from './run-order.ts';

/** Runs are sent ahead while less than this part of their lane is taken. */
const sendAheadLanePart = 3 / 4;

/** Why the agent stopped a run before its result: the lease ended, or the agent gives it back. */
type RunEnd = LeaseEnd | 'returned';

/** Why a run ended without a runner. */
interface Reason {
  readonly checkType: string;
  readonly message: string;
  readonly details?: FailureDetails;
}

interface Active {
  readonly order: RunOrder;
  readonly origin: RunOrigin;
  readonly lane: Lane;
  readonly queue: LaneQueue;
  readonly executor: Executor;
  /** When its slot is, on the monotonic clock. */
  readonly dueAtMs: number;
  /** Whether its executor takes it before its slot. */
  readonly maySendAhead: boolean;
  /** Whether it waits here for its slot. */
  isEarly: boolean;
  readonly stop: RunStop;
  isStarted: boolean;
  end: RunEnd | undefined;
  /** A newer lease of the same run, which starts after this one has ended. */
  next: { readonly run: LeasedRun; readonly terms: LeaseTerms } | undefined;
}

/**
 * Puts leased runs into lanes and follows each to its report.
 *
 * A run whose slot is still to come is EARLY: it takes no place in its lane until then, or until it is sent ahead to an
 * executor that starts it at its slot. → QUEUED with its lease held. → RUNNING when its lane has room and the lease is still valid. → Removed when
 * its report was passed on (the lease is then kept until the result is settled). If the lease ends, or the agent gives
 * the run back, a queued run is removed at once; a running one is stopped through its signal and removed when its
 * executor returns. A run stopped that way sends no report, unless its lease was lost or expired and it already has
 * findings: these are sent as evidence, and the service fences them.
 *
 * A run id is never active twice: a repeated lease is ignored; a newer one waits until the older run is removed.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #queues: Readonly<Record<Lane, LaneQueue>>;
  /** Queue of runs with lifecycle scripts, which have a concurrency limit of their own. */
  readonly #phaseQueue: LaneQueue;
  readonly #active = new Map<string, Active>();
  readonly #counts: Record<Lane, number> = { probe: 0, script: 0 };
  readonly #early: EarlyRuns<Active>;
  #idle: PromiseWithResolvers<void> | undefined;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    const { probe, script } = options.laneSizes;
    this.#queues = { probe: new LaneQueue(probe), script: new LaneQueue(script) };
    this.#phaseQueue = new LaneQueue(options.lifecycleCount);
    this.#early = new EarlyRuns({
      clock: options.clock,
      start: (active) => this.#startEarly(active),
      hasRoom: ({ lane }) => this.#counts[lane] + 1 <= options.settings.laneSize(lane) * sendAheadLanePart,
    });
  }

  /** How many more runs each lane can take; 0 if no type of the lane can run, or the location drains. */
  freeSlots(): Record<Lane, number> {
    const { executors, settings } = this.#options;
    if (settings.isDraining) return { probe: 0, script: 0 };
    const free = (lane: Lane) =>
      executors[lane].isReady && executors[lane].checkTypes.some((name) => settings.allows(name))
        ? Math.max(
            0,
            Math.min(settings.laneSize(lane) - this.#counts[lane], executors[lane].room?.count ?? Infinity),
          )
        : 0;
    return { probe: free('probe'), script: free('script') };
  }

  /**
   * How many more runs each lane takes before their slots: as many as a probe lane can run in that time. Scripts take
   * long and are few, so that a run which waits here could start elsewhere.
   */
  aheadSlots(): Record<Lane, number> {
    const size = this.freeSlots().probe === 0 ? 0 : this.#options.settings.laneSize('probe');
    const slots = Math.min(size, 2 * size - this.#early.count);
    // A few at a time would cost a call each.
    return { probe: slots * 2 < size ? 0 : slots, script: 0 };
  }

  /** Check types that the host has no memory for now, even if their lane has free slots. */
  fullTypes(): string[] {
    // Reads the host's memory only if checks can run at all.
    return Object.values(this.#options.executors).flatMap((executor) =>
      executor.isReady && executor.checkTypes.length > 0 ? (executor.room?.fullTypes ?? []) : [],
    );
  }

  /** Current state of the lanes. `queued` runs have a lease but have not started. */
  laneStates(): { lane: Lane; size: number; running: number; queued: number; oldestQueuedMs: number }[] {
    const nowMs = this.#options.clock.monotonicMs();
    return lanes.map((lane) => {
      const all = [...this.#active.values()].filter((run) => run.lane === lane);
      const queued = all.filter((run) => !run.isStarted && !run.isEarly);
      return {
        lane,
        size: this.#options.settings.laneSize(lane),
        running: all.filter((run) => run.isStarted && run.dueAtMs <= nowMs).length,
        queued: queued.length,
        oldestQueuedMs: Math.max(0, ...queued.map((run) => nowMs - run.order.receivedAtMs)),
      };
    });
  }

  /** Accepts a leased run. */
  accept(run: LeasedRun, terms: LeaseTerms): void {
    const existing = this.#active.get(run.runId);
    if (existing) {
      if (run.leaseNumber <= existing.order.leaseNumber) {
        this.#options.log.warn({ runId: run.runId }, 'duplicate lease ignored');
        return;
      }
      this.#end(existing, 'lost');
      const isGone = !this.#active.has(run.runId);
      if (!isGone) {
        existing.next = { run, terms };
        this.#hold(run, terms);
        return;
      }
    }
    // The run has already finished, and its result waits to be sent.
    if (this.#options.leaseKeeper.isHeld(run)) return;
    this.#enqueue(run, terms);
  }

  /** Reports a run that this agent does not understand; the service should lease it to a newer agent. */
  refuse(ids: RunIds, terms: LeaseTerms, reason: { checkType: string; message: string }): void {
    this.#refuse(ids, terms, 'CHECK_TYPE_UNSUPPORTED', reason);
  }

  #refuse(ids: RunIds, terms: LeaseTerms, code: FailureCode, reason: Reason): void {
    this.#hold(ids, terms);
    this.#options.onFinished(this.#failedReport(ids, code, reason), undefined);
  }

  cancel(runIds: readonly string[]): void {
    for (const runId of runIds) {
      const active = this.#active.get(runId);
      if (!active) continue;
      this.#options.leaseKeeper.drop(active.order);
      this.#end(active, 'cancelled');
    }
  }

  /**
   * Removes runs that have not started from the lanes. Returns their leases, which are no longer renewed; leases of
   * runs that wait inside an executor follow through `onReturned`.
   */
  dropUnstarted(): LeaseRef[] {
    for (const executor of Object.values(this.#options.executors)) executor.withdrawWaiting?.();
    return this.#drop([...this.#active.values()].filter((active) => !active.isStarted));
  }

  /** Stops all runs. Returns the leases, which are no longer renewed; `idle` resolves when the runs have ended. */
  dropAll(): LeaseRef[] {
    return this.#drop([...this.#active.values()]);
  }

  /** Resolves when no run is active. */
  async idle(): Promise<void> {
    if (this.#active.size === 0) return;
    this.#idle ??= Promise.withResolvers();
    await this.#idle.promise;
  }

  #drop(runs: readonly Active[]): LeaseRef[] {
    return runs.map((active) => {
      const { runId, leaseNumber } = active.next?.run ?? active.order;
      active.next = undefined;
      this.#options.leaseKeeper.drop({ runId, leaseNumber });
      this.#end(active, 'returned');
      return { runId, leaseNumber };
    });
  }

  #hold({ runId, leaseNumber }: LeaseRef, terms: LeaseTerms): void {
    this.#options.leaseKeeper.hold({ runId, leaseNumber }, terms.ttlMs, terms.expiresAtMs, (end) => {
      const active = this.#active.get(runId);
      if (active?.order.leaseNumber === leaseNumber) this.#end(active, end);
      else if (active?.next?.run.leaseNumber === leaseNumber) active.next = undefined;
    });
  }

  #enqueue(leased: LeasedRun, terms: LeaseTerms): void {
    const { checkType } = leased.check;
    const judged = this.#options.trust.judge(leased);
    if ('distrust' in judged) {
      const { reason, keyId, changedFields, message } = judged.distrust;
      const details = { distrust: reason, keyId, changedFields };
      this.#refuse(leased, terms, 'CHECK_NOT_TRUSTED', { checkType, message, details });
      return;
    }
    const { run } = judged;
    const type = findCheckType(checkType);
    const executor = type && this.#options.executors[type.lane];
    if (!type || !executor?.checkTypes.includes(checkType)) {
      const message = `This agent cannot run checks of type ${checkType}. Upgrade the agent.`;
      this.refuse(run, terms, { checkType, message });
      return;
    }
    this.#hold(run, terms);
    const dueAtMs = dueTime(run, terms);
    const isPhased = hasScripts(run.lifecycle);
    const active: Active = {
      order: runOrder(run, this.#options, Math.max(dueAtMs, terms.receivedAtMs)),
      origin: { slotAtMs: run.slotAt, checkId: run.check.id, mayReportLater: run.mayReportLater },
      lane: type.lane,
      queue: isPhased ? this.#phaseQueue : this.#queues[type.lane],
      executor,
      dueAtMs,
      // Runs with scripts have few places, and a missing secret ends a run at its slot, not before.
      maySendAhead:
        executor.startsAtSlot === true &&
        !isPhased &&
        this.#options.references.isEmpty &&
        Object.keys(run.valuesFrom).length === 0,
      isEarly: dueAtMs > this.#options.clock.monotonicMs(),
      stop: new RunStop(),
      isStarted: false,
      end: undefined,
      next: undefined,
    };
    this.#active.set(run.runId, active);
    if (active.isEarly) this.#early.add(active);
    else this.#enterLane(active);
  }

  #startEarly(active: Active): void {
    active.isEarly = false;
    this.#enterLane(active);
    this.#options.onSlotFree();
  }

  #enterLane(active: Active): void {
    this.#counts[active.lane]++;
    active.queue.add(() => this.#run(active));
  }

  async #run(active: Active): Promise<void> {
    // 1. The run may have been dropped while it was queued, or its lease may have expired unnoticed.
    if (!active.end) this.#options.leaseKeeper.expireOverdue();
    if (active.end) return;
    // 2. It still counts as queued while it waits for the first fetch of a secret.
    const { order, unavailable } = await withSecrets(active.order, {
      references: this.#options.references,
      literal: this.#options.serviceSecrets,
    });
    if (!active.end) this.#options.leaseKeeper.expireOverdue();
    if (active.end) return;
    // 3. From here on the run ends by its own deadline, or by its signal.
    active.isStarted = true;
    const startedAtMs = this.#options.serviceClock.nowMs();
    let finished: FinishedRun;
    try {
      finished = unavailable
        ? this.#failedReport(
            order,
            'SECRET_UNAVAILABLE',
            { checkType: order.checkType, ...unavailable },
            startedAtMs,
          )
        : await active.executor.run(order, active.stop);
    } catch (thrown) {
      const { name } = toError(thrown);
      const isCulprit = thrown instanceof RunCrashes;
      const message = isCulprit
        ? 'The part of the agent that ran the check ended twice, the second time with this run alone.'
        : `The part of the agent that ran the check ended unexpectedly (${name}).`;
      const { checkType } = active.order;
      this.#options.log.error(
        { runId: active.order.runId, checkType, reason: name },
        'run failed inside the agent',
      );
      this.#options.onDiscarded?.(active.order);
      const code = isCulprit ? 'CHECK_CRASHES_RUNNER' : 'RUNNER_CRASHED';
      finished = this.#failedReport(active.order, code, { checkType, message }, startedAtMs);
    }
    // 4. After the await: the run may have been given back, or be no longer wanted.
    if (finished.facts.isUnstarted && !active.end) this.#return(active);
    const isEvidence = (active.end === 'lost' || active.end === 'expired') && !finished.facts.isAborted;
    if (!active.end || isEvidence) this.#options.onFinished(finished, active.origin);
    else this.#options.onDiscarded?.(active.order);
    this.#gone(active);
  }

  /** Handles a run that its executor gave back. */
  #return(active: Active): void {
    const { runId, leaseNumber } = active.order;
    active.end = 'returned';
    this.#options.leaseKeeper.drop({ runId, leaseNumber });
    this.#options.onReturned({ runId, leaseNumber });
  }

  #end(active: Active, end: RunEnd): void {
    if (active.end) return;
    active.end = end;
    if (active.isStarted) active.stop.abort(new DOMException(`The run was stopped: ${end}`, 'AbortError'));
    else this.#gone(active);
  }

  #gone(active: Active): void {
    this.#active.delete(active.order.runId);
    if (active.isEarly) this.#early.delete(active);
    else this.#counts[active.lane]--;
    const { next } = active;
    if (next && this.#options.leaseKeeper.isHeld(next.run)) this.#enqueue(next.run, next.terms);
    if (this.#active.size === 0) {
      this.#idle?.resolve();
      this.#idle = undefined;
    }
    this.#options.onSlotFree();
  }

  #failedReport(
    { runId, leaseNumber, resultId }: RunIds,
    code: FailureCode,
    reason: Omit<OwnProblem, 'code'>,
    startedAtMs = this.#options.serviceClock.nowMs(),
  ): FinishedRun {
    return ownReport(
      { runId, leaseNumber, resultId },
      { code, ...reason },
      { scrubber: this.#options.scrubber, startedAtMs, nowMs: this.#options.serviceClock.nowMs() },
    );
  }
}

export interface DispatcherOptions {
  /** Of the environment: the maximum. */
  readonly laneSizes: Readonly<Record<Lane, number>>;
  readonly settings: LocationSettings;
  /** Concurrency limit of runs with lifecycle scripts. */
  readonly lifecycleCount: number;
  readonly executors: Readonly<Record<Lane, Executor>>;
  readonly leaseKeeper: LeaseKeeper;
  readonly clock: Clock;
  readonly serviceClock: ServiceClock;
  readonly log: Logger;
  readonly scrubber: Scrubber;
  /** Decides which runs are executed, and with what. */
  readonly trust: Pick<Trust, 'judge'>;
  /** Variables of the agent itself that checks may use. */
  readonly serviceSecrets: Readonly<Record<string, string>>;
  /** Variables of the same kind whose values live elsewhere. */
  readonly references: SecretReferences;
  /** Whether a check passed when it ran here last. */
  readonly isPassing: (checkId: string) => boolean;
  /** Called with every report to send; `slotAtMs` is when the run was due, if known. */
  readonly onFinished: (run: FinishedRun, origin: RunOrigin | undefined) => void;
  /** Called with leases of runs that come back unstarted after `dropUnstarted`; they are no longer renewed. */
  readonly onReturned: (lease: LeaseRef) => void;
  /** Called when the files of a run are no longer needed: it was stopped, or crashed. */
  readonly onDiscarded?: ((lease: LeaseRef) => void) | undefined;
  readonly onSlotFree: () => void;
}
