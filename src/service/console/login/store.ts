import type { Kysely } from 'kysely';
import type { KeyRole } from '../../ids/keys.ts';
import type { Tables } from '../../tables.ts';
import type { LoginSessionRow } from './tables.ts';

/** A session with what its API key may do now. */
export interface KeyedSession extends LoginSessionRow {
  readonly role: KeyRole;
  readonly key_name: string;
}

/** Browsers that are logged in. Their tokens are stored as hashes only. */
export class LoginSessions {
  readonly #db: Kysely<Tables>;

  constructor(db: Kysely<Tables>) {
    this.#db = db;
  }

  async insert(row: LoginSessionRow): Promise<void> {
    await this.#db.insertInto('login_sessions').values(row).execute();
  }

  /** Undefined once it expired; a session whose key was deleted is gone with it. */
  async find(
    kind: LoginSessionRow['kind'],
    tokenHash: string,
    now: number,
  ): Promise<KeyedSession | undefined> {
    return this.#db
      .selectFrom('login_sessions')
      .innerJoin('api_keys', 'api_keys.id', 'login_sessions.key_id')
      .selectAll('login_sessions')
      .select(['api_keys.role', 'api_keys.name as key_name'])
      .where('token_hash', '=', tokenHash)
      .where('kind', '=', kind)
      .where('expires', '>', now)
      .executeTakeFirst();
  }

  /** A browser that is logged in, by the id of its session. */
  async findById(id: string, now: number): Promise<LoginSessionRow | undefined> {
    return this.#db
      .selectFrom('login_sessions')
      .selectAll()
      .where('id', '=', id)
      .where('kind', '=', 'session')
      .where('expires', '>', now)
      .executeTakeFirst();
  }

  /** The sessions of an account, the one used last first. */
  async list(accountId: string, now: number): Promise<KeyedSession[]> {
    return this.#db
      .selectFrom('login_sessions')
      .innerJoin('api_keys', 'api_keys.id', 'login_sessions.key_id')
      .selectAll('login_sessions')
      .select(['api_keys.role', 'api_keys.name as key_name'])
      .where('login_sessions.account_id', '=', accountId)
      .where('kind', '=', 'session')
      .where('expires', '>', now)
      .orderBy('last_seen', 'desc')
      .execute();
  }

  async extend(id: string, lastSeen: number, expires: number): Promise<void> {
    await this.#db
      .updateTable('login_sessions')
      .set({ last_seen: lastSeen, expires })
      .where('id', '=', id)
      .execute();
  }

  /** Whether it was there: of several that delete it at once, one learns that it did. */
  async delete(accountId: string, id: string): Promise<boolean> {
    const done = await this.#db
      .deleteFrom('login_sessions')
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .executeTakeFirst();
    return done.numDeletedRows > 0n;
  }

  async deleteExpired(now: number): Promise<void> {
    await this.#db.deleteFrom('login_sessions').where('expires', '<=', now).execute();
  }
}
