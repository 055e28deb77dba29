import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { CursorPaging } from '../http/cursor.ts';
import { created, defineRoutes } from '../http/route.ts';
import { Role } from './role.ts';

const DateTime = lazySchema(() => z.iso.datetime());

/** A normalized mail address: addresses that differ only in case are equal. */
export const MailAddress = lazySchema(() =>
  z.email({ error: 'must be a mail address' }).max(254).toLowerCase().describe('Mail address'),
);

const Member = lazySchema(() =>
  z
    .object({
      type: z.literal('member'),
      accountId: z.uuid(),
      userId: z.uuid(),
      name: z.string().nullable(),
      email: z.string(),
      role: Role,
      givenRole: Role.nullable().describe(
        'Role set by an admin, an invitation or the operator; null for members whose access comes from single sign-on only',
      ),
      groupRole: Role.nullable().describe(
        'Role from groups or domain at the last single sign-on. The higher of the two roles applies',
      ),
      status: z.literal('ACTIVE'),
      createdAt: DateTime.schema,
      updatedAt: DateTime.schema,
      ssoEnabled: z.boolean().describe('Whether the member has used single sign-on'),
      mfaEnabled: z.boolean().describe('Always false: the single sign-on provider handles second factors'),
      isSupportMembership: z.literal(false),
    })
    .meta({ id: 'Member' }),
);
export type Member = z.output<typeof Member.schema>;

const Invite = lazySchema(() =>
  z
    .object({
      type: z.literal('invite'),
      id: z.uuid(),
      accountId: z.uuid(),
      email: z.string(),
      role: Role,
      status: z.enum(['PENDING', 'EXPIRED']),
      inviterEmail: z.string().describe('The mail address of the member, or the name of the API key'),
      createdAt: DateTime.schema,
      updatedAt: DateTime.schema,
      expiresAt: DateTime.schema,
    })
    .meta({ id: 'Invite' }),
);
export type Invite = z.output<typeof Invite.schema>;

const statuses = z.enum(['ACTIVE', 'PENDING', 'EXPIRED']);
/** In any case, as clients of comparable systems send them. */
const anyCase = z.string().toUpperCase();

const listQuery = z.object({
  search: z.string().max(254).optional().describe('Part of a name or a mail address; case is ignored'),
  type: z.enum(['member', 'invite']).optional(),
  role: anyCase
    .pipe(Role)
    .optional()
    .describe(Role.description ?? ''),
  status: anyCase.pipe(statuses).optional().describe('ACTIVE, PENDING or EXPIRED'),
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(100)
    .optional()
    .describe('Items per page; all of them when absent'),
  nextId: CursorPaging.nextId,
});

const ListAnswer = lazySchema(() =>
  z.object({
    members: z.array(z.discriminatedUnion('type', [Member.schema, Invite.schema])),
    length: z.int().describe('Items on this page'),
    nextId: z.string().nullable().describe('Cursor of the next page; null on the last page'),
  }),
);

export const MemberPatch = lazySchema(() => z.object({ role: Role }).meta({ id: 'MemberPatch' }));
export const InviteInput = lazySchema(() =>
  z.object({ email: MailAddress.schema, role: Role }).meta({ id: 'InviteInput' }),
);
const ofMember = {
  path: '/v1/accounts/me/members/{userId}',
  params: z.object({ userId: z.uuid() }),
} as const;

/** The members of an account. */
export const memberRoutes = defineRoutes('Members', 'account', {
  listOwnMembers: {
    method: 'GET',
    path: '/v1/accounts/me/members',
    summary: 'Members of the account of the API key, and open invitations, newest first',
    query: listQuery,
    response: ListAnswer,
  },
  listMembers: {
    method: 'GET',
    path: '/v1/accounts/{accountId}/members',
    summary: 'Members of a given account of the API key, and open invitations',
    params: z.object({ accountId: z.uuid() }),
    query: listQuery,
    response: ListAnswer,
  },
  getMember: {
    ...ofMember,
    method: 'GET',
    summary: 'One member',
    response: Member,
  },
  updateMember: {
    ...ofMember,
    method: 'PATCH',
    summary:
      'Change the role of a member, effective from the next request. A lower role ends the sessions of the member',
    isAdmin: true,
    body: MemberPatch,
    otherErrors: [409],
    response: Member,
  },
  deleteMember: {
    ...ofMember,
    method: 'DELETE',
    summary: 'Remove a member and end their sessions immediately',
    isAdmin: true,
    otherErrors: [409],
  },
  createInvite: {
    method: 'POST',
    path: '/v1/accounts/me/invites',
    summary: 'Invite a member by mail; this replaces an earlier invitation of the same address',
    isAdmin: true,
    body: InviteInput,
    otherErrors: [409],
    success: created,
    response: lazySchema(() =>
      Invite.schema
        .extend({
          link: z
            .string()
            .nullable()
            .describe('Link of the invitation, not shown again; null if it was mailed'),
          mailResult: z
            .string()
            .nullable()
            .describe('Response of the mail server; null without a mail server'),
        })
        .meta({ id: 'CreatedInvite' }),
    ),
  },
  getInvite: {
    method: 'GET',
    path: '/v1/accounts/me/invites/{id}',
    summary: 'One member invitation',
    params: z.object({ id: z.uuid() }),
    response: Invite,
  },
  deleteInvite: {
    method: 'DELETE',
    path: '/v1/accounts/me/invites/{id}',
    summary: 'Revoke an invitation: its link stops working',
    isAdmin: true,
    params: z.object({ id: z.uuid() }),
  },
});

const Session = lazySchema(() =>
  z
    .object({
      id: z.uuid(),
      actor: z
        .object({ kind: z.enum(['API_KEY', 'MEMBER']), id: z.string(), name: z.string() })
        .describe('The member or API key of the login')
        .meta({ id: 'SessionActor' }),
      address: z.string().nullable().describe('Client address at login'),
      browser: z.string().nullable().describe('User agent of the browser'),
      createdAt: DateTime.schema,
      lastSeenAt: DateTime.schema.describe('To the minute'),
      expiresAt: DateTime.schema.describe('Extended by use; at most SESSION_MAX_HOURS after the login'),
    })
    .meta({ id: 'LoginSession' }),
);
export type Session = z.output<typeof Session.schema>;

/** Login sessions of browsers. */
export const loginSessionRoutes = defineRoutes('Login sessions', 'account', {
  listLoginSessions: {
    method: 'GET',
    path: '/v1/accounts/me/sessions',
    summary: 'Browser sessions of the caller or the API key; for ADMIN, all of the account',
    response: lazySchema(() => z.array(Session.schema)),
  },
  endLoginSession: {
    method: 'DELETE',
    path: '/v1/accounts/me/sessions/{id}',
    summary: 'End a session of the caller; for ADMIN, any session of the account',
    isOwn: true,
    params: z.object({ id: z.uuid() }),
  },
});
