import { AppError } from '@picket/lib/errors.ts';
import { type AnyHandler, type HandlerDeps, handlersById, iso } from '@picket/platform/feature/handler.ts';
import { found, notFound } from '@picket/platform/http/known-names.ts';
import type { AccountCaller } from '@picket/platform/ids/callers.ts';
import type { KeyRole } from '@picket/platform/ids/keys.ts';
import { type Invite, type Member, memberRoutes } from '@picket/protocol/accounts/member.ts';
import { formatCursor, parseCursor } from '@picket/protocol/http/cursor.ts';
import { canMail, invitationMail, linkTo, type Mailing } from './mails.ts';
import { invite, removeMember, setRole } from './members.ts';
import type { KnownMember } from './store.ts';
import type { InvitationRow } from './tables.ts';

interface ListQuery {
  readonly search?: string | undefined;
  readonly type?: 'member' | 'invite' | undefined;
  readonly role?: KeyRole | undefined;
  readonly status?: 'ACTIVE' | 'PENDING' | 'EXPIRED' | undefined;
  readonly limit?: number | undefined;
  readonly nextId?: string | undefined;
}

/** Routes of members and invitations. */
export function memberHandlers(deps: HandlerDeps & Pick<Mailing, 'mail'>): [string, AnyHandler][] {
  const { store, clock, publicUrl } = deps;
  const list = async (accountId: string, query: ListQuery) => {
    const members = (await store.members.ofAccount(accountId)).map(memberView);
    const invitations = await store.members.invitationsOf(accountId);
    const all = [...members, ...invitations.map((row) => inviteView(row, clock.wallMs()))];
    return pageOfPeople(all, query);
  };
  const one = async (accountId: string, userId: string) =>
    memberView(found(await store.members.member(accountId, userId), `member ${userId}`));
  return handlersById(memberRoutes, {
    listOwnMembers: ({ caller, query }) => list(caller.accountId, query),
    async listMembers({ caller, params, query }) {
      if (params.accountId.toLowerCase() !== caller.accountId) throw notFound(`account ${params.accountId}`);
      return list(caller.accountId, query);
    },
    getMember: ({ caller, params }) => one(caller.accountId, params.userId),
    async updateMember({ caller, params, body }) {
      await setRole(deps, { accountId: caller.accountId, userId: params.userId, role: body.role });
      return one(caller.accountId, params.userId);
    },
    async deleteMember({ caller, params }) {
      await removeMember(deps, { accountId: caller.accountId, userId: params.userId });
    },
    async createInvite({ caller, body }) {
      const by = await inviterOf(caller);
      const { row, token } = await invite(deps, { ...body, accountId: caller.accountId, by });
      const link = linkTo(`/invitations/${token}`, publicUrl);
      const view = inviteView(row, clock.wallMs());
      if (!deps.mail) return { ...view, link, mailResult: null };
      if (!canMail(deps)) return { ...view, link, mailResult: 'not mailed: PUBLIC_URL is not set' };
      const account = found(await store.accounts.find(caller.accountId), 'account');
      // Before the mail is sent, so that the invitation already counts as mailed when the recipient opens it.
      await store.members.recordMailed(row.id);
      const sent = await deps.mail.send(
        invitationMail({ address: row.email, account: account.name, by, link }),
      );
      if (sent.isDelivered) return { ...view, link: null, mailResult: sent.result };
      // An admin who passes the link on knows the token, so it would prove nothing.
      await store.members.uninvite(caller.accountId, row.email);
      throw new AppError('CONFLICT', `The mail server rejected the invitation: ${sent.result}`);
    },
    async getInvite({ caller, params }) {
      const row = await store.members.invitation(caller.accountId, params.id);
      return inviteView(found(row, `invitation ${params.id}`), clock.wallMs());
    },
    async deleteInvite({ caller, params }) {
      const row = await store.members.invitation(caller.accountId, params.id);
      if (!row || !(await store.members.redeemInvitation(row.id))) throw notFound(`invitation ${params.id}`);
    },
  });

  async function inviterOf({ actor }: AccountCaller): Promise<string> {
    const person = actor.kind === 'MEMBER' ? await store.members.person(actor.id) : undefined;
    return person?.email ?? actor.name;
  }
}

/** A member as responses show it. */
function memberView(row: KnownMember): Member {
  return {
    type: 'member',
    accountId: row.account_id,
    userId: row.person_id,
    name: row.name,
    email: row.email,
    role: row.role,
    givenRole: row.given_role,
    groupRole: row.group_role,
    status: 'ACTIVE',
    createdAt: iso(row.created),
    updatedAt: iso(row.updated),
    ssoEnabled: Number(row.identities) > 0,
    mfaEnabled: false,
    isSupportMembership: false,
  };
}

function inviteView(row: InvitationRow, now: number): Invite {
  return {
    type: 'invite',
    id: row.id,
    accountId: row.account_id,
    email: row.email,
    role: row.role,
    status: row.expires > now ? 'PENDING' : 'EXPIRED',
    inviterEmail: row.invited_by,
    createdAt: iso(row.created),
    updatedAt: iso(row.created),
    expiresAt: iso(row.expires),
  };
}

/** A page of an account's members and invitations that match, newest first. */
function pageOfPeople(all: readonly (Member | Invite)[], query: ListQuery) {
  const { search = '', type, role, status, limit = all.length, nextId } = query;
  const cursor = parseCursor(nextId);
  const sought = search.trim().toLowerCase();
  const fits = (one: Member | Invite) =>
    (type === undefined || one.type === type) &&
    (role === undefined || one.role === role) &&
    (status === undefined || one.status === status) &&
    (one.email.includes(sought) || ('name' in one && one.name?.toLowerCase().includes(sought) === true));
  const placed = all
    .filter(fits)
    .map((one) => ({
      one,
      created: Date.parse(one.createdAt),
      id: one.type === 'member' ? one.userId : one.id,
    }))
    .sort((left, right) => right.created - left.created || (left.id < right.id ? 1 : -1))
    .filter(
      ({ created, id }) =>
        !cursor || created < cursor.created || (created === cursor.created && id < cursor.id),
    );
  const shown = placed.slice(0, limit);
  const last = shown.at(-1);
  return {
    members: shown.map(({ one }) => one),
    length: shown.length,
    nextId: placed.length > shown.length && last ? formatCursor(last) : null,
  };
}
