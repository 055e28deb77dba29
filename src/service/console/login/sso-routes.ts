import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { admit } from '../../members/single-sign-on.ts';
import { ownPath } from './addresses.ts';
import { cookieOf, isSecure, setCookie } from './cookie.ts';
import { type Entrance, originOf } from './entrance.ts';
import { LoginRefused, type Provider } from './provider.ts';

const cookieName = 'picket-sso';
/** How long somebody may take at the provider. */
const patienceSeconds = 600;

/** Logging in by a provider of OpenID Connect. */
export function addSingleSignOn(app: FastifyInstance, entrance: Entrance, provider: Provider): void {
  const { deps } = entrance;
  const { sessions, replies, publicUrl } = deps;
  const keep = (request: FastifyRequest, reply: FastifyReply, value: string, maxAgeSeconds: number) =>
    setCookie(reply, cookieName, value, { maxAgeSeconds, isSecure: isSecure(request, publicUrl) });

  app.get('/login/sso', { exposeHeadRoute: false }, async (request, reply) => {
    entrance.spend(request, reply);
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
    entrance.spend(request, reply);
    const [secret = '', place = ''] = (cookieOf(request, cookieName) ?? '').split('.');
    keep(request, reply, '', 0);
    try {
      if (secret === '') {
        throw new LoginRefused('This login was begun in another browser, or too long ago. Log in again.');
      }
      const claims = await provider.finish(new URL(request.url, 'http://own.invalid').search, secret);
      const admission = await admit(deps, provider.settings, claims);
      if ('refusal' in admission) {
        const person = await deps.store.members.personByEmail(admission.email);
        return refused(new LoginRefused(admission.refusal), request, reply, {
          name: admission.email,
          person,
        });
      }
      const session = await sessions.openAs(admission.person, admission.accountId, originOf(request));
      await entrance.begin(session, 'single sign-on', { request, reply });
      return reply.redirect(ownPath(Buffer.from(place, 'base64url').toString()), 303);
    } catch (thrown) {
      return refused(thrown, request, reply);
    }
  });

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
