import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { isStoreFailure } from '@picket/lib/errors.ts';
import type { CallerTurns } from '@picket/platform/http/connections/caller-turns.ts';
import { reportError } from '@picket/platform/http/errors.ts';
import type { KeyRole } from '@picket/platform/ids/keys.ts';
import type { Store } from '@picket/platform/store/store.ts';
import type { Sessions, Viewer } from '@picket/service/logins/sessions.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Assets } from './assets.ts';
import { errorMain, errorTitle } from './error-page.ts';
import { withQuery } from './html.ts';
import { layout } from './layout.ts';
import type { View } from './page.ts';
import { ownPath } from './requests/addresses.ts';
import { cookieOf, isSecure, sessionCookieName } from './requests/cookie.ts';
import { themeOf } from './theme.ts';

const gzipped = promisify(gzip);

/** A request that is being answered, and by whom it was made if they are logged in. */
export interface Answering {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly viewer?: Viewer;
}

export interface RepliesDeps {
  readonly assets: Assets;
  readonly sessions: Sessions;
  readonly store: Pick<Store, 'writeProblem'>;
  readonly turns: CallerTurns;
  readonly publicUrl?: string | undefined;
  readonly navigationFor: (role: KeyRole) => readonly { readonly path: string; readonly word: string }[];
}

/** Answers of pages: who asks, and documents with the headers that all of them have. */
export class Replies {
  readonly #deps: RepliesDeps;

  constructor(deps: RepliesDeps) {
    this.#deps = deps;
  }

  /** The session of a request's cookie, with the token itself; null when nobody is logged in. */
  async sessionOf(request: FastifyRequest): Promise<{ viewer: Viewer; token: string } | null> {
    const token = cookieOf(request, sessionCookieName(isSecure(request, this.#deps.publicUrl)));
    if (token === undefined) return null;
    const viewer = await this.#deps.sessions.find(token);
    if (viewer) this.#deps.turns.know(request, { kind: 'account', account: viewer });
    return viewer && { viewer, token };
  }

  async viewerOf(request: FastifyRequest): Promise<Viewer | null> {
    return (await this.sessionOf(request))?.viewer ?? null;
  }

  /** Sends somebody to log in, and back afterwards. */
  toLogin(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const next = request.method === 'GET' && request.url !== '/' ? request.url : undefined;
    const login = withQuery('/login', { next });
    // A part of a page would be replaced by the login.
    if (request.headers['hx-request'] !== undefined) {
      return reply.code(401).header('hx-redirect', login).send();
    }
    return reply.redirect(login, 303);
  }

  /**
   * Sends a document.
   *
   * @param version of the account's statuses that a live page was made of.
   */
  async send(view: View, { request, reply, viewer }: Answering, version = 0): Promise<FastifyReply> {
    const { title = '', main, statusCode = 200, isLive = false, liveCheckId: check } = view;
    const since = view.version ?? version;
    const trouble = viewer && (await this.#deps.store.writeProblem())?.message;
    const document = layout({
      title,
      main,
      ...(isLive ? { live: withQuery('/live', { since, check }) } : {}),
      assets: this.#deps.assets,
      theme: themeOf(request),
      path: shownPath(request),
      ...(trouble === undefined ? {} : { trouble }),
      ...(viewer ? { viewer, navigation: this.#deps.navigationFor(viewer.role) } : {}),
    });
    reply.code(statusCode).type('text/html; charset=utf-8').header('vary', 'accept-encoding');
    if (!/\bgzip\b/.test(request.headers['accept-encoding'] ?? '')) return reply.send(document);
    return reply.header('content-encoding', 'gzip').send(await gzipped(document, { level: 4 }));
  }

  /** Sends what went wrong as a page. */
  async sendError(thrown: Error, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const error = reportError(thrown, request);
    // Without the database the viewer is unknown: the page then has no navigation.
    const viewer = isStoreFailure(error) ? null : await this.viewerOf(request).catch(() => null);
    const view = {
      title: errorTitle(error),
      main: errorMain(error, request.id),
      statusCode: error.statusCode,
    };
    return this.send(view, { request, reply, ...(viewer ? { viewer } : {}) });
  }
}

/** Where a reader is: after a form, on the page that it stood on. */
function shownPath({ method, url, headers }: FastifyRequest): string {
  return method === 'GET' ? url : ownPath(URL.parse(headers.referer ?? '')?.pathname ?? null);
}

/** The path of a request, without its query. */
export function pathOf(request: FastifyRequest): string {
  return request.url.split('?')[0] ?? '';
}
