import { z } from 'zod';
import { CursorPaging, cursorPage } from '../http/cursor.ts';
import { created, defineRoute, noContent, successful } from '../http/route.ts';

/** Who hears of the incidents of a status page. */
export const Subscription = z
  .object({
    id: z.string(),
    type: z.literal('EMAIL'),
    address: z.string(),
    status: z.enum(['PENDING', 'VERIFIED']),
    statusPageId: z.string(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime().nullable(),
  })
  .meta({ id: 'Subscription' });
export type Subscription = z.output<typeof Subscription>;

const BulkInput = z
  .object({
    subscriptions: z
      .array(
        z.object({
          type: z.literal('EMAIL'),
          config: z.object({ address: z.email().max(254) }),
        }),
      )
      .min(1)
      .max(100),
  })
  .meta({ id: 'SubscriptionsInput' });

const route = { tag: 'Subscriptions', credential: 'account' } as const;
const base = '/v1/status-pages/{statusPageId}/subscriptions';

export const subscriptionRoutes = {
  listSubscriptions: defineRoute({
    ...route,
    method: 'GET',
    path: base,
    operationId: 'listSubscriptions',
    summary: 'Subscriptions of a status page, newest first',
    params: z.object({ statusPageId: z.uuid() }),
    query: z.object(CursorPaging),
    success: successful,
    response: cursorPage(Subscription),
  }),
  createSubscriptions: defineRoute({
    ...route,
    method: 'POST',
    path: `${base}/bulk`,
    operationId: 'createSubscriptions',
    summary:
      'Subscribe up to 100 addresses, whose consent you have; those that are subscribed stay as they are',
    params: z.object({ statusPageId: z.uuid() }),
    body: BulkInput,
    success: created,
    response: z.object({
      created: z.int(),
      skipped: z.int().describe('Subscribed before, or named twice'),
      status: z.enum(['PENDING', 'VERIFIED']).describe('Of the ones that were created'),
    }),
  }),
  deleteSubscription: defineRoute({
    ...route,
    method: 'DELETE',
    path: `${base}/{subscriptionId}`,
    operationId: 'deleteSubscription',
    summary: 'End a subscription',
    params: z.object({ statusPageId: z.uuid(), subscriptionId: z.uuid() }),
    success: noContent,
  }),
};
