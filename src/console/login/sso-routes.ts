import type { RoleChange } from '@picket/service/members/group-roles.ts';
import { admit } from '@picket/service/members/single-sign-on.ts';
import type { InvitationRow, PersonRow } from '@picket/service/members/tables.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ownPath } from '../requests/addresses.ts';
import { cookieOf, isSecure, setCookie } from '../requests/cookie.ts';
import { type Entrance, originOf } from './entrance.ts';
import { type Offer, offeredMain } from './page.ts';
import { LoginRefused, type Provider } from './provider.ts';

const cookieName = 'picket-sso';
/** Time limit for the login at the provider. */
const patienceSeconds = 600;

/** Login with an OpenID Connect provider. */
export function addSingleSignOn(app: FastifyInstance, entrance: Entrance, provider: Provider): void {
  const { deps } = entrance;
  const { sessions, replies, publicUrl } = deps;
  const keep = (request: FastifyRequest, reply: FastifyReply, value: string, maxAgeSeconds: number) =>
    setCookie(reply, cookieName, value, { maxAgeSeconds, isSecure: isSecure(request, publicUrl) });

  app.get('/login/sso', { exposeHeadRoute: false }, async (request, reply) => {
    await entrance.spend(request, reply);
    const next = ownPath(new URL(request.url, 'http://own.invalid').searchParams.get('next'));
    try {
      const { url, secret } = await provider.begin();
      keep(request, reply, `${secret}.${Buffer.from(next).toString('base64url')}`, patienceSeconds);
      return reply.redirect(url, 303);
    } catch (thrown) {
      return refused(thrown, request, reply);
    }
  });

  app.get('/login/sso/callback', { exposeHeadRoute: false }, async (request, reply) => {
    await entrance.spend(request, reply);
    const [secret = '', place = ''] = (cookieOf(request, cookieName) ?? '').split('.');
    keep(request, reply, '', 0);
    try {
      if (secret === '') {
        throw new LoginRefused('This login was started in another browser, or too long ago. Log in again.');
      }
      const claims = await provider.finish(new URL(request.url, 'http://own.invalid').search, secret);
      const admission = await admit(deps, provider.settings, claims);
      await warnOfAccounts(admission.changes);
      if ('refusal' in admission) {
        const person = await deps.store.members.personByEmail(admission.email);
        return refused(new LoginRefused(admission.refusal), request, reply, {
          name: admission.email,
          person,
        });
      }
      const { person, accountId, invitations } = admission;
      const next = ownPath(Buffer.from(place, 'base64url').toString());
      if (accountId !== undefined) await begin({ person, accountId }, request, reply);
      if (invitations.length === 0) return reply.redirect(next, 303);
      const main = offeredMain(await offers(person, invitations), accountId === undefined ? null : next);
      return replies.send({ title: 'You are invited', main }, { request, reply });
    } catch (thrown) {
      return refused(thrown, request, reply);
    }
  });

  app.post('/login/sso/join', async (request, reply) => {
    const form = entrance.formOf(request);
    await entrance.spend(request, reply);
    const taken = await sessions.redeemOffer(form.get('offer') ?? '');
    if (!taken) {
      const words = 'This invitation was already used, was revoked, or has expired. Log in again.';
      return refused(new LoginRefused(words), request, reply);
    }
    await begin(taken, request, reply);
    return reply.redirect('/', 303);
  });

  async function begin(
    { person, accountId }: { readonly person: PersonRow; readonly accountId: string },
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<void> {
    const session = await sessions.openAs(person, accountId, {
      ...originOf(request),
      isBySingleSignOn: true,
    });
    await entrance.begin(session, 'single sign-on', { request, reply });
  }

  async function offers(person: PersonRow, invitations: readonly InvitationRow[]): Promise<Offer[]> {
    const all: Offer[] = [];
    for (const invitation of invitations) {
      const account = await deps.store.accounts.find(invitation.account_id);
      const token = await sessions.offer(person, invitation);
      if (account) all.push({ invitation, token, accountName: account.name });
    }
    return all;
  }

  /** Logs that an account has lost its last admin, as a notice to the operator. */
  async function warnOfAccounts(changes: readonly RoleChange[]): Promise<void> {
    for (const { accountId, before, after } of changes) {
      if (before !== 'ADMIN' || after === 'ADMIN') continue;
      const all = await deps.store.members.ofAccount(accountId);
      if (all.some(({ role }) => role === 'ADMIN')) continue;
      const advice = 'assign one: picket service members role MAIL ADMIN, or use an API key with that role';
      deps.logger.warn(
        { accountId, advice },
        'the groups of single sign-on left an account without an ADMIN',
      );
    }
  }

  async function refused(
    thrown: unknown,
    request: FastifyRequest,
    reply: FastifyReply,
    of: Parameters<Entrance['refuse']>[2] = { name: provider.settings.name },
  ) {
    if (!(thrown instanceof LoginRefused)) throw thrown;
    await entrance.refuse('single sign-on', request, { ...of, reason: thrown.message });
    const said = { message: thrown.message, kind: 'refused' as const };
    return replies.send(await entrance.page({ next: '/', said }, 422), { request, reply });
  }
}
