import type { Clock } from '@picket/lib/clock.ts';
import type { Logger } from '@picket/lib/log.ts';
import type { ArtifactStore } from '@picket/platform/artifact-store/artifact-store.ts';
import type { Signal } from '@picket/platform/store/engine/signals.ts';
import { queuedSignals, testedSignals } from '@picket/platform/store/engine/signals.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import type { Store } from '@picket/platform/store/store.ts';
import { artifactWindowMs } from '@picket/protocol/results/artifact.ts';
import { agentPresentMs, agentSeenWindowMs } from '../agent-presence/presence.ts';
import type { AgentRow } from '../agent-presence/tables.ts';
import { isGapReason, type Miss, missOf } from '../alerts/gaps/gap.ts';
import { recordMissed } from '../alerts/gaps/watch.ts';
import { canRun } from '../checks/warnings/warnings.ts';
import { beginOutages } from '../locations/outages.ts';
import type { ServiceMetrics } from '../metrics/metrics.ts';
import { promoteLastAttempts } from '../results/settle.ts';
import type { MissedReason, RunRow } from '../runs/tables.ts';
import { withoutRenewedWaits } from '../sessions/longer-waits.ts';

export interface LeaseSweepOptions {
  readonly store: Store;
  readonly artifactStore: ArtifactStore;
  readonly clock: Clock;
  readonly leaseTtlMs: number;
  readonly metrics: ServiceMetrics;
  readonly logger: Logger;
}

const runsPerTurn = 500;
const resultsPerTurn = 500;
const maxDeaths = 2;
const takeBackEveryMs = 5_000;
const shortestFreshnessMs = 10_000;

/** Longest sleep between two sweeps: nothing that begins meanwhile ends sooner. */
export function leaseSweepLongestMs(leaseTtlMs: number): number {
  return Math.min(leaseTtlMs, shortestFreshnessMs);
}

/**
 * Ends what no other code ends: expired leases and runs that waited too long. It sleeps until the earliest such
 * instant. A lease or queue entry created after it fell asleep cannot end before its longest sleep is over, so no
 * wake-up is needed.
 *
 * It also deletes the results of deleted checks, some on each turn, so that nothing else waits for long.
 *
 * Leases are spared for one TTL after the service started or stalled: agents could not renew meanwhile, and revoking
 * their work would only repeat it.
 */
export class LeaseSweep {
  readonly #store: Store;
  readonly #artifactStore: ArtifactStore;
  readonly #clock: Clock;
  readonly #leaseTtlMs: number;
  readonly #metrics: ServiceMetrics;
  readonly #logger: Logger;
  #sparedUntilMs: number;
  #lastTurnMs: number;
  #takesBackAtMs = 0;

  constructor(options: LeaseSweepOptions) {
    this.#store = options.store;
    this.#artifactStore = options.artifactStore;
    this.#clock = options.clock;
    this.#leaseTtlMs = options.leaseTtlMs;
    this.#metrics = options.metrics;
    this.#logger = options.logger;
    this.#lastTurnMs = options.clock.monotonicMs();
    this.#sparedUntilMs = this.#lastTurnMs + options.leaseTtlMs;
  }

  async turn(): Promise<number | null> {
    const nowMs = this.#clock.monotonicMs();
    const stoodStillMs = nowMs - this.#lastTurnMs - leaseSweepLongestMs(this.#leaseTtlMs);
    if (stoodStillMs > this.#leaseTtlMs / 2) this.#sparedUntilMs = nowMs + this.#leaseTtlMs;
    const isSparing = nowMs < this.#sparedUntilMs;
    if (nowMs >= this.#takesBackAtMs) await this.#withdrawFutureRuns();
    const endedLeases = isSparing ? 0 : await this.#endLeases();
    const outlived = await this.#endOutlived();
    const isPurging = await this.#purge();
    await this.#store.artifacts.loseAwaited(this.#clock.wallMs() - artifactWindowMs);
    this.#lastTurnMs = this.#clock.monotonicMs();
    const wallMs = this.#clock.wallMs();
    if (endedLeases === runsPerTurn || outlived === runsPerTurn || isPurging) return wallMs;
    const next = await this.#store.runs.nextDeadline();
    if (!isSparing) return next;
    const sparedUntil = wallMs + (this.#sparedUntilMs - this.#lastTurnMs);
    return next === null || next > sparedUntil ? next : sparedUntil;
  }

  async #withdrawFutureRuns(): Promise<void> {
    this.#takesBackAtMs = this.#clock.monotonicMs() + takeBackEveryMs;
    // The clock is read once connected: after waiting for a connection, new runs would appear to be in the future.
    const runs = await this.#store.transaction((repositories) =>
      repositories.runs.withdrawFutureRuns(this.#clock.wallMs(), this.#leaseTtlMs),
    );
    if (runs === 0) return;
    this.#logger.warn({ runs }, 'the clock was ahead; released leases and waits in the future');
    this.#store.signals.send([{ kind: 'look' }]);
  }

  async #endLeases(): Promise<number> {
    const now = this.#clock.wallMs();
    const { ended, queued, missed, hasGaps } = await this.#store.transaction(async (repositories) => {
      const ended = await repositories.runs.leasesEnded(now, runsPerTurn);
      const poisonous = ended.filter((run) => run.deaths + 1 >= maxDeaths);
      const others = ended.filter((run) => run.deaths + 1 < maxDeaths);
      await repositories.runs.requeueAfterDeath(
        others.map((run) => run.id),
        now,
      );
      const missed = await this.#giveUp(repositories, poisonous, () => 'agent-lost', now);
      const hasGaps = await recordMissed(repositories, missesOf(missed), now);
      return { ended, missed, hasGaps, queued: others.map((run): RunRow => ({ ...run, state: 'queued' })) };
    });
    if (hasGaps) this.#store.signals.send([{ kind: 'alerts' }]);
    this.#count(missed);
    // First the silent agents, then the news: otherwise they would be given the runs that they just lost.
    this.#store.signals.send([...silentSessions(ended), ...queuedSignals(queued), ...testedSignals(ended)]);
    return ended.length;
  }

  async #endOutlived(): Promise<number> {
    const now = this.#clock.wallMs();
    const next = await this.#store.runs.nextDeadline();
    if (next === null || next > now) return 0;
    const { seen, outlived, missed, hasAlerts } = await this.#store.transaction(async (repositories) => {
      const waited = await repositories.runs.outlived(now, runsPerTurn);
      const locationIds = waited.flatMap((run) => (run.location_id === null ? [] : [run.location_id]));
      const agents = await repositories.locations.agents(locationIds, now - agentSeenWindowMs);
      const outlived = await withoutRenewedWaits(repositories, waited, agents, now);
      const busy = await repositories.runs.sessionsAtWork(locationIds, now);
      const reason = (run: RunRow) => reasonOf(run, { agents, busy, now });
      const missed = await this.#giveUp(repositories, outlived, reason, now);
      // The restart of an agent is not an outage: a location counts as without agents only after two minutes.
      const served = new Set(agents.map((agent) => agent.location_id));
      const unserved = outlived.filter(
        (run) => run.last_result_id === null && !(run.location_id !== null && served.has(run.location_id)),
      );
      const isOut = await beginOutages(repositories, unserved, now);
      const hasGaps = await recordMissed(repositories, missesOf(missed), now);
      return { seen: waited.length, outlived, missed, hasAlerts: isOut || hasGaps };
    });
    this.#count(missed);
    this.#store.signals.send(testedSignals(outlived));
    if (hasAlerts) this.#store.signals.send([{ kind: 'alerts' }]);
    return seen;
  }

  /** Returns whether there may be more to delete. */
  async #purge(): Promise<boolean> {
    const checkId = await this.#store.results.nextPurge();
    if (checkId === undefined) return false;
    // The bytes first, because the rows refer to them. An upload that ends later finds no row and deletes its bytes.
    await this.#artifactStore.removeFolder(checkId);
    await this.#store.transaction((repositories) => repositories.results.purgeSome(checkId, resultsPerTurn));
    return (await this.#store.results.nextPurge()) !== undefined;
  }

  async #giveUp(
    repositories: Repositories,
    runs: readonly RunRow[],
    reason: (run: RunRow) => MissedReason,
    now: number,
  ): Promise<ReadonlyMap<MissedReason, readonly RunRow[]>> {
    const measured = runs.filter((run) => run.last_result_id !== null);
    if (measured.length > 0) await promoteLastAttempts(repositories, measured, now);
    const byReason = Map.groupBy(
      runs.filter((run) => run.last_result_id === null),
      reason,
    );
    for (const [why, missed] of byReason) {
      await repositories.runs.miss(
        missed.map((run) => run.id),
        why,
        now,
      );
    }
    const tried = [...byReason.values()].flat().flatMap(({ test_session_id: id }) => id ?? []);
    await repositories.testSessions.recordFailed(tried);
    return byReason;
  }

  /** Called once the transaction that ended them has been committed. */
  #count(missed: ReadonlyMap<MissedReason, readonly RunRow[]>): void {
    for (const [reason, runs] of missed) this.#metrics.countMissed(runs, reason);
  }
}

/** Missed scheduled slots that may cause gaps. */
function missesOf(missed: ReadonlyMap<MissedReason, readonly RunRow[]>): Miss[] {
  return [...missed].flatMap(([reason, runs]) => {
    if (!isGapReason(reason)) return [];
    const ofSchedule = runs.filter((run) => run.check_session_id === null && run.test_session_id === null);
    return ofSchedule.map((run) => missOf(run, reason));
  });
}

/** Sessions that let leases expire: polls they left open must not get more runs. */
function silentSessions(ended: readonly RunRow[]): Signal[] {
  const byId = new Map<string, Signal>();
  for (const { location_id: locationId, session_id: sessionId } of ended) {
    if (locationId !== null && sessionId !== null)
      byId.set(sessionId, { kind: 'dismiss', locationId, sessionId });
  }
  return [...byId.values()];
}

/**
 * Why no agent took a run in time. Agents that are gone count as present for a while, so an agent was too busy only if
 * it has runs in progress, or called while the run waited. An idle one would have taken it.
 */
function reasonOf(
  run: RunRow,
  seen: { readonly agents: readonly AgentRow[]; readonly busy: ReadonlySet<string>; readonly now: number },
): MissedReason {
  const here = seen.agents.filter(
    (agent) => agent.location_id === run.location_id && agent.last_seen > seen.now - agentPresentMs,
  );
  if (here.length === 0) return 'no-agent';
  const need = { checkType: run.check_type, runtimeId: run.runtime_id };
  const capable = here.filter((agent) => canRun(agent, need));
  if (capable.length === 0) return 'unsupported';
  if (run.lease_number > 0) return 'expired';
  const isHeard = capable.some(
    ({ session_id: session, last_seen: lastSeen }) => seen.busy.has(session) || lastSeen >= run.ready_at,
  );
  return isHeard ? 'over-capacity' : 'no-agent';
}
