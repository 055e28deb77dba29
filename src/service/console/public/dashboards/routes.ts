import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../../../lib/errors.ts';
import { type DashboardData, publicPageRoutes } from '../../../../protocol/pages/public-page.ts';
import { hashKey } from '../../../ids/keys.ts';
import type { Store } from '../../../store.ts';
import { notAllowed } from '../../error-page.ts';
import { isFromOwnPage } from '../../login/addresses.ts';
import { cookieOf, isSecure, setCookie } from '../../login/cookie.ts';
import { freshness, sendFile, staleFreshness } from '../files.ts';
import { type Kept, KeptAnswers } from '../kept-answers.ts';
import { callPublic, isBetterOld, knownAddress, type PublicPagesDeps } from '../public-call.ts';
import { type DashboardFiles, dashboardFiles, keyForm } from './files.ts';

interface Asked {
  readonly address: string;
  readonly page: number;
  /** The key in the address, or else the one of the cookie. */
  readonly key: string | undefined;
  readonly isKeyInAddress: boolean;
}

type Params = { Params: { address: string } };

/** What a key may look like; the value of a cookie holds nothing else. */
const keyText = /^[\w-]{1,512}$/;
const cookieDays = 30;

/**
 * Dashboards for everybody, and private ones for those who have a key: in the address as the API takes it, or
 * in a form, which keeps it in a cookie. What a key opened is kept for that key alone.
 */
export function addDashboards(app: FastifyInstance, deps: PublicPagesDeps & { readonly store: Store }): void {
  const { assets, clock } = deps;
  const dashboards = new KeptAnswers<DashboardFiles>({
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
  ): Promise<Kept<DashboardFiles>> => {
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
      // The handler has it as text, made once for all who ask.
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
      if (!file) throw new AppError('NOT_FOUND', 'The dashboard has no rules of its own.');
      const sharing = isStale ? staleFreshness : freshness;
      reply.headers({ ...value.headers, 'cache-control': value.isPrivate ? 'private, no-store' : sharing });
      return await sendFile(file, request, reply);
    } catch (thrown) {
      if (!(thrown instanceof AppError && thrown.code === 'BAD_TOKEN')) throw thrown;
      return askForKey(reply, asked, asked.key === undefined ? undefined : wrongKey);
    }
  };
  const askForKey = (reply: FastifyReply, { address }: Asked, error: string | undefined) =>
    reply
      .code(error === undefined ? 401 : 403)
      .header('cache-control', 'private, no-store')
      .type('text/html; charset=utf-8')
      .send(keyForm(assets, address, error));

  app.get<Params>('/dashboards/:address', (request, reply) =>
    answer(request, reply, ({ page, stale }, isStale) => (isStale ? stale : page)),
  );
  app.get<Params>('/dashboards/:address/custom.css', (request, reply) =>
    answer(request, reply, ({ rules }) => rules),
  );
  app.post<Params>('/dashboards/:address/key', async (request, reply) => {
    if (!isFromOwnPage(request)) throw notAllowed('Only the page of the dashboard can send its key.');
    const form = request.body instanceof URLSearchParams ? request.body : new URLSearchParams();
    const key = (form.get('key') ?? '').trim();
    const asked: Asked = { ...askedFor(request), key, isKeyInAddress: false };
    if (!keyText.test(key)) return askForKey(reply, asked, wrongKey);
    try {
      await open(asked, request, reply);
    } catch (thrown) {
      if (!(thrown instanceof AppError && thrown.code === 'BAD_TOKEN')) throw thrown;
      return askForKey(reply, asked, wrongKey);
    }
    const maxAgeSeconds = cookieDays * 86_400;
    setCookie(reply, cookieName(asked.address), key, {
      maxAgeSeconds,
      isSecure: isSecure(request, deps.publicUrl),
    });
    return reply.header('cache-control', 'private, no-store').redirect(`/dashboards/${asked.address}`, 303);
  });
}

const wrongKey = 'This key does not open the dashboard. It may have been replaced.';
const cookieName = (address: string) => `picket-dashboard-${address}`;

function askedFor(request: FastifyRequest<Params>): Asked {
  const address = knownAddress(request.params.address, 'dashboard');
  const { searchParams } = new URL(request.url, 'http://own.invalid');
  const page = Number(searchParams.get('page') ?? 1);
  const inAddress = searchParams.get('key')?.slice(0, 512);
  return {
    address,
    page: Number.isInteger(page) && page >= 1 && page <= 1_000_000 ? page : 1,
    key: inAddress ?? cookieOf(request, cookieName(address)),
    isKeyInAddress: inAddress !== undefined,
  };
}
