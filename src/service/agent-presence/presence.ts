import { LruMap } from '@picket/lib/lru.ts';
import { packageVersion } from '@picket/lib/version.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import type { Store } from '@picket/platform/store/store.ts';
import { storedValue } from '@picket/platform/store/stored-json.ts';
import type { ClaimRequest } from '@picket/protocol/agent/agent.ts';
import semver from 'semver';
import type { AgentRow } from './tables.ts';

const capabilitiesOf = storedValue<AgentCapabilities>('agents.capabilities', {
  backends: {},
  unavailable: {},
  runtimes: [],
  droppedResults: 0,
  condition: null,
  settings: null,
});

/** Check types that a stored session runs. */
export const agentCheckTypes = storedValue<readonly string[]>('agents.check_types', []);

/** How long after it was last seen an agent counts as running (check model 4.5). */
export const agentSeenWindowMs = 2 * 60_000;

/** How long an agent counts as present after it was seen: longer than a poll plus the delay of recording it. */
export const agentPresentMs = 45_000;

const writeEveryMs = 10_000;
/** Number of sessions whose last write is remembered; a forgotten one is merely written more often. */
const maxRemembered = 20_000;
/** Number of sessions kept per location, most recently seen first. Far more agents than any location has. */
const maxSessions = 2_000;
const boundEvery = 100;
const forgetAfterMs = 7 * 86_400_000;

/** Capabilities and losses that an agent reports; stored as JSON. */
type AgentCapabilities = Pick<
  ClaimRequest,
  'backends' | 'unavailable' | 'runtimes' | 'droppedResults' | 'condition' | 'settings'
>;

interface WrittenSession {
  readonly writtenAt: number;
  readonly fingerprint: string;
}

/**
 * Records which agents were seen where and when. Two processes with one agent id (a cloned machine) count as two
 * separate sessions. A session is written at most every ten seconds unless its reported data changes: polls are
 * frequent, and the queries that use this look back minutes.
 */
export class AgentPresence {
  readonly #store: Store;
  readonly #written = new LruMap<string, WrittenSession>(maxRemembered);
  #newSessions = 0;
  #forgottenAt = 0;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Records a claim, which carries everything known about an agent. */
  async recordClaim(
    { id: locationId, key_id: keyId }: { readonly id: string; readonly key_id: string },
    request: ClaimRequest,
    now: number,
  ): Promise<void> {
    const checkTypes = JSON.stringify(request.checkTypes);
    const { backends, unavailable, runtimes, droppedResults, condition, settings } = request;
    const lasting = { backends, unavailable, runtimes, droppedResults, settings };
    const capabilities = JSON.stringify({ ...lasting, condition } satisfies AgentCapabilities);
    // The condition changes with each claim: it is recorded with the next write.
    const fingerprint = `${keyId} ${request.version} ${request.platform} ${checkTypes} ${JSON.stringify(lasting)}`;
    if (!this.#isDue(locationId, request, now, fingerprint)) return;
    await this.#store.locations.agentSeen({
      location_id: locationId,
      agent_id: request.agentId,
      session_id: request.sessionId,
      key_id: keyId,
      version: request.version,
      platform: request.platform,
      check_types: checkTypes,
      capabilities,
      first_seen: now,
      last_seen: now,
    });
    this.#newSessions += 1;
    if (this.#newSessions % boundEvery === 0) {
      await this.#store.locations.boundAgents(locationId, maxSessions);
    }
    await this.#forget(now);
  }

  /** Records any other call of a session. */
  async recordCall(
    locationId: string,
    session: { readonly agentId: string; readonly sessionId: string },
    now: number,
  ): Promise<void> {
    if (!this.#isDue(locationId, session, now)) return;
    await this.#store.locations.sessionSeen(locationId, session.agentId, session.sessionId, now);
  }

  /** Records that a session has signed off: its location is without it at once. */
  async recordDeparture(
    locationId: string,
    { agentId, sessionId }: { readonly agentId: string; readonly sessionId: string },
    now: number,
  ): Promise<void> {
    this.#written.delete(keyOf(locationId, { agentId, sessionId }));
    await this.#store.locations.sessionLeft(locationId, agentId, sessionId, now);
  }

  #isDue(
    locationId: string,
    session: { readonly agentId: string; readonly sessionId: string },
    now: number,
    fingerprint?: string,
  ): boolean {
    const key = keyOf(locationId, session);
    const last = this.#written.get(key);
    const isFresh = last !== undefined && now - last.writtenAt < writeEveryMs && now >= last.writtenAt;
    if (isFresh && (fingerprint === undefined || fingerprint === last.fingerprint)) return false;
    this.#written.set(key, { writtenAt: now, fingerprint: fingerprint ?? last?.fingerprint ?? '' });
    return true;
  }

  /** Deletes sessions of past weeks, once an hour. */
  async #forget(now: number): Promise<void> {
    if (now - this.#forgottenAt < 3_600_000) return;
    this.#forgottenAt = now;
    await this.#store.locations.forgetAgents(now - forgetAfterMs);
  }
}

function keyOf(
  locationId: string,
  { agentId, sessionId }: { readonly agentId: string; readonly sessionId: string },
): string {
  return `${locationId} ${sessionId} ${agentId}`;
}

/** Capabilities that a stored session reported; empty if an older build wrote it. */
export function agentCapabilities(row: Pick<AgentRow, 'capabilities'>): AgentCapabilities {
  return capabilitiesOf(row.capabilities);
}

/**
 * Running agents among the sessions of a location. An agent that restarted is one agent: a session ends when a later
 * one of the same agent begins. Overlapping sessions of one agent id are two machines and count as two.
 */
export function runningSessions(sessions: readonly AgentRow[]): AgentRow[] {
  const newestStart = new Map<string, number>();
  for (const { agent_id: agentId, first_seen: firstSeen } of sessions) {
    newestStart.set(agentId, Math.max(firstSeen, newestStart.get(agentId) ?? 0));
  }
  return sessions.filter((session) => (newestStart.get(session.agent_id) ?? 0) <= session.last_seen);
}

/** Whether an agent's major version is below this build's. */
export function isOutdated(agentVersion: string): boolean {
  const parsed = semver.parse(agentVersion);
  return parsed === null || parsed.major < semver.major(packageVersion());
}

/** Private locations of an account, and which of them have agents that could take a run. */
export interface KnownLocations {
  /** Location id by slug. */
  readonly ids: ReadonlyMap<string, string>;
  readonly withAgents: ReadonlySet<string>;
}

export async function knownLocations(
  repositories: Pick<Repositories, 'locations'>,
  accountId: string,
  now: number,
): Promise<KnownLocations> {
  const bySlug = await repositories.locations.idsBySlug([accountId]);
  const ids = new Map([...bySlug].map(([key, id]) => [key.slice(accountId.length + 1), id]));
  const agents = await repositories.locations.agents([...ids.values()], now - agentSeenWindowMs);
  const alive = new Set(agents.map((agent) => agent.location_id));
  return { ids, withAgents: new Set([...ids].filter(([, id]) => alive.has(id)).map(([slug]) => slug)) };
}
