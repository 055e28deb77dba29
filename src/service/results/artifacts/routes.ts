import { AppError } from '@picket/lib/errors.ts';
import { matchesGlob } from '@picket/lib/text.ts';
import { type AnyHandler, type HandlerDeps, handlersById } from '@picket/platform/feature/handler.ts';
import {
  type AssetQuery,
  type AssetType,
  artifactRoutes,
  assetRoutes,
  assetTypeOf,
} from '@picket/protocol/results/artifact.ts';
import type { ArtifactRow } from '../tables.ts';
import { assetUrl, sessionAssetUrl } from './asset-urls.ts';
import { ArtifactIntake } from './intake.ts';
import { isOpenedBy } from './open-links.ts';
import { fileNamed, sendFile, storedFiles, storedFilesOf } from './sending.ts';

/** Route by which agents upload artifacts. */
export function artifactHandlers(deps: HandlerDeps): [string, AnyHandler][] {
  const intake = new ArtifactIntake(deps);
  return handlersById(artifactRoutes, {
    async putArtifact({ caller, params, query, request }) {
      return intake.take(caller, { ...params, leaseNumber: query.leaseNumber }, request.raw);
    },
  });
}

/** Routes by which users download artifacts; callers who may see the result may see its artifacts. */
export function assetHandlers(deps: HandlerDeps): [string, AnyHandler][] {
  const storedOfSession = async (accountId: string, id: string, resultId: string): Promise<ArtifactRow[]> => {
    const session = await deps.store.testSessions.find(accountId, id);
    if (!session) throw new AppError('NOT_FOUND', `There is no test session ${id}.`);
    const result = await deps.store.testSessions.resultOfSession(session.id, resultId);
    if (!result) throw new AppError('NOT_FOUND', `The session has no result ${resultId}.`);
    return storedFilesOf(deps.store, result.id);
  };
  return handlersById(assetRoutes, {
    async listAssets({ caller, params, query }) {
      const { checkId, checkResultId: resultId } = params;
      const stored = await storedFiles(deps.store, { accountId: caller.accountId, checkId, resultId });
      const assets = stored.map((row) => ({
        ...assetView(row, assetUrl(row, deps.publicUrl)),
        source: { type: 'check-result' as const, checkId: row.check_id, resultId: row.result_id },
      }));
      return { assets: fitting(assets, query) };
    },
    async getAsset({ caller, params, request, reply }) {
      const { checkId, checkResultId: resultId, name } = params;
      const stored = await storedFiles(deps.store, { accountId: caller.accountId, checkId, resultId });
      await sendFile(fileNamed(stored, name), { request, reply, artifactStore: deps.artifactStore });
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
      await sendFile(fileNamed(stored, params.name), { request, reply, artifactStore: deps.artifactStore });
    },
    async openAsset({ params, query, request, reply }) {
      const { store, clock, artifactStore } = deps;
      const signingKey = await store.alertLinkKeys.find(params.accountId);
      if (signingKey === undefined || !isOpenedBy(params, query, { signingKey, now: clock.wallMs() })) {
        throw new AppError(
          'BAD_LINK',
          'The link is incomplete or has expired. Open the file again from the page of the result.',
        );
      }
      const stored = await storedFilesOf(store, params.resultId);
      await sendFile(fileNamed(stored, params.name), { request, reply, artifactStore });
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
