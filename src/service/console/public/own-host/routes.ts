import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError, toError } from '../../../../lib/errors.ts';
import type { Store } from '../../../store.ts';
import type { Assets } from '../../assets.ts';
import { path } from '../../html.ts';
import { isStatusFile, sendPublicError, sendStatusFile } from '../routes.ts';
import type { StatusPageSource } from '../status-source.ts';
import type { OwnHost, OwnHosts } from './hosts.ts';

/** What is the same at every host: files of pages, and the links of mails. */
const shared = /^\/(assets\/|favicon\.ico$|subscriptions\/)/;

interface OwnHostDeps {
  readonly hosts: OwnHosts;
  readonly source: StatusPageSource;
  readonly assets: Assets;
}

/**
 * Pages at host names of their own. A request that names such a host gets the page at `/`, and nothing else:
 * no console, no login, no API, and no cookie of the console means anything there. Requests that name any
 * other host go their way.
 */
export function addOwnHosts(app: FastifyInstance, { hosts, source, assets }: OwnHostDeps): void {
  app.addHook('onRequest', async (request, reply) => {
    const own = await hosts.find(request.hostname);
    if (!own) return;
    // No key and no session counts here: limits are those of an address.
    request.caller = { kind: 'nobody' };
    try {
      return await answer(own, { assets, request, reply }, source);
    } catch (thrown) {
      return sendPublicError(toError(thrown), { request, reply, assets });
    }
  });
}

/** Answers a request itself, or lets it pass to its route (undefined). */
async function answer(
  { kind, address }: OwnHost,
  {
    assets,
    request,
    reply,
  }: { readonly assets: Assets; readonly request: FastifyRequest; readonly reply: FastifyReply },
  source: StatusPageSource,
): Promise<FastifyReply | undefined> {
  const { pathname } = new URL(request.url, 'http://own.invalid');
  const isReading = request.method === 'GET' || request.method === 'HEAD';
  const end = pathname === '/' ? '' : pathname;
  if (shared.test(pathname)) return undefined;
  if (kind === 'dashboard') {
    const base = path`/dashboards/${address}`;
    if (pathname === base || pathname.startsWith(`${base}/`)) return undefined;
    if (isReading && end === '') return reply.header('cache-control', 'no-store').redirect(base, 303);
  } else {
    const forms = ['subscribe', 'key'].map((end) => path`/status/${address}/${end}`);
    if (forms.includes(pathname)) return undefined;
    if (isReading && isStatusFile(end)) {
      const host = request.hostname.toLowerCase();
      return sendStatusFile(source, { assets, request, reply, address, end, host });
    }
  }
  throw new AppError('NOT_FOUND', 'There is no such page at this host.');
}

/** The host names of all pages, from the database. */
export async function storedHosts(
  store: Pick<Store, 'statusPages' | 'dashboards'>,
): Promise<ReadonlyMap<string, OwnHost>> {
  const [pages, dashboards] = await Promise.all([
    store.statusPages.withOwnHost(),
    store.dashboards.ownHosts(),
  ]);
  return new Map([
    ...dashboards.map((host): [string, OwnHost] => [host, { kind: 'dashboard', address: host }]),
    ...pages.flatMap(({ url, custom_domain: host }) =>
      host === null ? [] : [[host, { kind: 'status page', address: url }] as [string, OwnHost]],
    ),
  ]);
}

/** Those of status pages that there are copies of. */
export function copiedHosts(
  pages: readonly { readonly address: string; readonly host: string | null }[],
): ReadonlyMap<string, OwnHost> {
  return new Map(
    pages.flatMap(({ address, host }) =>
      host === null ? [] : [[host, { kind: 'status page', address }] as const],
    ),
  );
}
