import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { CursorPaging, cursorPage } from '../http/cursor.ts';
import { created, defineRoutes } from '../http/route.ts';

/** A subscriber to the incidents of a status page. */
export const Subscription = lazySchema(() =>
  z
    .object({
      id: z.string(),
      type: z.literal('EMAIL'),
      address: z.string(),
      status: z.enum(['PENDING', 'VERIFIED']),
      statusPageId: z.string(),
      created_at: z.iso.datetime(),
      updated_at: z.iso.datetime().nullable(),
    })
    .meta({ id: 'Subscription' }),
);
export type Subscription = z.output<typeof Subscription.schema>;

const BulkInput = lazySchema(() =>
  z
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
    .meta({ id: 'SubscriptionsInput' }),
);
const base = '/v1/status-pages/{statusPageId}/subscriptions';

export const subscriptionRoutes = defineRoutes('Subscriptions', 'account', {
  listSubscriptions: {
    method: 'GET',
    path: base,
    summary: 'Subscriptions of a status page, newest first',
    params: z.object({ statusPageId: z.uuid() }),
    query: lazySchema(() => z.object(CursorPaging)),
    response: lazySchema(() => cursorPage(Subscription.schema)),
  },
  createSubscriptions: {
    method: 'POST',
    path: `${base}/bulk`,
    summary: 'Subscribe up to 100 addresses that have consented; existing subscriptions are unchanged',
    params: z.object({ statusPageId: z.uuid() }),
    body: BulkInput,
    success: created,
    response: lazySchema(() =>
      z.object({
        created: z.int(),
        skipped: z.int().describe('Number of addresses already subscribed, or repeated in the request'),
        status: z.enum(['PENDING', 'VERIFIED']).describe('Status of the created subscriptions'),
      }),
    ),
  },
  deleteSubscription: {
    method: 'DELETE',
    path: `${base}/{subscriptionId}`,
    summary: 'End a subscription',
    params: z.object({ statusPageId: z.uuid(), subscriptionId: z.uuid() }),
  },
});
