import { randomBytes, randomUUID } from 'node:crypto';
import type { Clock } from '@picket/lib/clock.ts';
import { AppError } from '@picket/lib/errors.ts';
import type { Store } from '@picket/platform/store/store.ts';
import { oneLine, subscriptionLinks } from '../../mail/subscriber-mails.ts';
import type { StatusPageRow } from '../tables.ts';

/**
 * Subscribing to a status page by mail.
 *
 * Somebody names an address. It is stored as PENDING, with a random token, and a mail with the token's link
 * is stored in the same transaction. Who opens the link and presses its button has the mailbox: the
 * subscription is VERIFIED. What nobody confirms within two days is removed. The answer tells nothing of an
 * address: one that is subscribed, one that waits and a new one are answered alike. So that nobody can be
 * flooded with mails that they did not ask for, an address that waits is asked at most once an hour, by all
 * pages together at most five times, and a page has at most a thousand that wait. A new one then takes the place
 * of the oldest: somebody who fills a page must not keep others from it.
 */

/** How long the link of a mail is good for. */
export const confirmableMs = 2 * 86_400_000;
const askAgainMs = 3_600_000;
const mostAskedInAnHour = 5;
const mostPending = 1_000;
/** The time that everybody has for their mail, however many ask. */
const keptForMs = 15 * 60_000;

interface SubscribingDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly publicUrl?: string | undefined;
  readonly hasMailer?: boolean;
  readonly hasPages?: boolean;
}

/** Whether people can subscribe by themselves: mails can be sent, and their links lead somewhere. */
export function takesSubscriptions({
  publicUrl,
  hasMailer = false,
  hasPages = false,
}: Omit<SubscribingDeps, 'store' | 'clock'>): boolean {
  return hasMailer && hasPages && publicUrl !== undefined;
}

/**
 * Mails an address the question whether it wants to be subscribed.
 *
 * @throws AppError NOT_FOUND where this service takes no subscriptions, RATE_LIMITED where too many wait.
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
    // Two requests for one address at once would be two subscriptions.
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
          `To confirm, open this link within two days and press the button:\n${links.confirm}`,
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
