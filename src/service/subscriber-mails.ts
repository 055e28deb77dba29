import type { IncidentRow, IncidentUpdateRow } from './store/page-tables.ts';
import type { Nouns } from './store/store.ts';

/** A mail to a subscriber of a status page. */
export interface SubscriberMail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** Ends the subscription when it is posted to (RFC 8058, `List-Unsubscribe-Post`). */
  readonly unsubscribeUrl: string;
}

/** Takes mails for delivery. It must not throw: what cannot be delivered is its own to retry and to log. */
export interface SubscriberMailer {
  send(mails: readonly SubscriberMail[]): void;
}

const words = {
  INVESTIGATING: 'Investigating',
  IDENTIFIED: 'Identified',
  MONITORING: 'Monitoring',
  RESOLVED: 'Resolved',
} as const;

/**
 * The mails that tell of an update: one for each verified subscription of each page that shows a service of the
 * incident. Read in the transaction that stores the update; sent after it.
 */
export async function mailsAbout(
  nouns: Pick<Nouns, 'statusPages' | 'subscriptions' | 'incidents'>,
  incident: IncidentRow,
  update: IncidentUpdateRow,
  publicUrl: string | undefined,
): Promise<SubscriberMail[]> {
  if (update.notify_subscribers === 0) return [];
  const services = await nouns.incidents.services([incident.id]);
  const pages = await nouns.statusPages.showing(services.map(({ id }) => id));
  const names = new Map(pages.map(({ id, name }) => [id, name]));
  const subscriptions = await nouns.subscriptions.verified([...names.keys()]);
  const base = publicUrl?.replace(/\/+$/, '') ?? '';
  return subscriptions.map((subscription) => ({
    to: subscription.address,
    subject: oneLine(`[${names.get(subscription.status_page_id)}] ${words[update.status]}: ${incident.name}`),
    text: [
      `${words[update.status]}: ${incident.name}`,
      update.description,
      `Severity: ${incident.severity.toLowerCase()}. Services: ${services.map(({ name }) => name).join(', ')}.`,
      new Date(update.published).toUTCString(),
    ].join('\n\n'),
    unsubscribeUrl: `${base}/v1/public/subscriptions/${subscription.token}/unsubscribe`,
  }));
}

/** Names are people's own words; a line break in a subject would be a header of its own. */
function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').slice(0, 300);
}
