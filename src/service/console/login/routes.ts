import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../../lib/clock.ts';
import { AppError } from '../../../lib/errors.ts';
import { bearerKey } from '../../http/auth.ts';
import { RateLimits } from '../../http/limits.ts';
import { notAllowed } from '../error-page.ts';
import type { Replies } from '../replies.ts';
import { isFromOwnPage, isFromThisMachine, ownPath } from './addresses.ts';
import { isSecure, sessionCookieName, setCookie } from './cookie.ts';
import { loginMain } from './page.ts';
import { isCsrfToken, type NewSession, type Sessions } from './sessions.ts';

interface LoginDeps {
  readonly clock: Clock;
  readonly sessions: Sessions;
  readonly replies: Replies;
  readonly publicUrl?: string | undefined;
}

/** Attempts of one address: a person mistypes a few times, a guesser needs many. */
const attempts = { operationId: 'login', rateLimit: { requests: 10, windowSeconds: 60 } };

/** Logging in by an API key or by a link, and out again. */
export function addLogin(app: FastifyInstance, { clock, sessions, replies, publicUrl }: LoginDeps): void {
  // Also where the API has no limits: keys can be chosen by people.
  const limits = new RateLimits(clock, attempts.rateLimit.requests);
  const begin = (session: NewSession, request: FastifyRequest, reply: FastifyReply) => {
    const secure = isSecure(request, publicUrl);
    const maxAgeSeconds = Math.floor((session.expires - clock.wallMs()) / 1_000);
    setCookie(reply, sessionCookieName(secure), session.token, { maxAgeSeconds, isSecure: secure });
  };

  app.get('/login', async (request, reply) => {
    const next = ownPath(new URL(request.url, 'http://own.invalid').searchParams.get('next'));
    if (await replies.viewerOf(request)) return reply.redirect(next, 303);
    return replies.send({ title: 'Log in', main: loginMain({ next }) }, { request, reply });
  });

  app.post('/login', async (request, reply) => {
    if (!isFromOwnPage(request)) throw notAllowed('Only the login page of this service can log you in.');
    const form = request.body instanceof URLSearchParams ? request.body : new URLSearchParams();
    const next = ownPath(form.get('next'));
    limits.spend(attempts, request, reply);
    const session = await sessions.open((form.get('key') ?? '').trim());
    if (!session) {
      const error = 'There is no such API key. It may have been revoked.';
      const main = loginMain({ next, error });
      return replies.send({ title: 'Log in', main, statusCode: 422 }, { request, reply });
    }
    const old = await replies.viewerOf(request);
    if (old) await sessions.close(old);
    begin(session, request, reply);
    return reply.redirect(next, 303);
  });

  // For programs on this machine that show a person the way in, such as npm start.
  app.post('/login/links', async (request, reply) => {
    if (!isFromThisMachine(request))
      throw notAllowed('Login links are made on the machine of the service only.');
    limits.spend(attempts, request, reply);
    const link = await sessions.makeLink(bearerKey(request.headers.authorization));
    if (!link) throw new AppError('BAD_TOKEN', 'Bad Token: there is no such API key.');
    return reply
      .code(201)
      .type('application/json')
      .send(JSON.stringify({ path: `/login/${link.token}` }));
  });

  app.get<{ Params: { token: string } }>(
    '/login/:token',
    { exposeHeadRoute: false },
    async (request, reply) => {
      limits.spend(attempts, request, reply);
      const session = isFromThisMachine(request) ? await sessions.redeem(request.params.token) : null;
      if (!session) {
        const error = 'This link was used already, is older than ten minutes, or is for another machine.';
        const main = loginMain({ next: '/', error });
        return replies.send({ title: 'Log in', main, statusCode: 422 }, { request, reply });
      }
      begin(session, request, reply);
      // The answer to a redirect takes its place in the history: the token is in no address that is kept.
      return reply.redirect('/', 303);
    },
  );

  app.post('/logout', async (request, reply) => {
    const found = await replies.sessionOf(request);
    const form = request.body instanceof URLSearchParams ? request.body : new URLSearchParams();
    if (found) {
      const { viewer, token } = found;
      if (!isFromOwnPage(request) || !isCsrfToken(token, form.get('csrf') ?? '')) {
        throw notAllowed('The form is not from this session.');
      }
      await sessions.close(viewer);
    }
    const secure = isSecure(request, publicUrl);
    setCookie(reply, sessionCookieName(secure), '', { maxAgeSeconds: 0, isSecure: secure });
    return reply.redirect('/login', 303);
  });
}
