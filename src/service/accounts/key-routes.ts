import { AppError } from '@picket/lib/errors.ts';
import {
  type AnyHandler,
  type HandlerDeps,
  handlersById,
  iso,
  optionalIso,
} from '@picket/platform/feature/handler.ts';
import { found, notFound } from '@picket/platform/http/known-names.ts';
import { describePage, pageOffset } from '@picket/platform/http/paging.ts';
import { createKey } from '@picket/platform/ids/keys.ts';
import { apiKeyRoutes } from '@picket/protocol/accounts/api-key.ts';
import type { ApiKeyRow } from './tables.ts';

/** Routes of API keys. */
export function apiKeyHandlers({ store, clock, publicUrl }: HandlerDeps): [string, AnyHandler][] {
  return handlersById(apiKeyRoutes, {
    async listApiKeys({ caller, query, request, reply }) {
      const page = { limit: query.limit, offset: pageOffset(query) };
      const { rows, total } = await store.accounts.keyPage(caller.accountId, page);
      describePage(request, reply, { query, total, publicUrl });
      return rows.map(keyView);
    },
    async createApiKey({ caller, body }) {
      const { rawKey, keyHash, masked } = createKey('ak_');
      const row = await store.accounts.addKey(
        caller.accountId,
        { name: body.name, role: body.role, keyHash, masked },
        clock.wallMs(),
      );
      return { ...keyView(row), rawKey };
    },
    async getApiKey({ caller, params }) {
      return keyView(found(await store.accounts.keyOf(caller.accountId, params.id), `API key ${params.id}`));
    },
    async deleteApiKey({ caller, params }) {
      await store.transaction(async ({ accounts }) => {
        await accounts.lockAccount(caller.accountId);
        const keys = await accounts.keys(caller.accountId);
        const key = keys.find(({ id }) => id === params.id);
        if (!key) throw notFound(`API key ${params.id}`);
        const isOtherAdmin = keys.some(({ id, role }) => id !== key.id && role === 'ADMIN');
        if (key.role === 'ADMIN' && !isOtherAdmin) {
          throw new AppError(
            'CONFLICT',
            'This is the last API key with the role ADMIN. Create another one first.',
          );
        }
        await accounts.deleteKey(key.id);
      });
    },
  });
}

function keyView({ id, name, role, masked, last_used: used, created }: ApiKeyRow) {
  return { id, name, role, maskedKey: masked, lastUsedAt: optionalIso(used), created_at: iso(created) };
}
