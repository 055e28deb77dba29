import type { Clock } from '@picket/lib/clock.ts';
import { higherRole, type KeyRole, keyRoles } from '@picket/platform/ids/keys.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import { storedChanges } from '../audit/changes.ts';
import { record } from '../audit/record.ts';
import type { MemberRow, PersonRow } from './tables.ts';

/** Role that a login by single sign-on gives in the default account. */
export interface RoleOfLogin {
  /** Undefined if no rule matches the person. */
  readonly accountId: string | undefined;
  readonly role: KeyRole | null;
  /** Whether a group or the domain admits them; otherwise the role only applies to existing members. */
  readonly isWelcome: boolean;
  /** Whether a person who is not a member yet becomes one: their address is proven. */
  readonly mayJoin: boolean;
}

/** A membership that a login has changed. */
export interface RoleChange {
  readonly accountId: string;
  readonly before: KeyRole | null;
  /** Null: the membership has ended. */
  readonly after: KeyRole | null;
}

type Parts = Pick<Repositories, 'accounts' | 'members' | 'audit'>;

/**
 * Updates memberships to match the groups of a person who logs in, up and down. A role given by an admin, an invitation
 * or the operator stays; the higher of the two applies. Without either, the membership ends, even for the last member
 * with the role ADMIN: the account keeps an API key with that role, and the operator has `picket service members`.
 */
export async function followGroups(
  repositories: Parts,
  person: PersonRow,
  of: RoleOfLogin,
  clock: Clock,
): Promise<RoleChange[]> {
  const { accounts, members } = repositories;
  const changes: RoleChange[] = [];
  if (of.accountId !== undefined) await accounts.lockAccount(of.accountId);
  for (const { id } of await members.accountsOf(person.id)) {
    const member = await members.member(id, person.id);
    if (!member) continue;
    const given = await givenRole(repositories, member, person.email);
    const counts = id === of.accountId && (of.isWelcome || given !== null);
    const after = await apply(members, member, { given, group: counts ? of.role : null, clock });
    if (after !== member.role) changes.push({ accountId: id, before: member.role, after });
  }
  const isMember = of.accountId !== undefined && (await members.member(of.accountId, person.id));
  if (of.accountId !== undefined && of.isWelcome && of.mayJoin && of.role !== null && !isMember) {
    const [now, roles] = [clock.wallMs(), { role: of.role, given_role: null, group_role: of.role }];
    const row = { account_id: of.accountId, person_id: person.id, ...roles, created: now, updated: now };
    await members.insertMember(row);
    await members.uninvite(of.accountId, person.email);
    changes.push({ accountId: of.accountId, before: null, after: of.role });
  }
  for (const change of changes) await recordChange(repositories, clock, { person, change });
  return changes;
}

async function apply(
  members: Repositories['members'],
  member: MemberRow,
  by: { readonly given: KeyRole | null; readonly group: KeyRole | null; readonly clock: Clock },
): Promise<KeyRole | null> {
  const { given, group, clock } = by;
  const role = higherRole(given, group);
  if (role === null) {
    await members.removeMember(member.account_id, member.person_id);
  } else if (role !== member.role || given !== member.given_role || group !== member.group_role) {
    await members.setRoles(member, { role, given_role: given, group_role: group }, clock.wallMs());
  }
  return role;
}

/**
 * Role that a member was given. For members from before origins were stored, the audit log shows whether they were
 * invited, added or changed; without an entry, only groups admitted them.
 */
async function givenRole(
  { audit }: Pick<Repositories, 'audit'>,
  member: MemberRow,
  email: string,
): Promise<KeyRole | null> {
  if (member.given_role !== null || member.group_role !== null) return member.given_role;
  const accountId = member.account_id;
  const resource = `accounts/me/members/${member.person_id}`;
  const [changed] = await audit.list({ accountId, resource, operation: 'updateMember', outcome: 'DONE' }, 1);
  const entries = changed
    ? [changed]
    : [
        ...(await audit.list({ accountId, operation: 'createInvite', outcome: 'DONE' }, searchedEntries)),
        ...(await audit.list({ accountId, operation: 'addMember', outcome: 'DONE' }, searchedEntries)),
      ];
  for (const { changes } of entries) {
    const { after } = storedChanges(changes);
    if (after && (changed || after.email === email)) {
      return keyRoles.find((role) => role === after.role) ?? null;
    }
  }
  return null;
}

/** Needed only once for each member of an older version. */
const searchedEntries = 10_000;

async function recordChange(
  repositories: Pick<Repositories, 'audit'>,
  clock: Clock,
  { person, change }: { readonly person: PersonRow; readonly change: RoleChange },
): Promise<void> {
  const { accountId, before, after } = change;
  await record(repositories, clock, {
    actor: { kind: 'MEMBER', id: person.id, name: person.name ?? person.email },
    accountId,
    operation: before === null ? 'addMember' : after === null ? 'deleteMember' : 'updateMember',
    resource: `accounts/me/members/${person.id}`,
    resourceName: person.email,
    ...(before === null ? {} : { before: { role: before, by: 'groups at single sign-on' } }),
    ...(after === null ? {} : { after: { role: after, by: 'groups at single sign-on' } }),
  });
}
