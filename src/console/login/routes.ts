import { AppError } from '@picket/lib/errors.ts';
import { bearerKey } from '@picket/platform/http/auth.ts';
import { isCsrfToken } from '@picket/service/logins/sessions.ts';
import type { FastifyInstance } from 'fastify';
import { notAllowed } from '../error-page.ts';
import { isFromOwnPage, isFromThisMachine, ownPath } from '../requests/addresses.ts';
import { isSecure, sessionCookieName, setCookie } from '../requests/cookie.ts';
import { type Entrance, originOf } from './entrance.ts';

/** Login with an API key or a link, and logout. */
export function addLogin(app: FastifyInstance, entrance: Entrance): void {
  const { sessions, replies, publicUrl } = entrance.deps;

  app.get('/login', async (request, reply) => {
    const next = ownPath(new URL(request.url, 'http://own.invalid').searchParams.get('next'));
    if (await replies.viewerOf(request)) return reply.redirect(next, 303);
    return replies.send(await entrance.page({ next }), { request, reply });
  });

  app.post('/login', async (request, reply) => {
    const form = entrance.formOf(request);
    const next = ownPath(form.get('next'));
    await entrance.spend(request, reply);
    const session = await sessions.open((form.get('key') ?? '').trim(), originOf(request));
    if (!session) {
      await entrance.refuse('key', request, { name: 'an API key' });
      const keyError = 'The API key does not exist. It may have been revoked.';
      return replies.send(await entrance.page({ next, keyError }, 422), { request, reply });
    }
    await entrance.begin(session, 'key', { request, reply });
    return reply.redirect(next, 303);
  });

  // For programs on this machine that open a login for a person, such as npm start.
  app.post('/login/links', async (request, reply) => {
    if (!isFromThisMachine(request))
      throw notAllowed('Login links can be created only on the host of the service.');
    await entrance.spend(request, reply);
    const link = await sessions.makeLink(bearerKey(request.headers.authorization));
    if (!link) throw new AppError('BAD_TOKEN', 'Bad Token: the API key does not exist.');
    return reply
      .code(201)
      .type('application/json')
      .send(JSON.stringify({ path: `/login/${link.token}` }));
  });

  app.get<{ Params: { token: string } }>(
    '/login/:token',
    { exposeHeadRoute: false },
    async (request, reply) => {
      await entrance.spend(request, reply);
      const isHere = isFromThisMachine(request);
      const session = isHere ? await sessions.redeem(request.params.token, originOf(request)) : null;
      if (!session) {
        await entrance.refuse('link', request, { name: 'a login link' });
        const keyError = 'This link was already used, is older than ten minutes, or is for another machine.';
        return replies.send(await entrance.page({ next: '/', keyError }, 422), { request, reply });
      }
      await entrance.begin(session, 'link', { request, reply });
      // A redirect replaces the entry in the browser's history, so no stored address contains the token.
      const { searchParams } = new URL(request.url, 'http://own.invalid');
      return reply.redirect(ownPath(searchParams.get('next')), 303);
    },
  );

  app.post('/logout', async (request, reply) => {
    const found = await replies.sessionOf(request);
    const form = request.body instanceof URLSearchParams ? request.body : new URLSearchParams();
    if (found) {
      const { viewer, token } = found;
      if (!isFromOwnPage(request) || !isCsrfToken(token, form.get('csrf') ?? '')) {
        throw notAllowed('The form belongs to another session.');
      }
      await sessions.close(viewer);
    }
    const secure = isSecure(request, publicUrl);
    setCookie(reply, sessionCookieName(secure), '', { maxAgeSeconds: 0, isSecure: secure });
    return reply.redirect('/login', 303);
  });
}
