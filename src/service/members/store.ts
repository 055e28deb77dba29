import { ranks } from '@picket/platform/ids/keys.ts';
import { Repository } from '@picket/platform/store/engine/repository.ts';
import { sql } from 'kysely';
import type { IdentityRow, InvitationRow, MemberRow, PasswordResetRow, PersonRow } from './tables.ts';

/** A member with their personal data. */
export interface KnownMember extends MemberRow {
  readonly email: string;
  readonly name: string | null;
  /** Number of provider subjects they have logged in with. */
  readonly identities: number;
}

type Roles = Pick<MemberRow, 'role' | 'given_role' | 'group_role'>;

/** People, their memberships, and invitations. Tokens are stored only as hashes. */
export class Members extends Repository {
  async insertPerson(row: PersonRow): Promise<void> {
    await this.db.insertInto('people').values(row).execute();
  }

  async person(id: string): Promise<PersonRow | undefined> {
    return this.db.selectFrom('people').selectAll().where('id', '=', id).executeTakeFirst();
  }

  async personByEmail(email: string): Promise<PersonRow | undefined> {
    return this.db.selectFrom('people').selectAll().where('email', '=', email).executeTakeFirst();
  }

  /** Whether any person can log in with a password. */
  async hasPasswords(): Promise<boolean> {
    const one = this.db.selectFrom('people').select('id').where('password', 'is not', null).limit(1);
    return (await one.executeTakeFirst()) !== undefined;
  }

  async updatePerson(
    id: string,
    changes: Partial<Pick<PersonRow, 'email_proven' | 'name' | 'password'>>,
  ): Promise<void> {
    await this.db.updateTable('people').set(changes).where('id', '=', id).execute();
  }

  async insertMember(row: MemberRow): Promise<void> {
    await this.db.insertInto('members').values(row).execute();
  }

  async member(accountId: string, personId: string): Promise<KnownMember | undefined> {
    return this.#known()
      .where('members.account_id', '=', accountId)
      .where('members.person_id', '=', personId)
      .executeTakeFirst();
  }

  /** Members of an account, newest first. */
  async ofAccount(accountId: string): Promise<KnownMember[]> {
    return this.#known()
      .where('members.account_id', '=', accountId)
      .orderBy('members.created', 'desc')
      .orderBy('members.person_id', 'desc')
      .execute();
  }

  /** Accounts that a person is a member of, earliest first. */
  async accountsOf(
    personId: string,
  ): Promise<({ id: string; name: string } & Pick<MemberRow, 'role' | 'given_role' | 'group_role'>)[]> {
    return this.db
      .selectFrom('members')
      .innerJoin('accounts', 'accounts.id', 'members.account_id')
      .select(['accounts.id', 'accounts.name'])
      .select(['members.role', 'members.given_role', 'members.group_role'])
      .where('members.person_id', '=', personId)
      .orderBy('members.created')
      .orderBy('accounts.id')
      .execute();
  }

  /** Changes the roles of a member; a reduced role ends their sessions in that account. */
  async setRoles(member: MemberRow, roles: Roles, now: number): Promise<void> {
    const { account_id: accountId, person_id: personId } = member;
    await this.db
      .updateTable('members')
      .set({ ...roles, updated: now })
      .where('account_id', '=', accountId)
      .where('person_id', '=', personId)
      .execute();
    if (ranks[roles.role] < ranks[member.role]) await this.#endSessions(accountId, personId);
  }

  /** Ends the membership and the sessions in that account. */
  async removeMember(accountId: string, personId: string): Promise<void> {
    await this.#endSessions(accountId, personId);
    await this.db
      .deleteFrom('members')
      .where('account_id', '=', accountId)
      .where('person_id', '=', personId)
      .execute();
  }

  async #endSessions(accountId: string, personId: string): Promise<void> {
    await this.db
      .deleteFrom('login_sessions')
      .where('account_id', '=', accountId)
      .where('person_id', '=', personId)
      .execute();
  }

  /** Stores an invitation, replacing an earlier one for the same address. */
  async invite(row: InvitationRow): Promise<void> {
    await this.uninvite(row.account_id, row.email);
    await this.db.insertInto('invitations').values(row).execute();
  }

  async uninvite(accountId: string, email: string): Promise<void> {
    await this.db
      .deleteFrom('invitations')
      .where('account_id', '=', accountId)
      .where('email', '=', email)
      .execute();
  }

  async invitationsOf(accountId: string): Promise<InvitationRow[]> {
    return this.db.selectFrom('invitations').selectAll().where('account_id', '=', accountId).execute();
  }

  async invitation(accountId: string, id: string): Promise<InvitationRow | undefined> {
    const all = this.db.selectFrom('invitations').selectAll().where('account_id', '=', accountId);
    return all.where('id', '=', id).executeTakeFirst();
  }

  async recordMailed(id: string): Promise<void> {
    await this.db.updateTable('invitations').set({ is_mailed: 1 }).where('id', '=', id).execute();
  }

  /** Undefined if it was used, withdrawn or has expired. */
  async invitationByToken(tokenHash: string, now: number): Promise<InvitationRow | undefined> {
    const all = this.db.selectFrom('invitations').selectAll().where('token_hash', '=', tokenHash);
    return all.where('expires', '>', now).executeTakeFirst();
  }

  async invitationsFor(email: string, now: number): Promise<InvitationRow[]> {
    const all = this.db.selectFrom('invitations').selectAll().where('email', '=', email);
    return all.where('expires', '>', now).orderBy('created').execute();
  }

  /** Returns whether it existed: of several concurrent calls only one returns true. */
  async redeemInvitation(id: string): Promise<boolean> {
    const done = await this.db.deleteFrom('invitations').where('id', '=', id).executeTakeFirst();
    return done.numDeletedRows > 0n;
  }

  /** Stores the token of a reset, deleting earlier ones of the same person, and expired ones. */
  async addReset(row: PasswordResetRow, now: number): Promise<void> {
    await this.db
      .deleteFrom('password_resets')
      .where((eb) => eb.or([eb('expires', '<=', now), eb('person_id', '=', row.person_id)]))
      .execute();
    await this.db.insertInto('password_resets').values(row).execute();
  }

  async reset(tokenHash: string, now: number): Promise<PasswordResetRow | undefined> {
    const all = this.db.selectFrom('password_resets').selectAll().where('token_hash', '=', tokenHash);
    return all.where('expires', '>', now).executeTakeFirst();
  }

  /** Returns whether it existed. */
  async redeemReset(tokenHash: string): Promise<boolean> {
    const all = this.db.deleteFrom('password_resets').where('token_hash', '=', tokenHash);
    return (await all.executeTakeFirst()).numDeletedRows > 0n;
  }

  async identity(issuer: string, subject: string): Promise<IdentityRow | undefined> {
    const all = this.db.selectFrom('identities').selectAll().where('issuer', '=', issuer);
    return all.where('subject', '=', subject).executeTakeFirst();
  }

  async insertIdentity(row: IdentityRow): Promise<void> {
    await this.db.insertInto('identities').values(row).execute();
  }

  #known() {
    return this.db
      .selectFrom('members')
      .innerJoin('people', 'people.id', 'members.person_id')
      .selectAll('members')
      .select(['people.email', 'people.name'])
      .select(
        sql<number>`(select count(*) from identities where identities.person_id = members.person_id)`.as(
          'identities',
        ),
      );
  }
}
