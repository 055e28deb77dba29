import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../../lib/errors.ts';
import { matchesGlob } from '../../../lib/text.ts';
import {
  type AssetQuery,
  type AssetType,
  artifactRoutes,
  assetRoutes,
  assetTypeOf,
} from '../../../protocol/results/artifact.ts';
import type { ArtifactStore } from '../../artifact-store/artifact-store.ts';
import { parseByteRange } from '../../artifact-store/artifact-store.ts';
import { type AnyHandler, type HandlerDeps, handlersById } from '../../http/handler.ts';
import type { ArtifactRow } from '../tables.ts';
import { assetUrl, sessionAssetUrl } from './asset-urls.ts';
import { ArtifactIntake, artifactKey } from './intake.ts';

/** Types that a browser may show by itself: they hold no program. Everything else is saved to a file. */
const shownTypes: ReadonlySet<string> = new Set([
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'image/avif',
  'video/webm',
  'video/mp4',
  'text/plain',
  'application/json',
]);

/** The route by which agents send artifacts. */
export function artifactHandlers(deps: HandlerDeps): [string, AnyHandler][] {
  const intake = new ArtifactIntake(deps);
  return handlersById(artifactRoutes, {
    async putArtifact({ caller, params, query, request }) {
      return intake.take(caller, { ...params, leaseNumber: query.leaseNumber }, request.raw);
    },
  });
}

/** The routes by which people get at them; callers who may see the result may see its artifacts. */
export function assetHandlers(deps: HandlerDeps): [string, AnyHandler][] {
  const storedOf = async (accountId: string, checkId: string, resultId: string): Promise<ArtifactRow[]> => {
    const check = await deps.store.checks.find(accountId, checkId);
    const result =
      check &&
      ((await deps.store.results.find(check.id, resultId)) ??
        (await deps.store.testSessions.findResult(check.id, resultId)));
    if (!result) throw new AppError('NOT_FOUND', `There is no result ${resultId} of check ${checkId}.`);
    return storedArtifacts(result.id);
  };
  const storedArtifacts = async (resultId: string): Promise<ArtifactRow[]> => {
    const artifacts = (await deps.store.artifacts.ofResults([resultId])).get(resultId) ?? [];
    return artifacts.filter(({ state }) => state === 'stored');
  };
  const storedOfSession = async (accountId: string, id: string, resultId: string): Promise<ArtifactRow[]> => {
    const session = await deps.store.testSessions.find(accountId, id);
    if (!session) throw new AppError('NOT_FOUND', `There is no test session ${id}.`);
    const result = await deps.store.testSessions.resultOfSession(session.id, resultId);
    if (!result) throw new AppError('NOT_FOUND', `The session has no result ${resultId}.`);
    return storedArtifacts(result.id);
  };
  return handlersById(assetRoutes, {
    async listAssets({ caller, params, query }) {
      const stored = await storedOf(caller.accountId, params.checkId, params.checkResultId);
      const assets = stored.map((row) => ({
        ...assetView(row, assetUrl(row, deps.publicUrl)),
        source: { type: 'check-result' as const, checkId: row.check_id, resultId: row.result_id },
      }));
      return { assets: fitting(assets, query) };
    },
    async getAsset({ caller, params, request, reply }) {
      const stored = await storedOf(caller.accountId, params.checkId, params.checkResultId);
      const row = stored.find(({ name }) => name === params.name);
      if (!row) throw new AppError('NOT_FOUND', `The result has no artifact "${params.name}".`);
      await send(row, deps.artifactStore, request, reply);
    },
    async listTestSessionAssets({ caller, params, query }) {
      const stored = await storedOfSession(caller.accountId, params.id, params.resultId);
      const assets = stored.map((row) => ({
        ...assetView(row, sessionAssetUrl(params.id, row, deps.publicUrl)),
        source: {
          type: 'test-session-result' as const,
          checkId: row.check_id,
          resultId: row.result_id,
          testSessionId: params.id,
        },
      }));
      return { assets: fitting(assets, query) };
    },
    async getTestSessionAsset({ caller, params, request, reply }) {
      const stored = await storedOfSession(caller.accountId, params.id, params.resultId);
      const row = stored.find(({ name }) => name === params.name);
      if (!row) throw new AppError('NOT_FOUND', `The result has no artifact "${params.name}".`);
      await send(row, deps.artifactStore, request, reply);
    },
  });
}

function assetView(row: ArtifactRow, url: string) {
  return {
    type: assetTypeOf(row.name, row.content_type),
    name: row.name,
    url,
    contentType: row.content_type,
    sizeBytes: row.size_bytes ?? 0,
    sha256: row.sha256 ?? '',
  };
}

function fitting<Shown extends { readonly type: AssetType; readonly name: string }>(
  assets: readonly Shown[],
  query: AssetQuery,
): Shown[] {
  return assets.filter(
    ({ type, name }) =>
      (query.type === undefined || query.type === type) &&
      (query.name === undefined || matchesGlob(name, query.name)),
  );
}

async function send(
  row: ArtifactRow,
  store: ArtifactStore,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const sizeBytes = row.size_bytes ?? 0;
  const etag = `"${row.sha256}"`;
  describe(row, etag, reply);
  const { 'if-none-match': known, 'if-range': ifRange, range: rangeHeader } = request.headers;
  if (known !== undefined && (known === '*' || known.includes(etag))) {
    await reply.code(304).send();
    return;
  }
  const range =
    ifRange === undefined || ifRange === etag ? parseByteRange(rangeHeader, sizeBytes) : undefined;
  if (range === 'unsatisfiable') {
    reply.header('content-range', `bytes */${sizeBytes}`);
    throw new AppError('RANGE_NOT_SATISFIABLE', `The artifact has ${sizeBytes} bytes.`);
  }
  if (range) {
    reply.code(206).header('content-range', `bytes ${range.first}-${range.last}/${sizeBytes}`);
  }
  reply.header('content-length', range ? range.last - range.first + 1 : sizeBytes);
  if (request.method === 'HEAD') {
    reply.hijack();
    reply.raw.writeHead(reply.statusCode, reply.getHeaders() as Record<string, string>).end();
    return;
  }
  const content = await store.open(artifactKey(row), range);
  if (!content) {
    throw new AppError('STORE_UNAVAILABLE', 'The stored file of the artifact is missing.');
  }
  await reply.send(content);
}

/**
 * What browsers have to know of bytes that come from targets and scripts: their type is what it says and
 * nothing else (no sniffing), they run nothing (sandbox), and what could hold a program is saved, not shown.
 */
function describe(row: ArtifactRow, etag: string, reply: FastifyReply): void {
  const [essence = ''] = row.content_type.toLowerCase().split(';');
  const file = row.name.slice(row.name.lastIndexOf('/') + 1);
  reply.headers({
    'content-type': row.content_type,
    'content-disposition': `${shownTypes.has(essence.trim()) ? 'inline' : 'attachment'}; filename="${file}"`,
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'; sandbox",
    'cross-origin-resource-policy': 'same-site',
    'cache-control': 'private, no-cache',
    'accept-ranges': 'bytes',
    etag,
  });
}
