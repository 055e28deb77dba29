import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { NumericId } from '../http/query.ts';
import { created, defineRoutes, successful } from '../http/route.ts';

const DateTime = lazySchema(() => z.iso.datetime());

const TriggerFields = {
  id: z.int(),
  token: z.string().describe('Secret part of the URL; "" for keys without permission to run checks'),
  url: z
    .string()
    .describe('URL that runs the check synchronously on GET; "" for keys without permission to run checks'),
  created_at: DateTime.schema,
  called_at: DateTime.schema.nullable(),
  updated_at: DateTime.schema.nullable(),
};

const CheckTrigger = lazySchema(() =>
  z.object({ ...TriggerFields, checkId: z.string() }).meta({ id: 'CheckTrigger' }),
);
const GroupTrigger = lazySchema(() =>
  z.object({ ...TriggerFields, groupId: z.int() }).meta({ id: 'CheckGroupTrigger' }),
);
const check = {
  path: '/v1/triggers/checks/{checkId}',
  params: z.object({ checkId: z.uuid() }),
} as const;
const group = {
  path: '/v1/triggers/check-groups/{groupId}',
  params: z.object({ groupId: z.coerce.number().int().min(1).max(Number.MAX_SAFE_INTEGER) }),
} as const;

const token = z.string().min(1).max(128);
const call = {
  method: 'GET',
  tag: 'Triggers (deprecated)',
  credential: 'none',
  otherErrors: [408, 409, 429],
  success: successful,
  response: z.object({
    hasFailures: z.boolean(),
    responseTime: z.number().describe('Milliseconds; for several checks, the longest'),
  }),
} as const;

/** Deprecated: check sessions do the same with an API key (check model 4.2). */
export const triggerRoutes = defineRoutes('Triggers (deprecated)', 'account', {
  getCheckTrigger: {
    ...check,
    method: 'GET',
    summary: 'The trigger of a check',
    response: CheckTrigger,
  },
  createCheckTrigger: {
    ...check,
    method: 'POST',
    summary: 'Create a trigger of a check; an existing one gets a new token',
    success: created,
    response: CheckTrigger,
  },
  deleteCheckTrigger: {
    ...check,
    method: 'DELETE',
    summary: 'Delete the trigger of a check',
  },
  getCheckGroupTrigger: {
    ...group,
    method: 'GET',
    summary: 'The trigger of a check group',
    response: GroupTrigger,
  },
  createCheckGroupTrigger: {
    ...group,
    method: 'POST',
    summary: 'Create a trigger of a check group; an existing one gets a new token',
    success: created,
    response: GroupTrigger,
  },
  deleteCheckGroupTrigger: {
    ...group,
    method: 'DELETE',
    summary: 'Delete the trigger of a check group',
  },
  callCheckTrigger: {
    ...call,
    path: '/checks/{checkId}/trigger/{token}',
    summary: 'The same as /v1/triggers/run/{token}, for existing clients',
    params: z.object({ checkId: z.uuid(), token }),
  },
  callCheckGroupTrigger: {
    ...call,
    path: '/check-groups/{groupId}/trigger/{token}',
    summary: 'The same as /v1/triggers/run/{token}, for existing clients',
    params: lazySchema(() => z.object({ groupId: NumericId, token })),
  },
  callTrigger: {
    ...call,
    path: '/v1/triggers/run/{token}',
    summary: 'Run the check or group of the trigger and wait: 200 if it passes, 503 if it fails',
    params: z.object({ token }),
  },
});
