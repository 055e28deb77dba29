import { packageVersion } from '@picket/lib/version.ts';
import type { LeaseKeeper } from '../client/lease-keeper.ts';
import type { ServiceClock } from '../client/service-clock.ts';
import type { Delivery } from '../delivery/delivery.ts';
import { claimedFacts } from '../leasing/description.ts';
import type { Dispatcher } from '../leasing/dispatcher.ts';
import type { LocationSettings } from '../leasing/location-settings.ts';
import type { PollerStatus } from '../leasing/poller.ts';
import type { LocationWatch } from '../location/location-watch.ts';
import type { Capabilities } from '../run/contracts.ts';
import type { ProbePool } from '../runners/probe/probe-pool.ts';
import type { ScriptPool } from '../runners/script/script-pool.ts';

/** The parts of an agent that contribute to `/health`. */
export interface StatusSource {
  /** Both on the monotonic clock. */
  readonly nowMs: number;
  readonly startedAtMs: number;
  readonly notReadyReason: string | undefined;
  readonly poller: PollerStatus;
  readonly capabilities: Capabilities;
  readonly dispatcher: Dispatcher;
  readonly leaseKeeper: LeaseKeeper;
  readonly delivery: Delivery;
  readonly spoolMaxBytes: number;
  readonly serviceClock: ServiceClock;
  readonly locationWatch: LocationWatch;
  readonly locationSettings: LocationSettings;
  readonly pool: ProbePool;
  readonly scripts: ScriptPool;
}

/** Content of `/health`, all of it already in memory. */
export function agentStatus(source: StatusSource): Readonly<Record<string, unknown>> {
  const { nowMs, notReadyReason, poller, capabilities, serviceClock, pool, scripts } = source;
  const { uploader } = source.delivery;
  const { errorMs } = serviceClock;
  const gate = pool.gateState;
  return {
    version: packageVersion(),
    uptimeSeconds: Math.round((nowMs - source.startedAtMs) / 1000),
    isReady: notReadyReason === undefined,
    reason: notReadyReason ?? null,
    lanes: Object.fromEntries(
      source.dispatcher.laneStates().map(({ lane, ...state }) => [lane, state] as const),
    ),
    heldLeases: source.leaseKeeper.heldCount,
    spool: spoolStatus(source),
    artifacts: { waiting: uploader.count, sizeBytes: uploader.sizeBytes },
    serviceClock: Number.isFinite(errorMs)
      ? { skewMs: Math.round(serviceClock.wallSkewMs), errorMs: Math.ceil(errorMs) }
      : null,
    location: {
      sick: source.locationWatch.unhealthyParts.map(({ kind, evidence, sinceMs }) => ({
        kind,
        evidence,
        since: new Date(sinceMs).toISOString(),
      })),
    },
    lastClaimSecondsAgo:
      poller.lastClaimAtMs === undefined ? null : Math.round((nowMs - poller.lastClaimAtMs) / 1000),
    failedClaims: poller.failedClaims,
    checkTypes: capabilities.loaded.filter((name) => source.locationSettings.allows(name)),
    settings: source.locationSettings.status,
    capabilities: claimedFacts(capabilities),
    scripts: {
      isSettled: scripts.isSettled,
      runtimes: capabilities.runtimes ?? [],
      sandbox: capabilities.sandbox ?? null,
      room: scripts.room.count,
      fullCheckTypes: scripts.room.fullTypes,
      replaced: scripts.replacedCount,
    },
    probeThreads: {
      count: pool.threadCount,
      replaced: pool.replacedCount,
      gate: { waiting: gate.waiting, oldestWaitMs: Math.round(gate.oldestWaitMs) },
    },
  };
}

function spoolStatus({ delivery: { reporter, spool }, spoolMaxBytes, serviceClock }: StatusSource) {
  const { mode, problem, facts, memoryCount } = spool.state;
  const ageMs = facts?.oldestAtMs === undefined ? 0 : serviceClock.nowMs() - facts.oldestAtMs;
  return {
    mode,
    problem: problem ?? null,
    folder: facts?.folder ?? null,
    results: reporter.waitingCount,
    inMemoryOnly: memoryCount,
    sizeBytes: facts?.sizeBytes ?? 0,
    maxBytes: spoolMaxBytes,
    oldestSeconds: Math.max(0, Math.round(ageMs / 1000)),
    dropped: spool.state.dropped,
    damagedParts: facts?.losses.damagedParts ?? 0,
    foreignFolders: facts?.foreignFolders ?? 0,
  };
}
