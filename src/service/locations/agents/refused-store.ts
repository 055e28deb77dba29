import { Repository } from '@picket/platform/store/engine/repository.ts';
import { sql } from 'kysely';
import type { RefusedAgentRow } from '../tables.ts';

/** Revoked keys kept per location, newest first. */
const maxRevoked = 20;
/** Agents kept per account, last tried first: an account cannot fill the store with refused requests. */
const maxRefused = 200;
const keptMs = 7 * 86_400_000;

/** Whom a refused key belonged to. */
export interface KeyOwner {
  readonly accountId: string;
  /** Empty for an API key of the account. */
  readonly locationId: string;
  readonly masked: string;
}

export interface RefusedCaller {
  readonly agentId: string;
  readonly address: string;
  readonly version: string;
}

/** Agents that were refused for their key, as far as the key shows whose they are. */
export class RefusedAgents extends Repository {
  /** The location that a revoked key belonged to, or the account of an API key. */
  async ownerOf(keyHash: string): Promise<KeyOwner | undefined> {
    const revoked = await this.db
      .selectFrom('revoked_location_keys')
      .innerJoin('private_locations', 'private_locations.id', 'revoked_location_keys.location_id')
      .select(['private_locations.account_id', 'private_locations.id', 'revoked_location_keys.masked'])
      .where('revoked_location_keys.key_hash', '=', keyHash)
      .executeTakeFirst();
    if (revoked) return { accountId: revoked.account_id, locationId: revoked.id, masked: revoked.masked };
    const key = await this.db
      .selectFrom('api_keys')
      .select(['account_id', 'masked'])
      .where('key_hash', '=', keyHash)
      .executeTakeFirst();
    return key && { accountId: key.account_id, locationId: '', masked: key.masked };
  }

  async record(owner: KeyOwner, caller: RefusedCaller, now: number): Promise<void> {
    const row: RefusedAgentRow = {
      account_id: owner.accountId,
      location_id: owner.locationId,
      masked: owner.masked,
      agent_id: caller.agentId,
      address: caller.address,
      version: caller.version,
      first_tried: now,
      last_tried: now,
      tries: 1,
    };
    await this.db
      .insertInto('refused_agents')
      .values(row)
      .onConflict((conflict) =>
        conflict
          .columns(['account_id', 'location_id', 'masked', 'agent_id', 'address'])
          .doUpdateSet({ last_tried: now, version: row.version, tries: sql`refused_agents.tries + 1` }),
      )
      .execute();
    await this.#bound(owner.accountId, now);
  }

  /** Refused agents of a location, or those with API keys of the account (an empty id), last tried first. */
  async list(accountId: string, since: number, locationId?: string): Promise<RefusedAgentRow[]> {
    let query = this.db
      .selectFrom('refused_agents')
      .selectAll()
      .where('account_id', '=', accountId)
      .where('last_tried', '>=', since);
    if (locationId !== undefined) query = query.where('location_id', '=', locationId);
    return query.orderBy('last_tried', 'desc').execute();
  }

  /** Forgets the refused agents of a location that is deleted; its revoked keys go with it. */
  async forgetLocation(locationId: string): Promise<void> {
    await this.db.deleteFrom('refused_agents').where('location_id', '=', locationId).execute();
  }

  /** Limits the revoked keys of a location. */
  async boundRevoked(locationId: string): Promise<void> {
    const oldest = await this.db
      .selectFrom('revoked_location_keys')
      .select('revoked')
      .where('location_id', '=', locationId)
      .orderBy('revoked', 'desc')
      .offset(maxRevoked)
      .limit(1)
      .executeTakeFirst();
    if (!oldest) return;
    await this.db
      .deleteFrom('revoked_location_keys')
      .where('location_id', '=', locationId)
      .where('revoked', '<=', oldest.revoked)
      .execute();
  }

  async #bound(accountId: string, now: number): Promise<void> {
    const last = await this.db
      .selectFrom('refused_agents')
      .select('last_tried')
      .where('account_id', '=', accountId)
      .orderBy('last_tried', 'desc')
      .offset(maxRefused)
      .limit(1)
      .executeTakeFirst();
    await this.db
      .deleteFrom('refused_agents')
      .where('account_id', '=', accountId)
      .where('last_tried', '<', Math.max(now - keptMs, (last?.last_tried ?? 0) + 1))
      .execute();
  }
}
