import { mailSubscribers } from '../mail/subscriber-mails.ts';
import type { Repositories } from '../store.ts';
import type { IncidentRow, IncidentUpdateRow } from './tables.ts';

const words = {
  INVESTIGATING: 'Investigating',
  IDENTIFIED: 'Identified',
  MONITORING: 'Monitoring',
  RESOLVED: 'Resolved',
} as const;

/**
 * Stores the mails about an update, in the transaction that stores the update: one for each verified
 * subscription of each page that shows a service of the incident. The subscriber notifier sends them. Without
 * a mailer there is nobody to send them, and nothing is stored.
 */
export async function mailIncidentUpdate(
  repositories: Pick<Repositories, 'statusPages' | 'subscriptions' | 'incidents' | 'subscriberMails'>,
  incident: IncidentRow,
  update: IncidentUpdateRow,
  options: { readonly hasMailer: boolean; readonly publicUrl?: string | undefined },
): Promise<void> {
  if (!options.hasMailer || update.notify_subscribers === 0) return;
  const services = await repositories.incidents.services([incident.id]);
  const pages = await repositories.statusPages.showing(services.map(({ id }) => id));
  const subject = `${words[update.status]}: ${incident.name}`;
  await mailSubscribers(repositories, pages, options, {
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
