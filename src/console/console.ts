import type { Clock } from '@picket/lib/clock.ts';
import { AppError, toError } from '@picket/lib/errors.ts';
import type { Logger } from '@picket/lib/log.ts';
import { askedBy } from '@picket/lib/turns/asker.ts';
import type { ArtifactStore } from '@picket/platform/artifact-store/artifact-store.ts';
import type { AnyHandler } from '@picket/platform/feature/handler.ts';
import { limitSending } from '@picket/platform/http/bodies/limits.ts';
import { RawTransfers } from '@picket/platform/http/bodies/raw-transfers.ts';
import { RateLimits } from '@picket/platform/http/limits.ts';
import { SharedLimits } from '@picket/platform/http/shared-limits/shared-limits.ts';
import { type KeyRole, ranks } from '@picket/platform/ids/keys.ts';
import { Operations } from '@picket/platform/operations/operations.ts';
import type { Store } from '@picket/platform/store/store.ts';
import type { DomainProof } from '@picket/service/custom-domains/domain-proof.ts';
import { recordServiceNames } from '@picket/service/custom-domains/service-names.ts';
import type { Viewer } from '@picket/service/logins/sessions.ts';
import { isCsrfToken, Sessions } from '@picket/service/logins/sessions.ts';
import type { Mailing } from '@picket/service/members/mails.ts';
import type { SingleSignOn } from '@picket/service/members/single-sign-on.ts';
import type { ServiceMetrics } from '@picket/service/metrics/metrics.ts';
import { PublicCopies } from '@picket/service/pages/public-copies.ts';
import { takesSubscriptions } from '@picket/service/pages/subscriptions/subscribing.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify';
import { FileLinks } from './artifacts/links.ts';
import { addFilePages } from './artifacts/routes.ts';
import { findTraceViewer } from './artifacts/trace-viewer.ts';
import { type Assets, readAssets, serveAssets } from './assets.ts';
import { notAllowed } from './error-page.ts';
import type { NavigationEntry } from './layout.ts';
import { FailingCounts } from './live/failing-counts.ts';
import { LiveFeed } from './live/feed.ts';
import { Entrance } from './login/entrance.ts';
import { addPasswordLogin } from './login/password-routes.ts';
import { Provider } from './login/provider.ts';
import { addLogin } from './login/routes.ts';
import { addSingleSignOn } from './login/sso-routes.ts';
import type { Page, PageAnswer, PageCall, View } from './page.ts';
import { CustomDomainHosts } from './public/custom-domain/hosts.ts';
import { addCustomDomains, copiedHosts, markPages, storedHosts } from './public/custom-domain/routes.ts';
import { addPublicPages } from './public/routes.ts';
import { StatusPageSource } from './public/status-source.ts';
import { pages } from './registry.ts';
import { type Answering, pathOf, Replies } from './replies.ts';
import { isFromOwnPage } from './requests/addresses.ts';
import { pageHeaders } from './security-headers.ts';
import { hiddenTag, startPath } from './start/examples.ts';
import { isStartOpen } from './start/progress.ts';
import { addTheme } from './theme.ts';

export interface ConsoleDeps extends Mailing {
  readonly store: Store;
  readonly artifactStore: ArtifactStore;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The handler of every operation of the API, by operationId. */
  readonly handlers: ReadonlyMap<string, AnyHandler>;
  /** A separate host name of the service that serves files of runs. */
  readonly artifactsUrl?: string | undefined;
  readonly metrics: ServiceMetrics;
  readonly domainProof: DomainProof;
  readonly singleSignOn?: SingleSignOn | undefined;
  /** Whether the service can mail subscribers of status pages. */
  readonly hasMailer?: boolean;
  /** Maximum lifetime of a session, regardless of use; 30 days if absent. */
  readonly sessionMaxMs?: number | undefined;
  /** Request limit per caller and minute; 0 or absent: no rate limits. */
  readonly requestsPerMinute?: number;
}

const formBytes = 2 * 1024 * 1024;

/**
 * Adds the pages for browsers. A request passes in this order: authentication (the session of the cookie, or a redirect
 * to the login), authorization (the page's role), for forms the origin (if the browser reports it, and the CSRF token),
 * then the page's handler. Errors in between are also shown as a page.
 */
export async function addConsole(app: FastifyInstance, deps: ConsoleDeps): Promise<void> {
  const assets = readAssets();
  const sessions = new Sessions(deps.store, deps.clock, deps.sessionMaxMs);
  const feed = new LiveFeed(deps);
  const failing = new FailingCounts(deps);
  const replies = new Replies({
    ...deps,
    assets,
    sessions,
    navigationFor: async ({ role, accountId }, request) => {
      const entries = navigationFor(role);
      if (!entries.some(({ path }) => path === startPath)) return entries;
      if (await isStartOpen(deps.store, accountId, request)) return entries;
      return entries.filter(({ path }) => path !== startPath);
    },
    failingFor: async ({ accountId }, request) =>
      failing.of(accountId, { version: await feed.versionOf(accountId), withoutTag: hiddenTag({ request }) }),
    turns: app.callerTurns,
  });
  const { clock, requestsPerMinute } = deps;
  const { artifactsUrl } = deps;
  const viewer = artifactsUrl === undefined ? undefined : findTraceViewer();
  const links = new FileLinks({
    store: deps.store,
    clock,
    artifactsUrl,
    hasTraceViewer: viewer !== undefined,
  });
  const transfers = new RawTransfers(app);
  const limits = requestsPerMinute ? new RateLimits(clock, requestsPerMinute) : undefined;
  app.addHook('preClose', async () => feed.close());
  const copies = new PublicCopies(deps.artifactStore);
  const takesMails = takesSubscriptions({ ...deps, hasPages: true });
  // These apply even if the API has no limits: passwords are guessable, and mails are sent.
  const sharedLimits = new SharedLimits(deps.store, clock);
  const publicDeps = { ...deps, assets, limits, sharedLimits, takesSubscriptions: takesMails };
  const source = new StatusPageSource({ ...publicDeps, copies });
  const hosts = new CustomDomainHosts({
    ...deps,
    proof: deps.domainProof,
    load: () => storedHosts(deps.store, deps.domainProof, clock.wallMs()),
    recall: async () => copiedHosts(await copies.list()),
  });
  addCustomDomains(app, { hosts, source, assets });
  recordServiceNames(app, {
    ...deps,
    isOfPage: async (name) => (await hosts.find(name))?.isProven === true,
  });
  await app.register(async (scope) => {
    markPages(scope);
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string' },
      (_request, body, done) => done(null, new URLSearchParams(String(body))),
    );
    // An upload is read by its operation.
    scope.addContentTypeParser('application/gzip', (_request, _body, done) => done(null));
    scope.setErrorHandler((thrown, request, reply) => replies.sendError(toError(thrown), request, reply));
    scope.addHook('onRequest', async (request, reply) => {
      request.caller = { kind: 'nobody' };
      reply.headers(pageHeaders);
      limitSending(request.raw);
    });
    serveAssets(scope, assets);
    addTheme(scope, deps.publicUrl);
    const { singleSignOn, publicUrl } = deps;
    const entrance = new Entrance({
      ...deps,
      sessions,
      replies,
      limits: sharedLimits,
      singleSignOn: singleSignOn?.name,
    });
    addLogin(scope, entrance);
    addPasswordLogin(scope, entrance);
    if (singleSignOn && publicUrl !== undefined) {
      addSingleSignOn(scope, entrance, new Provider(singleSignOn, publicUrl, clock));
    }
    scope.get('/live', { exposeHeadRoute: false }, async (request, reply) => {
      const viewer = await replies.viewerOf(request);
      if (!viewer) return reply.code(401).send();
      const { searchParams } = new URL(request.url, 'http://own.invalid');
      const [seen, checkId] = [Number(searchParams.get('since')), searchParams.get('check')];
      feed.add({ accountId: viewer.accountId, checkId, seen }, reply);
      return reply;
    });
    for (const page of pages) {
      scope.route({
        method: page.method ?? 'GET',
        url: page.path,
        bodyLimit: formBytes,
        handler: answerWith(page, { ...deps, assets, replies, feed, limits, links, transfers }),
        onResponse: async (request, reply) => logPage(deps.logger, page.path, request, reply),
      });
    }
    await scope.register(async (files) => addFilePages(files, { ...deps, links, transfers, viewer }));
    await scope.register(async (open) => {
      open.addHook('onResponse', async (request, reply) =>
        logPage(deps.logger, request.routeOptions.url ?? '', request, reply),
      );
      addPublicPages(open, { ...publicDeps, source, hosts });
    });
    // All other paths: the API responds in its own format, browsers get a page.
    scope.get('/*', async (request, reply) => {
      if (!wantsPage(request)) return reply.callNotFound();
      const viewer = await replies.viewerOf(request);
      if (!viewer) return replies.toLogin(request, reply);
      throw new AppError('NOT_FOUND', `The page ${pathOf(request).slice(0, 200)} does not exist.`);
    });
  });
}

/** Further dependencies of page handlers. */
interface PageParts extends ConsoleDeps {
  readonly assets: Assets;
  readonly limits: RateLimits | undefined;
  readonly links: FileLinks;
  readonly transfers: RawTransfers;
}

function answerWith(
  page: Page,
  { replies, feed, ...deps }: PageParts & { readonly replies: Replies; readonly feed: LiveFeed },
): RouteHandlerMethod {
  return async (request, reply) => {
    const found = await replies.sessionOf(request);
    if (!found) return replies.toLogin(request, reply);
    const { viewer, token } = found;
    const answering: Answering = { request, reply, viewer };
    if (ranks[viewer.role] < ranks[page.role]) {
      throw notAllowed(`"${page.title}" needs the role ${page.role}. Your role is ${viewer.role}.`);
    }
    const form = request.body instanceof URLSearchParams ? request.body : new URLSearchParams();
    const csrf = form.get('csrf') ?? (page.isUpload ? String(request.headers['x-csrf'] ?? '') : '');
    if (page.method === 'POST' && !(isFromOwnPage(request) && isCsrfToken(token, csrf))) {
      throw notAllowed('The form belongs to another session. Reload the page and submit it again.');
    }
    if (page.isUpload) deps.transfers.add(request, reply);
    const call = callOf(request, reply, { viewer, form, deps });
    // Read before the page is made: a later change counts as news.
    const version = page.method === 'POST' ? 0 : await feed.versionOf(viewer.accountId);
    const answered = await askedBy({ key: viewer.accountId }, () => page.handler(call));
    return answer(page, answered, { replies, answering, version, transfers: deps.transfers });
  };
}

function callOf(
  request: FastifyRequest,
  reply: FastifyReply,
  { viewer, form, deps }: { viewer: Viewer; form: URLSearchParams; deps: PageParts },
): PageCall {
  const { handlers, logger, store, artifactStore, clock, publicUrl, assets, limits, links } = deps;
  const caller = { accountId: viewer.accountId, role: viewer.role, actor: viewer.actor };
  return {
    viewer,
    params: request.params as Record<string, string>,
    query: new URL(request.url, 'http://own.invalid').searchParams,
    form,
    api: new Operations({
      handlers,
      logger,
      caller,
      request,
      // A page reads with many operations, which are free; its changes count as in the API.
      spend: (route) => {
        if (route.method === 'GET') return;
        limits?.spend(route, { caller: { kind: 'account', account: caller }, ip: request.ip }, reply);
      },
    }),
    links,
    store,
    artifactStore,
    clock,
    publicUrl,
    assets,
    request,
    reply,
  };
}

function answer(
  page: Page,
  answered: PageAnswer,
  {
    replies,
    answering,
    version,
    transfers,
  }: { replies: Replies; answering: Answering; version: number; transfers: RawTransfers },
): FastifyReply | Promise<FastifyReply> {
  const { reply } = answering;
  if (answered === 'answered') return reply;
  if ('goTo' in answered) {
    if (answered.toast !== undefined) replies.keepToast(answered.toast, answering);
    return reply.redirect(answered.goTo, 303);
  }
  if ('file' in answered) {
    const { status, headers, body } = answered.file;
    transfers.add(answering.request, reply);
    return reply.code(status).headers(headers).send(body);
  }
  const view: View = { title: page.title, ...answered };
  return replies.send(view, answering, version);
}

/** Returns the navigation entries that a role may see. */
function navigationFor(role: KeyRole): NavigationEntry[] {
  return pages.flatMap(({ path, navigation, role: least }) =>
    navigation === undefined || ranks[role] < ranks[least] ? [] : [{ path, ...navigation }],
  );
}

function wantsPage({ headers, url }: FastifyRequest): boolean {
  return !url.startsWith('/v1/') && (headers.accept ?? '').includes('text/html');
}

function logPage(logger: Logger, path: string, request: FastifyRequest, reply: FastifyReply): void {
  logger.info(
    {
      requestId: request.id,
      method: request.method,
      path,
      status: reply.statusCode,
      durationMs: Math.round(reply.elapsedTime),
    },
    'page',
  );
}
