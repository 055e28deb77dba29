import { roleIn } from '@picket/service/logins/store.ts';
import { canMail, linkTo, resetMail } from '@picket/service/members/mails.ts';
import {
  acceptInvitation,
  type OpenInvitation,
  openInvitation,
  personOfReset,
  personWith,
  resetPassword,
  startReset,
} from '@picket/service/members/passwords.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { roleName } from '../account/tabs.ts';
import { attempt } from '../forms/problems.ts';
import { html } from '../html.ts';
import { ownPath } from '../requests/addresses.ts';
import { type Entrance, originOf } from './entrance.ts';
import { forgottenMain, setPasswordMain } from './page.ts';

interface Exchange {
  readonly request: FastifyRequest<{ Params: { token: string } }>;
  readonly reply: FastifyReply;
}

const staleInvitation = 'This invitation was already used, was revoked, or is older than a week.';
const staleReset = 'This link was already used, or is older than an hour.';

/**
 * Login with a password, acceptance of invitations, and password resets by mail. Neither texts nor response times
 * reveal whether an address belongs to a member, unless the visitor knows the password.
 */
export function addPasswordLogin(app: FastifyInstance, entrance: Entrance): void {
  const { deps } = entrance;
  const { store, sessions, replies } = deps;
  const withToken = { exposeHeadRoute: false } as const;

  app.post('/login/password', async (request, reply) => {
    const form = entrance.formOf(request);
    const next = ownPath(form.get('next'));
    const email = (form.get('email') ?? '').trim().toLowerCase();
    await entrance.spendFor(email, request, reply);
    const person = await personWith(deps, email, form.get('password') ?? '');
    const accounts = person ? await store.members.accountsOf(person.id) : [];
    const account = accounts.find((one) => roleIn({ by_single_sign_on: 0 }, one) !== null);
    if (!person || !account) {
      const known = person ?? (await store.members.personByEmail(email));
      const reason = person ? 'a member of no account, or by groups only' : undefined;
      await entrance.refuse('password', request, {
        name: email,
        person: known,
        ...(reason ? { reason } : {}),
      });
      const passwordError = person
        ? accounts.length > 0
          ? 'Your access comes from groups at single sign-on. Log in there.'
          : 'You are no longer a member of any account.'
        : 'The mail address or the password is wrong.';
      return replies.send(await entrance.page({ next, email, passwordError }, 422), { request, reply });
    }
    const session = await sessions.openAs(person, account.id, originOf(request));
    await entrance.begin(session, 'password', { request, reply });
    return reply.redirect(next, 303);
  });

  app.get('/login/forgotten', async (request, reply) =>
    replies.send(
      { title: 'A new password', main: forgottenMain({ canMail: canMail(deps) }) },
      { request, reply },
    ),
  );

  app.post('/login/forgotten', async (request, reply) => {
    const form = entrance.formOf(request);
    const email = (form.get('email') ?? '').trim().toLowerCase();
    await entrance.spend(request, reply);
    // The response does not wait for the mail: its duration would reveal members. Links mailed before stay valid.
    if (canMail(deps) && (await entrance.mayMailReset(email, reply))) void mailReset(email, request);
    for (const name of ['limit', 'remaining', 'reset']) reply.removeHeader(`x-ratelimit-${name}`);
    reply.removeHeader('retry-after');
    const message = `If ${email} is the address of a member, a link was sent to it. The link is valid for an hour.`;
    const view = await entrance.page({ next: '/', said: { message, kind: 'done' } });
    return replies.send(view, { request, reply });
  });

  async function mailReset(email: string, request: FastifyRequest): Promise<void> {
    try {
      const person = await store.members.personByEmail(email);
      if (!person) return;
      const link = linkTo(`/login/reset/${await startReset(deps, person, true)}`, deps.publicUrl);
      const sent = await deps.mail?.send(resetMail(email, link));
      if (!sent?.isDelivered) deps.logger.warn({ reason: sent?.result }, 'mail with a new password not sent');
    } catch (thrown) {
      deps.logger.error({ err: thrown, requestId: request.id }, 'mail with a new password not sent');
    }
  }

  app.get<{ Params: { token: string } }>('/login/reset/:token', withToken, async (request, reply) => {
    await entrance.spend(request, reply);
    return showReset({ request, reply });
  });

  app.post<{ Params: { token: string } }>('/login/reset/:token', async (request, reply) => {
    const form = entrance.formOf(request);
    await entrance.spend(request, reply);
    const { done: person, problems } = await attempt(() =>
      resetPassword(deps, request.params.token, form.get('password') ?? ''),
    );
    if (problems) return showReset({ request, reply }, problems.fields.get('password') ?? problems.message);
    if (!person) return refused({ request, reply }, 'reset', staleReset);
    await entrance.recordReset(person, request);
    const message =
      'Your password was changed, and all your sessions have ended. Log in with the new password.';
    const view = await entrance.page({ next: '/', email: person.email, said: { message, kind: 'done' } });
    return replies.send(view, { request, reply });
  });

  async function showReset({ request, reply }: Exchange, error?: string) {
    const person = await personOfReset(deps, request.params.token);
    if (!person) return refused({ request, reply }, 'reset', staleReset);
    const main = setPasswordMain({
      title: 'A new password',
      lead: html`For <strong>${person.email}</strong>. Changing it ends all your sessions.`,
      action: request.url,
      email: person.email,
      word: 'Change the password',
      isNew: true,
      error,
    });
    return replies.send(
      { title: 'A new password', main, statusCode: error === undefined ? 200 : 422 },
      { request, reply },
    );
  }

  app.get<{ Params: { token: string } }>('/invitations/:token', withToken, async (request, reply) => {
    await entrance.spend(request, reply);
    const open = await openInvitation(deps, request.params.token);
    if (!open) return refused({ request, reply }, 'invitation', staleInvitation);
    return showInvitation({ request, reply }, open, { name: open.person?.name ?? '' });
  });

  app.post<{ Params: { token: string } }>('/invitations/:token', async (request, reply) => {
    const form = entrance.formOf(request);
    const open = await openInvitation(deps, request.params.token);
    if (open) await entrance.spendFor(open.invitation.email, request, reply);
    else await entrance.spend(request, reply);
    if (!open) return refused({ request, reply }, 'invitation', staleInvitation);
    const name = (form.get('name') ?? '').slice(0, 200).toWellFormed().replaceAll('\u0000', '');
    const password = form.get('password') ?? '';
    const { done, problems } = await attempt(() =>
      acceptInvitation(deps, request.params.token, { name, password }),
    );
    if (!done) {
      const error = problems
        ? (problems.fields.get('password') ?? problems.message)
        : 'The password is wrong.';
      if (!problems) {
        const { email } = open.invitation;
        await entrance.refuse('invitation', request, { name: email, person: open.person });
      }
      return showInvitation({ request, reply }, open, { name, error });
    }
    const session = await sessions.openAs(done.person, done.accountId, originOf(request));
    await entrance.begin(session, 'invitation', { request, reply });
    return reply.redirect('/', 303);
  });

  async function showInvitation(
    { request, reply }: Exchange,
    { invitation, accountName, proof }: OpenInvitation,
    form: { readonly name: string; readonly error?: string },
  ) {
    const lead = html`${invitation.invited_by} invites <strong>${invitation.email}</strong> to the account “${accountName}” as ${roleName(invitation.role).toLowerCase()}.`;
    const isNew = proof === 'new-password';
    const main =
      proof === 'single-sign-on'
        ? html`<div class="login"><h1>You are invited</h1><p>${lead}</p><p>You log in without a password. Log in as usual, then join.</p><p class="actions"><a class="button primary" href="/login/sso">Continue with single sign-on</a></p></div>`
        : setPasswordMain({
            title: 'You are invited',
            lead: isNew
              ? html`${lead} Choose a password to log in with.`
              : html`${lead} You already have a password. Enter it to join.`,
            action: request.url,
            email: invitation.email,
            word: 'Join the account',
            isNew,
            error: form.error,
            ...(isNew ? { name: form.name } : {}),
          });
    const statusCode = form.error === undefined ? 200 : 422;
    return replies.send({ title: 'You are invited', main, statusCode }, { request, reply });
  }

  async function refused({ request, reply }: Exchange, way: 'reset' | 'invitation', message: string) {
    await entrance.refuse(way, request, {
      name: way === 'reset' ? 'a link for a new password' : 'an invitation',
    });
    const view = await entrance.page({ next: '/', said: { message, kind: 'refused' } }, 422);
    return replies.send(view, { request, reply });
  }
}
