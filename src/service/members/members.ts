import { randomBytes, randomUUID } from 'node:crypto';
import type { Clock } from '@picket/lib/clock.ts';
import { AppError } from '@picket/lib/errors.ts';
import { notFound } from '@picket/platform/http/known-names.ts';
import { hashKey, higherRole, type KeyRole } from '@picket/platform/ids/keys.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import type { Store } from '@picket/platform/store/store.ts';
import type { InvitationRow, MemberRow, PersonRow } from './tables.ts';

/**
 * Members join an account by invitation, and each mail address is one person, whatever accounts they are a member of.
 *
 * The token of an invitation shows that a person was invited. Whether it also proves that the address is theirs depends
 * on how it was delivered: a mailed token does, one that was printed to be passed on does not. So a person is *proven*
 * by a mailed token, or by a single sign-on provider that reports the address as verified. At that moment, anything
 * done under the address before loses its effect: the password is removed, and sessions end. Otherwise an attacker
 * could invite another person's address, choose a password, and wait.
 */

export interface MemberDeps {
  readonly store: Store;
  readonly clock: Clock;
}

export const inviteDays = 7;
const inviteMs = inviteDays * 86_400_000;

export interface NewInvitation {
  readonly row: InvitationRow;
  readonly token: string;
}

/**
 * Invites an address, replacing an earlier invitation.
 *
 * @throws AppError CONFLICT if it belongs to a member.
 */
export async function invite(
  { store, clock }: MemberDeps,
  of: { readonly accountId: string; readonly email: string; readonly role: KeyRole; readonly by: string },
): Promise<NewInvitation> {
  const now = clock.wallMs();
  const token = randomBytes(32).toString('base64url');
  const row: InvitationRow = {
    id: randomUUID(),
    account_id: of.accountId,
    email: of.email,
    role: of.role,
    token_hash: hashKey(token),
    is_mailed: 0,
    invited_by: of.by,
    created: now,
    expires: now + inviteMs,
  };
  await store.transaction(async ({ accounts, members }) => {
    await accounts.lockAccount(of.accountId);
    const all = await members.ofAccount(of.accountId);
    if (all.some(({ email }) => email === of.email)) {
      throw new AppError(
        'CONFLICT',
        `${of.email} is already a member. Change the role of the member instead.`,
      );
    }
    await members.invite(row);
  });
  return { row, token };
}

/**
 * Adds a member who will log in by single sign-on, or set a password by a link.
 *
 * @throws AppError CONFLICT if they already are one.
 */
export async function addMember(
  { store, clock }: MemberDeps,
  of: { readonly accountId: string; readonly email: string; readonly role: KeyRole },
): Promise<{ userId: string }> {
  return store.transaction(async (repositories) => {
    const { accounts, members } = repositories;
    if (!(await accounts.find(of.accountId))) throw notFound(`account ${of.accountId}`);
    await accounts.lockAccount(of.accountId);
    const now = clock.wallMs();
    const person = (await members.personByEmail(of.email)) ?? (await newPerson(members, of.email, now));
    if (await members.member(of.accountId, person.id)) {
      throw new AppError('CONFLICT', `${of.email} is already a member.`);
    }
    await join(repositories, { account_id: of.accountId, role: of.role, email: of.email }, person.id, now);
    return { userId: person.id };
  });
}

/**
 * Changes the role of a member. It also overrides a role from groups until their next login.
 *
 * @throws AppError NOT_FOUND, or CONFLICT for the last member with the role ADMIN.
 */
export async function setRole(
  { store, clock }: MemberDeps,
  of: { readonly accountId: string; readonly userId: string; readonly role: KeyRole },
): Promise<void> {
  await store.transaction(async (repositories) => {
    const member = await findForChange(repositories, of.accountId, of.userId, of.role === 'ADMIN');
    const roles = { role: of.role, given_role: of.role, group_role: null };
    await repositories.members.setRoles(member, roles, clock.wallMs());
  });
}

/**
 * Ends a membership and its sessions.
 *
 * @throws AppError NOT_FOUND, or CONFLICT for the last member with the role ADMIN.
 */
export async function removeMember(
  { store }: Pick<MemberDeps, 'store'>,
  of: { readonly accountId: string; readonly userId: string },
): Promise<void> {
  await store.transaction(async (repositories) => {
    await findForChange(repositories, of.accountId, of.userId, false);
    await repositories.members.removeMember(of.accountId, of.userId);
  });
}

async function findForChange(
  { accounts, members }: Pick<Repositories, 'accounts' | 'members'>,
  accountId: string,
  userId: string,
  staysAdmin: boolean,
): Promise<MemberRow> {
  // Serializes two admins who demote each other at once.
  await accounts.lockAccount(accountId);
  const all = await members.ofAccount(accountId);
  const member = all.find(({ person_id: id }) => id === userId);
  if (!member) throw notFound(`member ${userId}`);
  const isOther = all.some(({ person_id: id, role }) => id !== userId && role === 'ADMIN');
  if (member.role !== 'ADMIN' || staysAdmin || isOther) return member;
  throw new AppError(
    'CONFLICT',
    'This is the last member with the role ADMIN. Make another member ADMIN first.',
  );
}

/** Turns an invited person into a member, once. */
export async function join(
  { members }: Pick<Repositories, 'members'>,
  invitation: Pick<InvitationRow, 'account_id' | 'role' | 'email'>,
  personId: string,
  now: number,
): Promise<void> {
  const { account_id, role } = invitation;
  const member = await members.member(account_id, personId);
  if (!member) {
    const roles = { role, given_role: role, group_role: null };
    await members.insertMember({ account_id, person_id: personId, ...roles, created: now, updated: now });
  } else if (member.given_role === null && member.group_role !== null) {
    // Admitted by a group in the meantime.
    const roles = { given_role: role, group_role: member.group_role };
    await members.setRoles(member, { ...roles, role: higherRole(role, member.group_role) ?? role }, now);
  }
  await members.uninvite(account_id, invitation.email);
}

export async function newPerson(
  members: Repositories['members'],
  email: string,
  now: number,
  fields: Partial<Pick<PersonRow, 'name' | 'password' | 'email_proven'>> = {},
): Promise<PersonRow> {
  const person: PersonRow = {
    id: randomUUID(),
    email,
    email_proven: 0,
    name: null,
    password: null,
    created: now,
    ...fields,
  };
  await members.insertPerson(person);
  return person;
}

/** Records that a person has proven their address: what others did under it before ends. */
export async function prove(
  { members, logins }: Pick<Repositories, 'members' | 'logins'>,
  person: PersonRow,
): Promise<PersonRow> {
  if (person.email_proven === 1) return person;
  await members.updatePerson(person.id, { email_proven: 1, password: null });
  await logins.deleteOfPerson(person.id);
  return { ...person, email_proven: 1, password: null };
}
