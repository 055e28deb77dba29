import { utcText } from '@picket/lib/figures/time.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import { mailSubscribers } from '../mail/subscriber-mails.ts';
import { hiddenAmong } from '../maintenance/affected.ts';
import type { IncidentRow, IncidentUpdateRow } from './tables.ts';

const words = {
  INVESTIGATING: 'Investigating',
  IDENTIFIED: 'Identified',
  MONITORING: 'Monitoring',
  RESOLVED: 'Resolved',
} as const;

/**
 * Stores the mails about an update, in the transaction that stores the update: one for each verified subscription of
 * each page that shows a service or component of the incident. The subscriber notifier sends them. Without a mailer
 * nothing is stored, because the mails could not be sent.
 */
export async function mailIncidentUpdate(
  repositories: Pick<
    Repositories,
    'statusPages' | 'components' | 'subscriptions' | 'incidents' | 'subscriberMails'
  >,
  incident: IncidentRow,
  update: IncidentUpdateRow,
  options: { readonly hasMailer: boolean; readonly publicUrl?: string | undefined },
): Promise<void> {
  if (!options.hasMailer || update.notify_subscribers === 0) return;
  const subject = `${words[update.status]}: ${incident.name}`;
  const mail = (pages: readonly Addressed[], concerned: string) =>
    mailSubscribers(repositories, pages, options, {
      subject,
      text: [
        update.description,
        `Severity: ${incident.severity.toLowerCase()}. ${concerned}.`,
        utcText(update.published),
      ].join('\n\n'),
      at: update.created,
    });
  const { statusPages, incidents } = repositories;
  const services = await incidents.services([incident.id]);
  const showing = await statusPages.showing(services.map(({ id }) => id));
  await mail(showing, `Services: ${services.map(({ name }) => name).join(', ')}`);
  const components = await incidents.components([incident.id]);
  for (const [pageId, own] of Map.groupBy(components, (one) => one.status_page_id)) {
    // Components that a page hides are not mentioned.
    const hidden = hiddenAmong(await repositories.components.ofPage(pageId));
    const names = own.flatMap(({ id, name }) => (hidden.has(id) ? [] : [name]));
    if (names.length === 0) continue;
    await mail(await statusPages.findMany(incident.account_id, [pageId]), `Components: ${names.join(', ')}`);
  }
}

interface Addressed {
  readonly id: string;
  readonly account_id: string;
  readonly name: string;
}
