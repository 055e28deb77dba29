import type { IncidentRow, IncidentUpdateRow, StatusPageRow } from '../pages/tables.ts';
import type { Nouns } from '../store/store.ts';

const words = {
  INVESTIGATING: 'Investigating',
  IDENTIFIED: 'Identified',
  MONITORING: 'Monitoring',
  RESOLVED: 'Resolved',
} as const;

/**
 * Stores the mails that tell of an update, in the transaction that stores the update: one for each verified
 * subscription of each page that shows a service of the incident. The subscriber notifier sends them. Without a mailer
 * there is nobody to send them, and nothing is stored.
 */
export async function tellSubscribers(
  nouns: Pick<Nouns, 'statusPages' | 'subscriptions' | 'incidents' | 'subscriberMails'>,
  incident: IncidentRow,
  update: IncidentUpdateRow,
  options: { readonly hasMailer: boolean; readonly publicUrl?: string | undefined },
): Promise<void> {
  if (!options.hasMailer || update.notify_subscribers === 0) return;
  const services = await nouns.incidents.services([incident.id]);
  const pages = await nouns.statusPages.showing(services.map(({ id }) => id));
  const subject = `${words[update.status]}: ${incident.name}`;
  await mailSubscribers(nouns, pages, options, {
    subject,
    text: [
      subject,
      update.description,
      `Severity: ${incident.severity.toLowerCase()}. Services: ${services.map(({ name }) => name).join(', ')}.`,
      new Date(update.published).toUTCString(),
    ].join('\n\n'),
    at: update.created,
  });
}

/** Stores one mail for each verified subscription of some pages, with the page's name before the subject. */
export async function mailSubscribers(
  nouns: Pick<Nouns, 'subscriptions' | 'subscriberMails'>,
  pages: readonly StatusPageRow[],
  options: { readonly publicUrl?: string | undefined },
  mail: { readonly subject: string; readonly text: string; readonly at: number },
): Promise<void> {
  const names = new Map(pages.map(({ id, name }) => [id, name]));
  const subscriptions = await nouns.subscriptions.verified([...names.keys()]);
  const base = options.publicUrl?.replace(/\/+$/, '') ?? '';
  await nouns.subscriberMails.insert(
    subscriptions.map((subscription) => ({
      address: subscription.address,
      subject: oneLine(`[${names.get(subscription.status_page_id)}] ${mail.subject}`),
      text: mail.text,
      unsubscribe_url: `${base}/v1/public/subscriptions/${subscription.token}/unsubscribe`,
      tries: 0,
      next_at: mail.at,
      created: mail.at,
    })),
  );
}

/** Names are people's own words; a line break in a subject would be a header of its own. */
function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').slice(0, 300).toWellFormed();
}
