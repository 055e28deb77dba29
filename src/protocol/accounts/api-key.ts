import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { Paging } from '../http/query.ts';
import { created, defineRoutes } from '../http/route.ts';
import { Role } from './role.ts';

const DateTime = lazySchema(() => z.iso.datetime());

const ApiKey = lazySchema(() =>
  z
    .object({
      id: z.uuid(),
      name: z.string(),
      role: Role,
      maskedKey: z.string().describe('Its last characters'),
      lastUsedAt: DateTime.schema.nullable().describe('To the minute; null if never used'),
      created_at: DateTime.schema,
    })
    .meta({ id: 'ApiKey' }),
);
export type ApiKey = z.output<typeof ApiKey.schema>;

export const ApiKeyInput = lazySchema(() =>
  z
    .object({
      name: z.string().min(1).max(200).describe('Purpose of the key'),
      role: Role.default('READ_WRITE'),
    })
    .meta({ id: 'ApiKeyInput' }),
);

const common = { isAdmin: true } as const;
const params = z.object({ id: z.uuid() });

/** The API keys of an account. Only its admins can see and change them. */
export const apiKeyRoutes = defineRoutes('API keys', 'account', {
  listApiKeys: {
    ...common,
    method: 'GET',
    path: '/v1/api-keys',
    summary: 'API keys of the account, oldest first, without the keys themselves',
    query: z.object(Paging),
    response: lazySchema(() => z.array(ApiKey.schema)),
  },
  createApiKey: {
    ...common,
    method: 'POST',
    path: '/v1/api-keys',
    summary: 'Create an API key; only this response contains the key',
    body: ApiKeyInput,
    success: created,
    response: lazySchema(() =>
      ApiKey.schema.extend({ rawKey: z.string().describe('The key itself; not shown again') }).meta({
        id: 'CreatedApiKey',
      }),
    ),
  },
  getApiKey: {
    ...common,
    method: 'GET',
    path: '/v1/api-keys/{id}',
    summary: 'One API key, without the key itself',
    params,
    response: ApiKey,
  },
  deleteApiKey: {
    ...common,
    method: 'DELETE',
    path: '/v1/api-keys/{id}',
    summary: 'Revoke an API key: requests and sessions with it end at once',
    params,
    otherErrors: [409],
  },
});
