import { AppError } from '@picket/lib/errors.ts';
import { hashKey } from '@picket/platform/ids/keys.ts';
import type { Store } from '@picket/platform/store/store.ts';
import { type DashboardData, publicPageRoutes } from '@picket/protocol/pages/public-page.ts';
import { freshness } from '@picket/service/pages/answers/shared-answer.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { notAllowed } from '../../error-page.ts';
import { path } from '../../html.ts';
import { isFromOwnPage } from '../../requests/addresses.ts';
import { sendFile, staleFreshness } from '../files.ts';
import { askForKey, type GivenKey, givenKey, keepKey, typedKey } from '../keys.ts';
import { callPublic, isBetterOld, knownAddress, type PublicPagesDeps } from '../public-call.ts';
import { type CachedResponse, ResponseCache } from '../response-cache.ts';
import { type DashboardFiles, dashboardFiles } from './files.ts';

interface Asked extends GivenKey {
  readonly address: string;
  readonly page: number;
}

type Params = { Params: { address: string } };

/**
 * Public dashboards, and private ones with a key: in the address as in the API, or in a form, which stores it in a
 * cookie. A page opened with a key is cached for that key only.
 */
export function addDashboards(app: FastifyInstance, deps: PublicPagesDeps & { readonly store: Store }): void {
  const { assets, clock } = deps;
  const dashboards = new ResponseCache<DashboardFiles>({
    clock,
    isBetterOld,
    bytesOf: ({ page, stale, rules }) =>
      page.content.length + stale.content.length + (rules?.content.length ?? 0) + 1_000,
  });
  const route = publicPageRoutes.getDashboardData;

  const open = (
    asked: Asked,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<CachedResponse<DashboardFiles>> => {
    const { address, page, key, isKeyInAddress } = asked;
    const who = key === undefined ? '' : `${isKeyInAddress} ${hashKey(key)}`;
    return dashboards.get(`${address} ${page} ${who}`, async () => {
      deps.limits?.spend(route, request, reply);
      const answer = await callPublic(deps.handlers, route.operationId, {
        request,
        reply,
        params: { address },
        query: { page, key },
      });
      const row = await deps.store.dashboards.findByAddress(address);
      // The handler returns text, which is rendered once for all requests.
      const data = JSON.parse(String(answer)) as DashboardData;
      const at = { address, key: isKeyInAddress ? key : undefined };
      return dashboardFiles(data, { assets, isPrivate: row?.is_private !== 0, at });
    });
  };

  const answer = async (
    request: FastifyRequest<Params>,
    reply: FastifyReply,
    fileOf: (files: DashboardFiles, isStale: boolean) => DashboardFiles['rules'],
  ) => {
    const asked = askedFor(request);
    try {
      const { value, isStale } = await open(asked, request, reply);
      const file = fileOf(value, isStale);
      if (!file) throw new AppError('NOT_FOUND', 'The dashboard has no custom CSS.');
      const sharing = isStale ? staleFreshness : freshness;
      reply.headers({ ...value.headers, 'cache-control': value.isPrivate ? 'private, no-store' : sharing });
      return await sendFile(file, request, reply);
    } catch (thrown) {
      if (!(thrown instanceof AppError && thrown.code === 'BAD_TOKEN')) throw thrown;
      return ask(reply, asked, asked.key !== undefined);
    }
  };
  const ask = (reply: FastifyReply, { address }: Asked, isWrong: boolean) =>
    askForKey(reply, assets, { noun: 'dashboard', action: path`/dashboards/${address}/key`, isWrong });

  app.get<Params>('/dashboards/:address', (request, reply) =>
    answer(request, reply, ({ page, stale }, isStale) => (isStale ? stale : page)),
  );
  app.get<Params>('/dashboards/:address/custom.css', (request, reply) =>
    answer(request, reply, ({ rules }) => rules),
  );
  app.post<Params>('/dashboards/:address/key', async (request, reply) => {
    if (!isFromOwnPage(request)) throw notAllowed('Keys are accepted only from the page of the dashboard.');
    const key = typedKey(request);
    const asked: Asked = { ...askedFor(request), key, isKeyInAddress: false };
    if (key === undefined) return ask(reply, asked, true);
    try {
      await open(asked, request, reply);
    } catch (thrown) {
      if (!(thrown instanceof AppError && thrown.code === 'BAD_TOKEN')) throw thrown;
      return ask(reply, asked, true);
    }
    const { address } = asked;
    const goTo = path`/dashboards/${address}`;
    return keepKey({ noun: 'dashboard', address, key, goTo }, request, reply, deps.publicUrl);
  });
}

function askedFor(request: FastifyRequest<Params>): Asked {
  const address = knownAddress(request.params.address, 'dashboard');
  const { searchParams } = new URL(request.url, 'http://own.invalid');
  const page = Number(searchParams.get('page') ?? 1);
  return {
    address,
    page: Number.isInteger(page) && page >= 1 && page <= 1_000_000 ? page : 1,
    ...givenKey(request, { noun: 'dashboard', address }),
  };
}
