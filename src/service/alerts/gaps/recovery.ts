import type { Repositories } from '@picket/platform/store/repositories.ts';
import { type StoredChannel, wantsNotice } from '../channels/rules.ts';
import type { AlertChannel } from '../channels/store.ts';
import type { AlertFacts } from '../facts.ts';
import { alertId, storeAlert, storedFacts } from '../raise.ts';

/**
 * Notifies the channels that were notified of a gap that it is over.
 *
 * @returns whether there are notifications to send.
 */
export async function notifyOfGapEnd(
  repositories: Repositories,
  {
    groupId,
    now,
    isNotified = () => true,
  }: {
    /** Id of the alert that reported the gap. */
    readonly groupId: string;
    readonly now: number;
    readonly isNotified?: (channel: AlertChannel) => boolean;
  },
): Promise<boolean> {
  const begin = (await repositories.alerts.findMany([groupId])).get(groupId);
  if (!begin) return false;
  const facts: AlertFacts = { ...storedFacts(begin), error: null, recoversFrom: 'gap' };
  const channels = (await repositories.alertChannels.notifiedOfAlert(begin.id)).filter(
    (channel) => isNotified(channel) && wantsNotice(channel.definition as StoredChannel, 'recovery', facts),
  );
  return storeAlert(
    repositories,
    {
      ...begin,
      id: alertId(begin.id, 'over'),
      alert_type: 'ALERT_GAP_OVER',
      notice: 'recovery',
      facts: JSON.stringify(facts),
      created: now,
    },
    channels,
  );
}
