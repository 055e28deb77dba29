import { systemClock } from '@picket/lib/clock.ts';
import { AppError } from '@picket/lib/errors.ts';
import type { KeyRole } from '@picket/platform/ids/keys.ts';
import type { Store } from '@picket/platform/store/store.ts';
import { MailAddress } from '@picket/protocol/accounts/member.ts';
import { parseTimestamp } from '@picket/protocol/http/query.ts';
import { auditEntry } from '@picket/service/audit/routes.ts';
import { linkTo } from '@picket/service/members/mails.ts';
import { addMember, invite, removeMember, setRole } from '@picket/service/members/members.ts';
import { startReset } from '@picket/service/members/passwords.ts';
import {
  columns,
  type Environment,
  type OutputOptions,
  print,
  recordCommand,
  withStore,
} from './store-command.ts';

interface OfAccount extends OutputOptions {
  readonly account?: string;
}

/** `picket service members list`: prints the members and the open invitations. */
export async function listMembersCommand(environment: Environment, options: OfAccount): Promise<void> {
  await withStore(environment, async (store) => {
    const accountId = await accountOf(store, options);
    const members = await store.members.ofAccount(accountId);
    const invitations = await store.members.invitationsOf(accountId);
    const all = [
      ...members.map(({ person_id, email, role, name }) => ({
        userId: person_id,
        email,
        role,
        name,
        status: 'ACTIVE',
      })),
      ...invitations.map(({ id, email, role, expires }) => ({
        inviteId: id,
        email,
        role,
        name: null,
        status: expires > systemClock.wallMs() ? 'PENDING' : 'EXPIRED',
      })),
    ];
    if (options.json) {
      console.log(JSON.stringify(all));
      return;
    }
    const rows = all.map(({ email, role, status, name }) => [email, role, status, name ?? '']);
    for (const line of columns([['address', 'role', 'status', 'name'], ...rows])) console.log(line);
  });
}

/** `picket service members add EMAIL`: adds a member who logs in by single sign-on, or after `reset-password`. */
export async function addMemberCommand(
  environment: Environment,
  address: string,
  options: OfAccount & { readonly role: KeyRole },
): Promise<void> {
  await withStore(environment, async (store) => {
    const [accountId, email] = [await accountOf(store, options), addressOf(address)];
    const { userId } = await addMember(
      { store, clock: systemClock },
      { accountId, email, role: options.role },
    );
    const made = {
      resource: `accounts/me/members/${userId}`,
      resourceName: email,
      after: { email, role: options.role },
    };
    await recordCommand(store, { accountId, operation: 'addMember', ...made });
    print({ accountId, userId, email, role: options.role }, options);
  });
}

/** `picket service members role EMAIL ROLE`. */
export async function setRoleCommand(
  environment: Environment,
  address: string,
  role: KeyRole,
  options: OfAccount,
): Promise<void> {
  await withStore(environment, async (store) => {
    const { accountId, email, member } = await memberOf(store, address, options);
    await setRole({ store, clock: systemClock }, { accountId, userId: member.person_id, role });
    const changed = { resource: `accounts/me/members/${member.person_id}`, resourceName: email };
    const changes = { before: { role: member.role }, after: { role } };
    await recordCommand(store, { accountId, operation: 'updateMember', ...changed, ...changes });
    print({ accountId, email, role }, options);
  });
}

/** `picket service members remove EMAIL`: their sessions end at once. */
export async function removeMemberCommand(
  environment: Environment,
  address: string,
  options: OfAccount,
): Promise<void> {
  await withStore(environment, async (store) => {
    const { accountId, email, member } = await memberOf(store, address, options);
    await removeMember({ store }, { accountId, userId: member.person_id });
    const gone = { resource: `accounts/me/members/${member.person_id}`, resourceName: email };
    await recordCommand(store, {
      accountId,
      operation: 'deleteMember',
      ...gone,
      before: { email, role: member.role },
    });
    print({ accountId, removed: email }, options);
  });
}

/** `picket service invite EMAIL`: prints the link of an invitation, which is shown only once. */
export async function inviteCommand(
  environment: Environment,
  address: string,
  options: OfAccount & { readonly role: KeyRole },
): Promise<void> {
  await withStore(environment, async (store, { PUBLIC_URL }) => {
    const [accountId, email] = [await accountOf(store, options), addressOf(address)];
    const invited = { accountId, email, role: options.role, by: 'the operator' };
    const { row, token } = await invite({ store, clock: systemClock }, invited);
    const made = {
      resource: `accounts/me/invites/${row.id}`,
      resourceName: email,
      after: { email, role: options.role },
    };
    await recordCommand(store, { accountId, operation: 'createInvite', ...made });
    const expiresAt = new Date(row.expires).toISOString();
    print(
      { email, role: options.role, expiresAt, link: linkTo(`/invitations/${token}`, PUBLIC_URL) },
      options,
    );
    sayWhereLinksLead(PUBLIC_URL);
  });
}

/** `picket service reset-password EMAIL`: prints a link that can be used once, within an hour, to set a password. */
export async function resetPasswordCommand(
  environment: Environment,
  address: string,
  options: OutputOptions,
): Promise<void> {
  await withStore(environment, async (store, { PUBLIC_URL }) => {
    const email = addressOf(address);
    const person = await store.members.personByEmail(email);
    if (!person)
      throw new AppError('NOT_FOUND', `No user has the address ${email}. Send an invitation first.`);
    const token = await startReset({ store, clock: systemClock }, person, false);
    for (const { id: accountId } of await store.members.accountsOf(person.id)) {
      const of = { resource: `accounts/me/members/${person.id}`, resourceName: email };
      await recordCommand(store, { accountId, operation: 'resetPassword', ...of });
    }
    print({ email, link: linkTo(`/login/reset/${token}`, PUBLIC_URL) }, options);
    sayWhereLinksLead(PUBLIC_URL);
  });
}

/** Without PUBLIC_URL a link is only a path, and the user must add the rest. */
function sayWhereLinksLead(publicUrl: string | undefined): void {
  if (publicUrl !== undefined) return;
  console.error('PUBLIC_URL is not set: put the address of the service before the link.');
}

const longestList = 1_000;

/**
 * `picket service audit`: prints the changes with their authors, newest first; also failed logins under unknown names.
 */
export async function auditCommand(
  environment: Environment,
  options: OfAccount & { readonly resource?: string; readonly since?: string; readonly limit?: string },
): Promise<void> {
  const limit = Number(options.limit ?? 50);
  if (!Number.isInteger(limit) || limit < 1 || limit > longestList) {
    throw new AppError('CONFIG_INVALID', `--limit must be a number from 1 to ${longestList}.`);
  }
  const from = options.since === undefined ? undefined : (parseTimestamp(options.since) ?? undefined);
  if (options.since !== undefined && from === undefined) {
    throw new AppError('CONFIG_INVALID', '--since must be a Unix timestamp or an ISO 8601 date that exists.');
  }
  await withStore(environment, async (store) => {
    const { account: accountId = null, resource } = options;
    const rows = await store.audit.list({ accountId, resource, from }, limit);
    const entries = rows.map((row) => ({ accountId: row.account_id, ...auditEntry(row, true) }));
    if (options.json) {
      console.log(JSON.stringify(entries));
      return;
    }
    const lines = entries.map((entry) => [
      entry.created_at,
      entry.actor.name,
      entry.address ?? '-',
      entry.operation,
      entry.outcome,
      entry.resource ?? '-',
      entry.resourceName ?? '',
    ]);
    const titles = ['when', 'who', 'from', 'what', 'outcome', 'object', 'name'];
    for (const line of columns([titles, ...lines])) console.log(line);
  });
}

function addressOf(text: string): string {
  const { data } = MailAddress.safeParse(text);
  if (data === undefined)
    throw new AppError('CONFIG_INVALID', `${JSON.stringify(text)} is not a mail address.`);
  return data;
}

/** Returns the named account; without a name, the only account. */
async function accountOf(store: Pick<Store, 'accounts'>, { account }: OfAccount): Promise<string> {
  const all = await store.accounts.list();
  const [first, second] = all;
  if (account !== undefined) {
    if (all.some(({ id }) => id === account)) return account;
    throw new AppError('NOT_FOUND', `There is no account ${account}.`);
  }
  if (first && !second) return first.id;
  throw new AppError(
    'CONFIG_INVALID',
    'There are several accounts: name one with --account (list-accounts shows them).',
  );
}

async function memberOf(store: Pick<Store, 'accounts' | 'members'>, address: string, options: OfAccount) {
  const [accountId, email] = [await accountOf(store, options), addressOf(address)];
  const member = (await store.members.ofAccount(accountId)).find((one) => one.email === email);
  if (!member) throw new AppError('NOT_FOUND', `${email} is not a member of the account.`);
  return { accountId, email, member };
}
