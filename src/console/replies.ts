import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { isStoreFailure } from '@picket/lib/errors.ts';
import type { CallerTurns } from '@picket/platform/http/connections/caller-turns.ts';
import { reportError } from '@picket/platform/http/errors.ts';
import type { Store } from '@picket/platform/store/store.ts';
import type { Sessions, Viewer } from '@picket/service/logins/sessions.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Assets } from './assets.ts';
import { errorMain, errorTitle } from './error-page.ts';
import { withQuery } from './html.ts';
import { layout, type NavigationEntry } from './layout.ts';
import type { View } from './page.ts';
import { ownPath } from './requests/addresses.ts';
import { cookieOf, isSecure, sessionCookieName } from './requests/cookie.ts';
import { themeOf } from './theme.ts';
import { keepToast, takeToast } from './toast.ts';

const gzipped = promisify(gzip);

/** A request in progress, with its viewer if logged in. */
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
  readonly navigationFor: (viewer: Viewer, request: FastifyRequest) => Promise<readonly NavigationEntry[]>;
  /** Number of failing checks that the viewer sees. */
  readonly failingFor: (viewer: Viewer, request: FastifyRequest) => Promise<number>;
}

/** Responses of pages: viewers, and documents with their common headers. */
export class Replies {
  readonly #deps: RepliesDeps;

  constructor(deps: RepliesDeps) {
    this.#deps = deps;
  }

  /** Returns the session of a request's cookie, with its token; null without a login. */
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

  /** Redirects to the login, and back afterwards. */
  toLogin(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const next = request.method === 'GET' && request.url !== '/' ? request.url : undefined;
    const login = withQuery('/login', { next });
    // A partial update would be replaced by the login page.
    if (request.headers['hx-request'] !== undefined) {
      return reply.code(401).header('hx-redirect', login).send();
    }
    return reply.redirect(login, 303);
  }

  /**
   * Sends a document.
   *
   * @param version of the account's statuses that a live page shows.
   */
  async send(view: View, { request, reply, viewer }: Answering, version = 0): Promise<FastifyReply> {
    const { title = '', main, statusCode = 200, isLive = false, liveCheckId: check } = view;
    const since = view.version ?? version;
    const trouble = viewer && (await this.#deps.store.writeProblem())?.message;
    const failing = view.failing ?? (viewer ? await this.#deps.failingFor(viewer, request) : 0);
    const document = layout({
      title,
      main,
      ...(isLive ? { live: withQuery('/live', { since, check }) } : {}),
      assets: this.#deps.assets,
      theme: themeOf(request),
      path: shownPath(request),
      failing,
      toast: takeToast(request, reply, this.#deps.publicUrl),
      ...(trouble === undefined ? {} : { trouble }),
      ...(viewer ? { viewer, navigation: await this.#deps.navigationFor(viewer, request) } : {}),
    });
    reply.code(statusCode).type('text/html; charset=utf-8').header('vary', 'accept-encoding');
    if (!/\bgzip\b/.test(request.headers['accept-encoding'] ?? '')) return reply.send(document);
    return reply.header('content-encoding', 'gzip').send(await gzipped(document, { level: 4 }));
  }

  /** Keeps a message for the next page of this browser. */
  keepToast(text: string, { request, reply }: Answering): void {
    keepToast(text, { request, reply, publicUrl: this.#deps.publicUrl });
  }

  /** Sends an error as a page. */
  async sendError(thrown: Error, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const error = reportError(thrown, request);
    // Without the database the viewer is unknown: the page then has no navigation.
    const viewer = isStoreFailure(error) ? null : await this.viewerOf(request).catch(() => null);
    // The page says what went wrong even if checks cannot be counted now.
    const failing = viewer ? await this.#deps.failingFor(viewer, request).catch(() => 0) : 0;
    const view = {
      failing,
      title: errorTitle(error),
      main: errorMain(error, request.id),
      statusCode: error.statusCode,
    };
    return this.send(view, { request, reply, ...(viewer ? { viewer } : {}) });
  }
}

/** Returns the path that the reader sees: after a form, the page with the form. */
function shownPath({ method, url, headers }: FastifyRequest): string {
  return method === 'GET' ? url : ownPath(URL.parse(headers.referer ?? '')?.pathname ?? null);
}

/** Returns the path of a request, without its query. */
export function pathOf(request: FastifyRequest): string {
  return request.url.split('?')[0] ?? '';
}
