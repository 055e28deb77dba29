import { randomBytes, randomUUID } from 'node:crypto';
import type { Clock } from '@picket/lib/clock.ts';
import { AppError } from '@picket/lib/errors.ts';
import type { Store } from '@picket/platform/store/store.ts';
import { oneLine, subscriptionLinks } from '../../mail/subscriber-mails.ts';
import type { StatusPageRow } from '../tables.ts';

/**
 * Subscribing to a status page by mail.
 *
 * A visitor enters an address. It is stored as PENDING with a random token, and a mail with the token's link is stored
 * in the same transaction. Opening the link and pressing its button proves access to the mailbox: the subscription
 * becomes VERIFIED. Subscriptions not confirmed within two days are deleted. The response reveals nothing about an
 * address: it is the same for subscribed, pending and new ones. To prevent flooding others with mails, a pending
 * address is mailed at most once an hour per page and at most five times across all pages, and a page has at most a
 * thousand pending subscriptions. A new one then replaces the oldest, so that an attacker who fills a page cannot lock
 * others out.
 */

/** How long the link in a mail is valid. */
export const confirmableMs = 2 * 86_400_000;
const askAgainMs = 3_600_000;
const mostAskedInAnHour = 5;
const mostPending = 1_000;
/** Minimum time that a pending subscription is kept, however many others are requested. */
const keptForMs = 15 * 60_000;

interface SubscribingDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly publicUrl?: string | undefined;
  readonly hasMailer?: boolean;
  readonly hasPages?: boolean;
}

/** Whether visitors can subscribe themselves: mails can be sent, and their links can be opened. */
export function takesSubscriptions({
  publicUrl,
  hasMailer = false,
  hasPages = false,
}: Omit<SubscribingDeps, 'store' | 'clock'>): boolean {
  return hasMailer && hasPages && publicUrl !== undefined;
}

/**
 * Mails a confirmation request to an address.
 *
 * @throws AppError NOT_FOUND if this service takes no subscriptions, RATE_LIMITED if too many are pending.
 */
export async function askToSubscribe(
  deps: SubscribingDeps,
  page: Pick<StatusPageRow, 'id' | 'account_id' | 'name'>,
  address: string,
): Promise<void> {
  if (!takesSubscriptions(deps)) {
    throw new AppError(
      'NOT_FOUND',
      'Subscriptions are not available: they need SMTP_URL, MAIL_FROM, PUBLIC_URL and web pages.',
    );
  }
  const now = deps.clock.wallMs();
  await deps.store.transaction(async ({ statusPages, subscriptions, subscriberMails }) => {
    // The lock prevents two subscriptions from concurrent requests for one address.
    if (!(await statusPages.findForUpdate(page.account_id, page.id))) return;
    const known = await subscriptions.ofAddress(page.id, address);
    if (known?.status === 'VERIFIED') return;
    if (known && now - (known.updated ?? known.created) < askAgainMs) return;
    if ((await subscriptions.pendingSince(address, now - askAgainMs)) >= mostAskedInAnHour) return;
    const token = known?.token ?? randomBytes(24).toString('base64url');
    if (known) await subscriptions.askedAgain(known.id, now);
    else {
      const { PENDING } = await subscriptions.counts(page.id);
      if (PENDING >= mostPending && !(await subscriptions.dropOldestPending(page.id, now - keptForMs))) {
        throw new AppError('RATE_LIMITED', 'Too many subscription requests. Try again in 15 minutes.');
      }
      await subscriptions.insertNew([
        {
          id: randomUUID(),
          status_page_id: page.id,
          type: 'EMAIL',
          address,
          status: 'PENDING',
          token,
          created: now,
          updated: null,
        },
      ]);
    }
    const links = subscriptionLinks(deps.publicUrl, token);
    await subscriberMails.insert([
      {
        account_id: page.account_id,
        address,
        subject: oneLine(`[${page.name}] Confirm your subscription`),
        text: [
          `A subscription of this address to incidents and maintenance of ${oneLine(page.name)} was requested.`,
          'To confirm, open this link within two days and press the button.',
          `Confirm the subscription: ${links.confirm}`,
          'If it was not you, ignore this mail. You will get no more mails unless the subscription is requested again.',
        ].join('\n\n'),
        unsubscribe_url: links.unsubscribe,
        tries: 0,
        next_at: now,
        created: now,
      },
    ]);
  });
}
