import { AppError, toError } from '@picket/lib/errors.ts';
import { reportError } from '@picket/platform/http/errors.ts';
import type { SharedLimits } from '@picket/platform/http/shared-limits/shared-limits.ts';
import type { Store } from '@picket/platform/store/store.ts';
import { freshness } from '@picket/service/pages/answers/shared-answer.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Assets } from '../assets.ts';
import { notAllowed } from '../error-page.ts';
import { path } from '../html.ts';
import { isFromOwnPage } from '../requests/addresses.ts';
import type { CustomDomainHosts } from './custom-domain/hosts.ts';
import { addDashboards } from './dashboards/routes.ts';
import { publicHeaders, publicNotice } from './document.ts';
import { sendFile, staleFreshness } from './files.ts';
import { askForKey, givenKey, keepKey, typedKey } from './keys.ts';
import { knownAddress, type PublicPagesDeps } from './public-call.ts';
import type { StatusPageFiles } from './status-page.ts';
import type { StatusPageSource } from './status-source.ts';
import { addSubscribing } from './subscribing/routes.ts';

/** The files of a status page, by path suffix. */
const files: Readonly<
  Record<string, (known: StatusPageFiles, isStale: boolean) => StatusPageFiles['colours']>
> = {
  '': (known, isStale) => (isStale ? known.stale : known.page),
  '/incidents.atom': ({ atom }) => atom,
  '/incidents.rss': ({ rss }) => rss,
  '/incidents.json': ({ json }) => json,
  '/colours.css': ({ colours }) => colours,
};

/**
 * Pages for everyone who knows their address, and private ones for readers with a key, without sessions. They are
 * rendered from the responses of the JSON routes of public pages, by the same handlers. Limits count only pages to be
 * rendered: readers of a cached page cost nothing, and there are many of them during an outage.
 */
export function addPublicPages(
  app: FastifyInstance,
  deps: PublicPagesDeps & {
    readonly store: Store;
    readonly source: StatusPageSource;
    readonly hosts: CustomDomainHosts;
    /** Limits on requests that may send a mail. */
    readonly sharedLimits: SharedLimits;
  },
): void {
  addStatusPages(app, deps);
  addStatusKeys(app, deps);
  addDashboards(app, deps);
  addSubscribing(app, deps);
}

/** Adds status pages at their addresses. */
export function addStatusPages(
  app: FastifyInstance,
  { assets, source }: { readonly assets: Assets; readonly source: StatusPageSource },
): void {
  app.setErrorHandler((thrown, request, reply) =>
    sendPublicError(toError(thrown), { request, reply, assets }),
  );
  for (const end of Object.keys(files)) {
    app.get<{ Params: { address: string } }>(`/status/:address${end}`, (request, reply) =>
      sendStatusFile(source, { assets, request, reply, address: request.params.address, end }),
    );
  }
}

/** Accepts the key of a private status page in a form, which stores it in a cookie. */
function addStatusKeys(
  app: FastifyInstance,
  {
    assets,
    source,
    hosts,
    publicUrl,
  }: PublicPagesDeps & { readonly source: StatusPageSource; readonly hosts: CustomDomainHosts },
): void {
  app.post<{ Params: { address: string } }>('/status/:address/key', async (request, reply) => {
    if (!isFromOwnPage(request)) throw notAllowed('Keys are accepted only from the status page itself.');
    const page = {
      noun: 'status page',
      address: knownAddress(request.params.address, 'status page'),
    } as const;
    const [key, action] = [typedKey(request), path`/status/${page.address}/key`];
    try {
      if (key === undefined) return askForKey(reply, assets, { noun: page.noun, action, isWrong: true });
      await source.open(page.address, { request, reply }, { key, isKeyInAddress: false });
      const goTo = (await hosts.find(request.hostname)) ? '/' : path`/status/${page.address}`;
      return keepKey({ ...page, key, goTo }, request, reply, publicUrl);
    } catch (thrown) {
      if (!(thrown instanceof AppError && thrown.code === 'BAD_TOKEN')) throw thrown;
      return askForKey(reply, assets, { noun: page.noun, action, isWrong: true });
    }
  });
}

interface Asked {
  readonly assets: Assets;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly address: string;
  /** The path suffix after the page's address. */
  readonly end: string;
  readonly host?: string;
}

/** Whether a path belongs to a status page at the root of a host. */
export function isStatusFile(end: string): boolean {
  return Object.hasOwn(files, end);
}

/** @throws AppError NOT_FOUND for a file that the page does not have. */
export async function sendStatusFile(source: StatusPageSource, asked: Asked): Promise<FastifyReply> {
  const { assets, request, reply, end, host } = asked;
  const address = knownAddress(asked.address, 'status page');
  const given = givenKey(request, { noun: 'status page', address });
  try {
    const { value, isStale } = await source.open(address, { request, reply }, { ...given, host });
    const file = files[end]?.(value, isStale);
    if (!file) throw new AppError('NOT_FOUND', 'The page has no such file.');
    const sharing = isStale ? staleFreshness : freshness;
    reply.headers({ ...value.headers, 'cache-control': value.isPrivate ? 'private, no-store' : sharing });
    return await sendFile(file, request, reply);
  } catch (thrown) {
    if (!(thrown instanceof AppError && thrown.code === 'BAD_TOKEN')) throw thrown;
    const action = path`/status/${address}/key`;
    reply.headers(publicHeaders([]));
    return askForKey(reply, assets, { noun: 'status page', action, isWrong: given.key !== undefined });
  }
}

/** Shows an error to a public reader as a page. */
export function sendPublicError(
  thrown: Error,
  { request, reply, assets }: Pick<Asked, 'request' | 'reply' | 'assets'>,
): FastifyReply {
  const error = reportError(thrown, request);
  return reply
    .code(error.statusCode)
    .headers({ ...publicHeaders([]), 'cache-control': 'no-store' })
    .type('text/html; charset=utf-8')
    .send(publicNotice(assets, wordsOf(error)));
}

function wordsOf({ code, message, statusCode }: AppError): { title: string; text: string } {
  if (code === 'NOT_FOUND') {
    return { title: 'Not found', text: `${message} It may have moved, or the address is mistyped.` };
  }
  if (code === 'RATE_LIMITED') return { title: 'Too many requests', text: message };
  if (statusCode >= 500) {
    return {
      title: 'This page is temporarily unavailable',
      text: 'Reload it in a minute. This says nothing about the state of the services.',
    };
  }
  return { title: 'This is not possible', text: message };
}
