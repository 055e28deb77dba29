import { randomBytes, randomUUID } from 'node:crypto';
import { AppError } from '@picket/lib/errors.ts';
import {
  type AnyHandler,
  type HandlerDeps,
  handlersById,
  iso,
  optionalIso,
} from '@picket/platform/feature/handler.ts';
import { pageOf } from '@picket/platform/http/paging.ts';
import { parseCursor } from '@picket/protocol/http/cursor.ts';
import { type Subscription, subscriptionRoutes } from '@picket/protocol/pages/subscription.ts';
import type { SubscriptionRow } from '../tables.ts';

/** Routes of the subscriptions of status pages. */
export function subscriptionHandlers({ store, clock }: HandlerDeps): [string, AnyHandler][] {
  const requirePage = async (accountId: string, id: string) => {
    const page = await store.statusPages.find(accountId, id);
    if (!page) throw new AppError('NOT_FOUND', `There is no status page ${id}.`);
  };
  return handlersById(subscriptionRoutes, {
    async listSubscriptions({ caller, params, query }) {
      await requirePage(caller.accountId, params.statusPageId);
      const cursor = parseCursor(query.nextId);
      const rows = await store.subscriptions.list(params.statusPageId, query.limit + 1, cursor);
      return pageOf(rows, query.limit, async (shown) => shown.map(subscriptionView));
    },
    async createSubscriptions({ caller, params, body }) {
      const now = clock.wallMs();
      // Lower case gives one subscription per mailbox: in practice no two spellings are different mailboxes.
      const addresses = new Set(body.subscriptions.map(({ config }) => config.address.toLowerCase()));
      const created = await store.transaction(async (repositories) => {
        const page = await repositories.statusPages.findForUpdate(caller.accountId, params.statusPageId);
        if (!page) throw new AppError('NOT_FOUND', `There is no status page ${params.statusPageId}.`);
        return repositories.subscriptions.insertNew(
          [...addresses].map((address) => ({
            id: randomUUID(),
            status_page_id: page.id,
            type: 'EMAIL',
            address,
            // The account vouches for the consent of those it adds; each mail has an unsubscribe link.
            status: 'VERIFIED',
            token: randomBytes(24).toString('base64url'),
            created: now,
            updated: null,
          })),
        );
      });
      return { created, skipped: body.subscriptions.length - created, status: 'VERIFIED' as const };
    },
    async deleteSubscription({ caller, params }) {
      await requirePage(caller.accountId, params.statusPageId);
      if (!(await store.subscriptions.delete(params.statusPageId, params.subscriptionId))) {
        throw new AppError('NOT_FOUND', `The page has no subscription ${params.subscriptionId}.`);
      }
    },
  });
}

function subscriptionView(row: SubscriptionRow): Subscription {
  return {
    id: row.id,
    type: row.type,
    address: row.address,
    status: row.status,
    statusPageId: row.status_page_id,
    created_at: iso(row.created),
    updated_at: optionalIso(row.updated),
  };
}
