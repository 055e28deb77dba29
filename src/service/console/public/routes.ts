import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError, toError } from '../../../lib/errors.ts';
import { reportError } from '../../http/errors.ts';
import type { Store } from '../../store.ts';
import type { Assets } from '../assets.ts';
import { addDashboards } from './dashboards/routes.ts';
import { publicHeaders, publicNotice } from './document.ts';
import { freshness, sendFile, staleFreshness } from './files.ts';
import type { PublicPagesDeps } from './public-call.ts';
import type { StatusPageFiles } from './status-page.ts';
import type { StatusPageSource } from './status-source.ts';
import { addSubscribing } from './subscribing/routes.ts';

/** The files of a status page, by what stands behind its address. */
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
 * The pages for everybody who has their address: no session, no cookie. They are made of what the JSON routes
 * of public pages answer, by the same handlers. Limits count only what has to be made: readers of a page that
 * is there already cost nothing, and there are many of them when something is down.
 */
export function addPublicPages(
  app: FastifyInstance,
  deps: PublicPagesDeps & { readonly store: Store; readonly source: StatusPageSource },
): void {
  addStatusPages(app, deps);
  addDashboards(app, deps);
  addSubscribing(app, deps);
}

/** Status pages at their addresses. */
export function addStatusPages(
  app: FastifyInstance,
  { assets, source }: { readonly assets: Assets; readonly source: StatusPageSource },
): void {
  app.setErrorHandler((thrown, request, reply) =>
    sendPublicError(toError(thrown), { request, reply, assets }),
  );
  for (const end of Object.keys(files)) {
    app.get<{ Params: { address: string } }>(`/status/:address${end}`, (request, reply) =>
      sendStatusFile(source, { request, reply, address: request.params.address, end }),
    );
  }
}

interface Asked {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly address: string;
  /** What stands behind the address of the page. */
  readonly end: string;
  readonly host?: string;
}

/** Whether a path is one of a status page that answers at the root of a host. */
export function isStatusFile(end: string): boolean {
  return Object.hasOwn(files, end);
}

/** @throws AppError NOT_FOUND for a file that the page does not have. */
export async function sendStatusFile(source: StatusPageSource, asked: Asked): Promise<FastifyReply> {
  const { request, reply, address, end, host } = asked;
  const { value, isStale } = await source.open(address, { request, reply }, host);
  const file = files[end]?.(value, isStale);
  if (!file) throw new AppError('NOT_FOUND', 'The page has no such file.');
  reply.headers({ ...value.headers, 'cache-control': isStale ? staleFreshness : freshness });
  return sendFile(file, request, reply);
}

/** Says to anybody what went wrong, as a page. */
export function sendPublicError(
  thrown: Error,
  { request, reply, assets }: Pick<Asked, 'request' | 'reply'> & { readonly assets: Assets },
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
    return { title: 'Not found', text: `${message} It may have moved, or the address has a typing error.` };
  }
  if (code === 'RATE_LIMITED') return { title: 'Too many requests', text: message };
  if (statusCode >= 500) {
    return {
      title: 'This page cannot be shown at the moment',
      text: 'Reload it in a minute. It says nothing about the services that the page is about.',
    };
  }
  return { title: 'This cannot be done', text: message };
}
