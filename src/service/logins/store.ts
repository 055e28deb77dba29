import type { KeyRole } from '@picket/platform/ids/keys.ts';
import { Repository } from '@picket/platform/store/engine/repository.ts';
import type { LoginSessionRow } from './tables.ts';

/** A session with its owner's current role and name. */
export interface KnownSession extends LoginSessionRow {
  readonly role: KeyRole;
  readonly name: string;
}

/** Browser login sessions. Their tokens are stored only as hashes. */
export class LoginSessions extends Repository {
  async insert(row: LoginSessionRow): Promise<void> {
    await this.db.insertInto('login_sessions').values(row).execute();
  }

  /** Undefined once it has expired, its key was deleted, or its member removed. */
  async find(
    kind: LoginSessionRow['kind'],
    tokenHash: string,
    now: number,
  ): Promise<KnownSession | undefined> {
    const row = await this.#known(now)
      .where('token_hash', '=', tokenHash)
      .where('kind', '=', kind)
      .executeTakeFirst();
    return row && known(row)[0];
  }

  /** Consumes a token of this kind and returns its row, once. */
  async take(
    kind: LoginSessionRow['kind'],
    tokenHash: string,
    now: number,
  ): Promise<LoginSessionRow | undefined> {
    const row = await this.db
      .selectFrom('login_sessions')
      .selectAll()
      .where('token_hash', '=', tokenHash)
      .where('kind', '=', kind)
      .where('expires', '>', now)
      .executeTakeFirst();
    return row && (await this.delete(row.account_id, row.id)) ? row : undefined;
  }

  /** A browser session by its id. */
  async findById(id: string, now: number): Promise<LoginSessionRow | undefined> {
    return this.db
      .selectFrom('login_sessions')
      .selectAll()
      .where('id', '=', id)
      .where('kind', '=', 'session')
      .where('expires', '>', now)
      .executeTakeFirst();
  }

  /** Sessions of an account, most recently used first. */
  async list(accountId: string, now: number): Promise<KnownSession[]> {
    const rows = await this.#known(now)
      .where('login_sessions.account_id', '=', accountId)
      .where('kind', '=', 'session')
      .orderBy('last_seen', 'desc')
      .execute();
    return rows.flatMap(known);
  }

  async extend(id: string, lastSeen: number, expires: number): Promise<void> {
    await this.db
      .updateTable('login_sessions')
      .set({ last_seen: lastSeen, expires })
      .where('id', '=', id)
      .execute();
  }

  /** Returns whether it existed: of several concurrent deletions only one returns true. */
  async delete(accountId: string, id: string): Promise<boolean> {
    const done = await this.db
      .deleteFrom('login_sessions')
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .executeTakeFirst();
    return done.numDeletedRows > 0n;
  }

  /** Moves a person's session to another of their accounts. */
  async move(id: string, personId: string, accountId: string): Promise<void> {
    await this.db
      .updateTable('login_sessions')
      .set({ account_id: accountId })
      .where('id', '=', id)
      .where('person_id', '=', personId)
      .execute();
  }

  /** Ends all sessions of a person, in every account, except one. */
  async deleteOfPerson(personId: string, keptId = ''): Promise<void> {
    await this.db
      .deleteFrom('login_sessions')
      .where('person_id', '=', personId)
      .where('id', '<>', keptId)
      .execute();
  }

  async deleteExpired(now: number): Promise<void> {
    await this.db.deleteFrom('login_sessions').where('expires', '<=', now).execute();
  }

  #known(now: number) {
    return this.db
      .selectFrom('login_sessions')
      .leftJoin('api_keys', 'api_keys.id', 'login_sessions.key_id')
      .leftJoin('members', (join) =>
        join
          .onRef('members.person_id', '=', 'login_sessions.person_id')
          .onRef('members.account_id', '=', 'login_sessions.account_id'),
      )
      .leftJoin('people', 'people.id', 'members.person_id')
      .selectAll('login_sessions')
      .select([
        'api_keys.role as key_role',
        'api_keys.name as key_name',
        'members.role as member_role',
        'members.given_role',
        'members.group_role',
        'people.name as person_name',
        'people.email',
      ])
      .where('expires', '>', now);
  }
}

interface Joined extends LoginSessionRow {
  readonly key_role: KeyRole | null;
  readonly key_name: string | null;
  readonly member_role: KeyRole | null;
  readonly given_role: KeyRole | null;
  readonly group_role: KeyRole | null;
  readonly person_name: string | null;
  readonly email: string | null;
}

/** Omits sessions whose key or membership is gone, or whose role does not apply to this kind of login. */
function known(joined: Joined): KnownSession[] {
  const { key_role, key_name, member_role, given_role, group_role, person_name, email, ...row } = joined;
  const role = row.person_id === null ? key_role : roleIn(row, { role: member_role, given_role, group_role });
  const name = row.person_id === null ? key_name : (person_name ?? email);
  return role === null || name === null ? [] : [{ ...row, role, name }];
}

/** Role of a member in a session: roles from groups apply only to logins through the provider. */
export function roleIn<Role extends KeyRole | null>(
  { by_single_sign_on: isBySso }: Pick<LoginSessionRow, 'by_single_sign_on'>,
  member: { readonly role: Role; readonly given_role: KeyRole | null; readonly group_role: KeyRole | null },
): Role | KeyRole | null {
  return isBySso === 1 || member.group_role === null ? member.role : member.given_role;
}
