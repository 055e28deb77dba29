import type { Repositories } from '@picket/platform/store/repositories.ts';

/**
 * Stores one mail for each verified subscription of the given pages, with the page's name before the subject. The
 * subject is the heading of the mail: its text does not repeat it.
 */
export async function mailSubscribers(
  repositories: Pick<Repositories, 'subscriptions' | 'subscriberMails'>,
  pages: readonly { readonly id: string; readonly account_id: string; readonly name: string }[],
  options: { readonly publicUrl?: string | undefined },
  mail: { readonly subject: string; readonly text: string; readonly at: number },
): Promise<void> {
  const byId = new Map(pages.map((page) => [page.id, page]));
  const subscriptions = await repositories.subscriptions.verified([...byId.keys()]);
  await repositories.subscriberMails.insert(
    subscriptions.map((subscription) => ({
      account_id: byId.get(subscription.status_page_id)?.account_id ?? '',
      address: subscription.address,
      subject: oneLine(`[${byId.get(subscription.status_page_id)?.name}] ${mail.subject}`),
      text: mail.text,
      unsubscribe_url: subscriptionLinks(options.publicUrl, subscription.token).unsubscribe,
      tries: 0,
      next_at: mail.at,
      created: mail.at,
    })),
  );
}

/** Links to confirm and to end a subscription: the second takes a POST (RFC 8058). */
export function subscriptionLinks(
  publicUrl: string | undefined,
  token: string,
): { readonly confirm: string; readonly unsubscribe: string } {
  const base = publicUrl?.replace(/\/+$/, '') ?? '';
  return {
    confirm: `${base}/subscriptions/${token}/confirm`,
    unsubscribe: `${base}/v1/public/subscriptions/${token}/unsubscribe`,
  };
}

/**
 * Page with a button that ends a subscription, derived from the URL that mail programs POST to: users follow links with
 * GET.
 */
export function unsubscribePage(unsubscribeUrl: string): string {
  return unsubscribeUrl.replace('/v1/public/subscriptions/', '/subscriptions/');
}

/** Names are user input; a line break in a subject would start another header. */
export function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').slice(0, 300).toWellFormed();
}
