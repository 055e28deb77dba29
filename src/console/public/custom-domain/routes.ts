import { AppError, toError } from '@picket/lib/errors.ts';
import type { Store } from '@picket/platform/store/store.ts';
import type { DomainProof } from '@picket/service/custom-domains/domain-proof.ts';
import { isProven, isServing } from '@picket/service/custom-domains/domain-state.ts';
import { rememberedMs } from '@picket/service/custom-domains/service-names.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Assets } from '../../assets.ts';
import { path } from '../../html.ts';
import { isStatusFile, sendPublicError, sendStatusFile } from '../routes.ts';
import type { StatusPageSource } from '../status-source.ts';
import type { CustomDomainHosts, PageHost } from './hosts.ts';

/** Paths that are the same at every host: files of pages, and the links of mails. */
const shared = /^\/(assets\/|favicon\.ico$|subscriptions\/)/;

interface CustomDomainDeps {
  readonly hosts: CustomDomainHosts;
  readonly source: StatusPageSource;
  readonly assets: Assets;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether a route is a page for browsers, rather than part of the API or for probes and programs. */
    readonly isPage?: boolean;
  }
}

/** Marks all routes of a scope as pages for browsers. */
export function markPages(scope: FastifyInstance): void {
  scope.addHook('onRoute', (route) => {
    route.config = { ...route.config, isPage: true };
  });
}

/** Paths that belong to the service at every host, whether or not a route exists. */
const servicePaths = /^\/(?:v\d+|next|-|api|health|metrics|mcp|login|logout)(?:\/|$)/;

/** Whether a request carries a key: only programs send one. */
function hasKey({ headers }: FastifyRequest): boolean {
  return /^Bearer /i.test(headers.authorization ?? '');
}

/**
 * Serves pages on custom domains. Such a host serves the page at `/`, its files and forms, and the common paths. The
 * API, the probes and every request with a key reach the service at every host, so that a page blocks nothing. The
 * console's own pages are not available there, and its cookies have no effect. Requests to any other host pass through.
 */
export function addCustomDomains(app: FastifyInstance, { hosts, source, assets }: CustomDomainDeps): void {
  app.addHook('onRequest', async (request, reply) => {
    const own = await hosts.find(request.hostname);
    if (!own) return;
    const { pathname } = new URL(request.url, 'http://own.invalid');
    if (request.routeOptions.config.isPage !== true || servicePaths.test(pathname)) return;
    if (hasKey(request)) {
      delete request.headers.cookie;
      return;
    }
    // Keys and sessions do not count here: limits apply by address.
    request.caller = { kind: 'nobody' };
    try {
      return await answer(own, { assets, request, reply }, source);
    } catch (thrown) {
      return sendPublicError(toError(thrown), { request, reply, assets });
    }
  });
}

/** Handles a request, or lets it pass to its route (undefined). */
async function answer(
  { kind, address }: PageHost,
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
  // The API reports missing paths to programs.
  if (request.routeOptions.url === '/*' && !(request.headers.accept ?? '').includes('text/html'))
    return undefined;
  throw new AppError('NOT_FOUND', 'This host has no such page.');
}

/**
 * Returns the host names of pages from the database: proven ones, those that the operator allows, and for a grace
 * period those whose proof has disappeared, unless the service was called by them.
 */
export async function storedHosts(
  store: Pick<Store, 'statusPages' | 'customDomains' | 'serviceNames'>,
  proof: Pick<DomainProof, 'isAllowed'>,
  now: number,
): Promise<ReadonlyMap<string, PageHost>> {
  const [rows, pages, names] = await Promise.all([
    store.customDomains.all(),
    store.statusPages.withOwnHost(),
    store.serviceNames.since(now - rememberedMs),
  ]);
  const called = new Set(names.map(({ name }) => name));
  const urls = new Map(pages.map(({ custom_domain: host, url }) => [host, url]));
  return new Map(
    rows.flatMap((row): [string, PageHost][] => {
      const { host } = row;
      const proven = proof.isAllowed(host) || isProven(row);
      if (!proven && (!isServing(row, now) || called.has(host))) return [];
      if (row.dashboard_id !== null) return [[host, { kind: 'dashboard', address: host, isProven: proven }]];
      const url = urls.get(host);
      return url === undefined ? [] : [[host, { kind: 'status page', address: url, isProven: proven }]];
    }),
  );
}

/** Returns the host names of copied status pages. */
export function copiedHosts(
  pages: readonly { readonly address: string; readonly host: string | null }[],
): ReadonlyMap<string, PageHost> {
  return new Map(
    pages.flatMap(({ address, host }) =>
      host === null ? [] : [[host, { kind: 'status page', address, isProven: true }] as const],
    ),
  );
}
