import type { IncomingMessage } from 'node:http';
import { codeBundleKey, readCodeBundleKey } from '@picket/checks/contract/code-bundle.ts';
import { AppError } from '@picket/lib/errors.ts';
import type { Reply } from '@picket/platform/feature/exchange.ts';
import { type AnyHandler, type HandlerDeps, handlersById } from '@picket/platform/feature/handler.ts';
import { describePage, pageOffset } from '@picket/platform/http/paging.ts';
import { fieldError } from '@picket/platform/http/validation.ts';
import {
  agentBundleRoutes,
  clientStorageRoutes,
  codeBundleRoutes,
} from '@picket/protocol/agent/code-bundle.ts';
import { readSnapshotKey } from '../artifacts/asset-urls.ts';
import { fileNamed, sendFile, storedFilesOf } from '../artifacts/sending.ts';
import {
  type BundleRoom,
  openCodeBundle,
  removeCodeBundle,
  storeCodeBundle,
  type UploadKind,
} from './bundle-upload.ts';

const namesInMessage = 5;
const checksPerPage = 500;

/** Routes by which users upload code bundles and agents download them. */
export function codeBundleHandlers({
  artifactStore,
  store,
  clock,
  publicUrl,
  codeBundleQuotaBytes,
}: HandlerDeps & { readonly codeBundleQuotaBytes?: number | undefined }): [string, AnyHandler][] {
  const send = async (accountId: string, key: string, reply: Reply, contentType = 'application/gzip') => {
    const content = await openCodeBundle(artifactStore, accountId, key);
    reply.headers({
      'content-type': contentType,
      'content-length': readCodeBundleKey(key).sizeBytes,
      'content-disposition': `attachment; filename="${key}.tar.gz"`,
      'x-content-type-options': 'nosniff',
    });
    await reply.send(content);
  };
  const take = (accountId: string, request: IncomingMessage, kind?: UploadKind) => {
    const quotaBytes = codeBundleQuotaBytes ?? Number.MAX_SAFE_INTEGER;
    const room: BundleRoom = {
      async take(bundle) {
        const row = { account_id: accountId, ...bundle, created: clock.wallMs() };
        const taken = await store.transaction(({ codeBundles }) => codeBundles.add(row, quotaBytes));
        if (taken !== 'full') return taken === 'added';
        throw new AppError(
          'ARTIFACT_STORE_FULL',
          'The code bundles of this account would take more than CODE_BUNDLE_QUOTA_BYTES. Delete those that no check uses.',
        );
      },
      giveBack: (key) => store.codeBundles.remove(accountId, key),
    };
    return storeCodeBundle(artifactStore, accountId, request, room, kind);
  };
  return [
    ...handlersById(clientStorageRoutes, {
      async uploadClientBundle({ caller, request }) {
        return take(caller.accountId, request.raw);
      },
      async uploadClientFile({ caller, request }) {
        return take(caller.accountId, request.raw, 'picture');
      },
      async downloadClientFile({ caller, body, request, reply }) {
        const made = readSnapshotKey(body.key);
        if (made) {
          const result = await store.testSessions.resultOfAccount(caller.accountId, made.resultId);
          const stored = result ? await storedFilesOf(store, result.id) : [];
          await sendFile(fileNamed(stored, made.name), { request, reply, artifactStore });
          return;
        }
        if (!codeBundleKey.test(body.key)) {
          throw fieldError('payload', [{ key: 'key', message: 'is not the key of an upload' }]);
        }
        await send(caller.accountId, body.key, reply, 'application/octet-stream');
      },
      async peekClientBundle({ caller, body }) {
        const content = await openCodeBundle(artifactStore, caller.accountId, body.key);
        content.destroy();
        return { key: body.key, contentLength: readCodeBundleKey(body.key).sizeBytes };
      },
    }),
    ...handlersById(codeBundleRoutes, {
      async listCodeBundles({ caller, query, request, reply }) {
        const page = { limit: query.limit, offset: pageOffset(query) };
        const { rows, total } = await store.codeBundles.list(caller.accountId, page);
        describePage(request, reply, { query, total, publicUrl });
        return rows.map(({ key, size_bytes: contentLength, created }) => ({
          key,
          contentLength,
          checksumSha256: readCodeBundleKey(key).sha256,
          created_at: new Date(created).toISOString(),
        }));
      },
      async uploadCodeBundle({ caller, request }) {
        return take(caller.accountId, request.raw);
      },
      async getCodeBundle({ caller, params, reply }) {
        await send(caller.accountId, params.key, reply);
      },
      async deleteCodeBundle({ caller, params }) {
        const users = await checksUsing(store, caller.accountId, params.key);
        if (users.length > 0) {
          throw new AppError(
            'CONFLICT',
            `The code bundle is used by ${users.slice(0, namesInMessage).join(', ')}${users.length > namesInMessage ? ', …' : ''}.`,
          );
        }
        await removeCodeBundle(artifactStore, caller.accountId, params.key);
        await store.codeBundles.remove(caller.accountId, params.key);
      },
    }),
    ...handlersById(agentBundleRoutes, {
      async fetchCodeBundle({ caller, params, reply }) {
        await send(caller.account_id, params.key, reply);
      },
    }),
  ];
}

/** Names of the checks of an account that use a bundle. */
async function checksUsing(store: HandlerDeps['store'], accountId: string, key: string): Promise<string[]> {
  const names: string[] = [];
  for (let offset = 0; ; offset += checksPerPage) {
    const { checks } = await store.checks.list(accountId, {}, { limit: checksPerPage, offset });
    names.push(
      ...checks.filter(({ definition }) => definition.codeBundlePath === key).map(({ name }) => `"${name}"`),
    );
    if (checks.length < checksPerPage) return names;
  }
}
