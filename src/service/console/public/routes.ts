import type { FastifyInstance } from 'fastify';
import { AppError, toError } from '../../../lib/errors.ts';
import { publicPageRoutes, type StatusPageData } from '../../../protocol/pages/public-page.ts';
import { reportError } from '../../http/errors.ts';
import { RateLimits } from '../../http/limits.ts';
import type { Store } from '../../store.ts';
import { addDashboards } from './dashboard-routes.ts';
import { publicNotice } from './document.ts';
import { freshness, sendFile, staleFreshness } from './files.ts';
import { KeptAnswers } from './kept-answers.ts';
import { callPublic, type Exchange, isBetterOld, knownAddress, type PublicPagesDeps } from './public-call.ts';
import { type StatusPageFiles, sizeOf, statusPageFiles } from './status-page.ts';

/**
 * The pages for everybody who has their address: no session, no cookie. They are made of what the JSON routes
 * of public pages answer, by the same handlers. Limits count only what has to be made: readers of a page that
 * is there already cost nothing, and there are many of them when something is down.
 */
export function addPublicPages(
  app: FastifyInstance,
  given: Omit<PublicPagesDeps, 'limits'> & {
    readonly store: Store;
    /** 0 or absent: there are no rate limits. */
    readonly requestsPerMinute?: number;
  },
): void {
  const { assets, clock } = given;
  const limits = given.requestsPerMinute ? new RateLimits(clock, given.requestsPerMinute) : undefined;
  const deps = { ...given, limits };
  const statusPages = new KeptAnswers<StatusPageFiles>({ clock, isBetterOld, bytesOf: sizeOf });

  app.setErrorHandler((thrown, request, reply) => {
    const error = reportError(toError(thrown), request);
    return reply
      .code(error.statusCode)
      .header('cache-control', 'no-store')
      .type('text/html; charset=utf-8')
      .send(publicNotice(assets, wordsOf(error)));
  });

  const statusPage = (named: string, exchange: Exchange) => {
    const key = knownAddress(named, 'status page');
    return statusPages.get(key, async () => {
      limits?.spend(publicPageRoutes.getStatusPageData, exchange.request, exchange.reply);
      const data = await callPublic(deps.handlers, publicPageRoutes.getStatusPageData.operationId, {
        ...exchange,
        params: { address: key },
        query: {},
      });
      return statusPageFiles(data as StatusPageData, deps);
    });
  };

  const files = {
    '/status/:address': (known: StatusPageFiles, isStale: boolean) => (isStale ? known.stale : known.page),
    '/status/:address/incidents.atom': ({ atom }: StatusPageFiles) => atom,
    '/status/:address/incidents.json': ({ json }: StatusPageFiles) => json,
    '/status/:address/colours.css': ({ colours }: StatusPageFiles) => colours,
  };
  for (const [url, fileOf] of Object.entries(files)) {
    app.get<{ Params: { address: string } }>(url, async (request, reply) => {
      const { value, isStale } = await statusPage(request.params.address, { request, reply });
      const file = fileOf(value, isStale);
      if (!file) throw new AppError('NOT_FOUND', 'The page has no colours of its own.');
      reply.headers({ ...value.headers, 'cache-control': isStale ? staleFreshness : freshness });
      return sendFile(file, request, reply);
    });
  }
  addDashboards(app, deps);
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
