import { randomUUID } from 'node:crypto';
import { accountTable } from '@picket/platform/store/engine/account-table.ts';
import { sql } from 'kysely';
import type { AgentRow } from '../agent-presence/tables.ts';
import type { LocationKeyRow, PrivateLocationRow } from './tables.ts';

/** Limit of sessions that one query reads: those of all locations of an account, or of a service. */
const maxSessionsRead = 50_000;

/** Private locations, their keys, and the agents seen there. A slug is unique within an account. */
export class Locations extends accountTable<PrivateLocationRow>()({ name: 'private_locations', key: 'id' }) {
  /** Locations of an account by slug, locked so that none is deleted before this transaction ends. */
  async findBySlugs(accountId: string, slugs: readonly string[]): Promise<Map<string, PrivateLocationRow>> {
    if (slugs.length === 0) return new Map();
    const rows = await this.db
      .selectFrom('private_locations')
      .selectAll()
      .where('account_id', '=', accountId)
      .where(this.dialect.inList('slug_name', slugs))
      .orderBy('id')
      .modifyEnd(this.dialect.forUpdate)
      .execute();
    return new Map(rows.map((row) => [row.slug_name, row]));
  }

  /** Ids of the private locations of the given accounts: `accountId/slug` → id. */
  async idsBySlug(accountIds: readonly string[]): Promise<Map<string, string>> {
    if (accountIds.length === 0) return new Map();
    const rows = await this.db
      .selectFrom('private_locations')
      .select(['id', 'account_id', 'slug_name'])
      .where(this.dialect.inList('account_id', [...new Set(accountIds)]))
      .execute();
    return new Map(rows.map((row) => [`${row.account_id}/${row.slug_name}`, row.id]));
  }

  async insertKey(locationId: string, keyHash: string, masked: string, now: number): Promise<LocationKeyRow> {
    const row: LocationKeyRow = {
      id: randomUUID(),
      location_id: locationId,
      key_hash: keyHash,
      masked,
      created: now,
      updated: null,
    };
    await this.db.insertInto('location_keys').values(row).execute();
    return row;
  }

  async keys(locationIds: readonly string[]): Promise<LocationKeyRow[]> {
    if (locationIds.length === 0) return [];
    return this.db
      .selectFrom('location_keys')
      .selectAll()
      .where(this.dialect.inList('location_id', locationIds))
      .orderBy('created')
      .orderBy('id')
      .execute();
  }

  /** Revokes a key, whose hash is kept: agents that still use it are shown. Returns whether the key existed. */
  async revokeKey(locationId: string, keyId: string, now: number): Promise<boolean> {
    await sql`insert into revoked_location_keys (key_hash, location_id, masked, revoked)
      select key_hash, location_id, masked, ${now} from location_keys
      where id = ${keyId} and location_id = ${locationId}
      on conflict (key_hash) do nothing`.execute(this.db);
    const done = await this.db
      .deleteFrom('location_keys')
      .where('id', '=', keyId)
      .where('location_id', '=', locationId)
      .executeTakeFirst();
    return done.numDeletedRows > 0n;
  }

  /** The location that a key belongs to. */
  async findByKey(keyHash: string): Promise<(PrivateLocationRow & { key_id: string }) | undefined> {
    return this.db
      .selectFrom('location_keys')
      .innerJoin('private_locations', 'private_locations.id', 'location_keys.location_id')
      .selectAll('private_locations')
      .select('location_keys.id as key_id')
      .where('location_keys.key_hash', '=', keyHash)
      .executeTakeFirst();
  }

  /**
   * Records that a location misses slots for lack of an agent. Returns the location, or undefined if that was known.
   */
  async beginOutage(id: string, since: number): Promise<PrivateLocationRow | undefined> {
    return this.db
      .updateTable('private_locations')
      .set({ no_agent_since: since })
      .where('id', '=', id)
      .where('no_agent_since', 'is', null)
      .returningAll()
      .executeTakeFirst();
  }

  /** The given locations that exist. */
  async idsAmong(ids: readonly string[]): Promise<Set<string>> {
    if (ids.length === 0) return new Set();
    const rows = await this.db
      .selectFrom('private_locations')
      .select('id')
      .where(this.dialect.inList('id', [...new Set(ids)]))
      .execute();
    return new Set(rows.map(({ id }) => id));
  }

  /** The given locations that miss slots for lack of an agent. */
  async awayAmong(ids: readonly string[]): Promise<Set<string>> {
    if (ids.length === 0) return new Set();
    const rows = await this.db
      .selectFrom('private_locations')
      .select('id')
      .where(this.dialect.inList('id', [...new Set(ids)]))
      .where('no_agent_since', 'is not', null)
      .execute();
    return new Set(rows.map(({ id }) => id));
  }

  /** Records that a location has an agent again; returns whether its outage had begun at `since`. */
  async endOutage(id: string, since: number): Promise<boolean> {
    const done = await this.db
      .updateTable('private_locations')
      .set({ no_agent_since: null })
      .where('id', '=', id)
      .where('no_agent_since', '=', since)
      .executeTakeFirst();
    return done.numUpdatedRows > 0n;
  }

  /** Records that agents of a location are outdated; returns it unless that was recorded before. */
  async beginOutdated(id: string, since: number): Promise<PrivateLocationRow | undefined> {
    return this.db
      .updateTable('private_locations')
      .set({ outdated_since: since })
      .where('id', '=', id)
      .where('outdated_since', 'is', null)
      .returningAll()
      .executeTakeFirst();
  }

  /** Records that all agents of a location are current; returns it if one was outdated since then. */
  async endOutdated(id: string, since: number): Promise<PrivateLocationRow | undefined> {
    return this.db
      .updateTable('private_locations')
      .set({ outdated_since: null })
      .where('id', '=', id)
      .where('outdated_since', '=', since)
      .returningAll()
      .executeTakeFirst();
  }

  /** Since when agents are recorded as outdated, by location. */
  async outdated(): Promise<Map<string, number>> {
    const rows = await this.db
      .selectFrom('private_locations')
      .select(['id', 'outdated_since'])
      .where('outdated_since', 'is not', null)
      .execute();
    return new Map(rows.map(({ id, outdated_since: since }) => [id, since ?? 0]));
  }

  /** Records that a session was seen, with its reported data. */
  async agentSeen(row: Omit<AgentRow, 'left_at'>): Promise<void> {
    await this.db
      .insertInto('agents')
      .values({ ...row, left_at: null })
      .onConflict((conflict) =>
        conflict.columns(['location_id', 'agent_id', 'session_id']).doUpdateSet((eb) => ({
          version: eb.ref('excluded.version'),
          platform: eb.ref('excluded.platform'),
          check_types: eb.ref('excluded.check_types'),
          capabilities: eb.ref('excluded.capabilities'),
          key_id: eb.ref('excluded.key_id'),
          last_seen: eb.ref('excluded.last_seen'),
          left_at: null,
        })),
      )
      .execute();
  }

  /** Records that a known session was seen. */
  async sessionSeen(locationId: string, agentId: string, sessionId: string, now: number): Promise<void> {
    await this.db
      .updateTable('agents')
      .set({ last_seen: now })
      .where('location_id', '=', locationId)
      .where('agent_id', '=', agentId)
      .where('session_id', '=', sessionId)
      .execute();
  }

  /** Records that a session signed off. */
  async sessionLeft(locationId: string, agentId: string, sessionId: string, now: number): Promise<void> {
    await this.db
      .updateTable('agents')
      .set({ last_seen: now, left_at: now })
      .where('location_id', '=', locationId)
      .where('agent_id', '=', agentId)
      .where('session_id', '=', sessionId)
      .execute();
  }

  /** Sessions seen at or after an instant that have not signed off and whose key is still active, newest first. */
  async agents(locationIds: readonly string[], since: number): Promise<AgentRow[]> {
    if (locationIds.length === 0) return [];
    return this.db
      .selectFrom('agents')
      .selectAll()
      .where(this.dialect.inList('location_id', [...new Set(locationIds)]))
      .where('last_seen', '>=', since)
      .where('left_at', 'is', null)
      .where((eb) =>
        eb.or([eb('key_id', 'is', null), eb('key_id', 'in', eb.selectFrom('location_keys').select('id'))]),
      )
      .orderBy('last_seen', 'desc')
      .limit(maxSessionsRead)
      .execute();
  }

  /** All sessions seen at or after an instant, ended ones too, newest first. */
  async sessions(locationIds: readonly string[], since: number): Promise<AgentRow[]> {
    if (locationIds.length === 0) return [];
    return this.db
      .selectFrom('agents')
      .selectAll()
      .where(this.dialect.inList('location_id', [...new Set(locationIds)]))
      .where('last_seen', '>=', since)
      .orderBy('last_seen', 'desc')
      .limit(maxSessionsRead)
      .execute();
  }

  /** Number of checks of an account at each location, by its name. */
  async checkCounts(accountId: string): Promise<Map<string, number>> {
    const rows = await this.db
      .selectFrom('check_locations')
      .innerJoin('checks', 'checks.id', 'check_locations.check_id')
      .select(['check_locations.name', (eb) => eb.fn.countAll<number>().as('count')])
      .where('checks.account_id', '=', accountId)
      .groupBy('check_locations.name')
      .execute();
    return new Map(rows.map(({ name, count }) => [name, Number(count)]));
  }

  /** When any agent was last seen at each location. */
  async lastSeen(locationIds: readonly string[]): Promise<Map<string, number>> {
    if (locationIds.length === 0) return new Map();
    const rows = await this.db
      .selectFrom('agents')
      .select(['location_id', (eb) => eb.fn.max('last_seen').as('at')])
      .where(this.dialect.inList('location_id', locationIds))
      .groupBy('location_id')
      .execute();
    return new Map(rows.map((row) => [row.location_id, row.at]));
  }

  /** Limits the sessions of a location, keeping those last seen. */
  async boundAgents(locationId: string, most: number): Promise<void> {
    const last = await this.db
      .selectFrom('agents')
      .select('last_seen')
      .where('location_id', '=', locationId)
      .orderBy('last_seen', 'desc')
      .offset(most)
      .limit(1)
      .executeTakeFirst();
    if (!last) return;
    await this.db
      .deleteFrom('agents')
      .where('location_id', '=', locationId)
      .where('last_seen', '<=', last.last_seen)
      .execute();
  }

  /** When an agent last used each key of the given locations. */
  async keysLastUsed(locationIds: readonly string[]): Promise<Map<string, number>> {
    if (locationIds.length === 0) return new Map();
    const rows = await this.db
      .selectFrom('agents')
      .select(['key_id', (eb) => eb.fn.max('last_seen').as('at')])
      .where(this.dialect.inList('location_id', locationIds))
      .groupBy('key_id')
      .execute();
    return new Map(rows.flatMap((row) => (row.key_id === null ? [] : [[row.key_id, row.at] as const])));
  }

  /** Deletes sessions that were not seen since, except the latest of each key of a location. */
  async forgetAgents(before: number): Promise<void> {
    await this.db
      .deleteFrom('agents')
      .where('last_seen', '<', before)
      .where('last_seen', '<', (eb) =>
        eb
          .selectFrom('agents as newer')
          .select((newer) => newer.fn.max('newer.last_seen').as('at'))
          .whereRef('newer.location_id', '=', 'agents.location_id')
          .where(sql<boolean>`newer.key_id is not distinct from agents.key_id`),
      )
      .execute();
  }
}
