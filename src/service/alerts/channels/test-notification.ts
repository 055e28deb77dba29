import { randomUUID } from 'node:crypto';
import { findChannelKind } from '@picket/channels/index.ts';
import type { Clock } from '@picket/lib/clock.ts';
import type { Store } from '@picket/platform/store/store.ts';
import type { AlertFacts } from '../facts.ts';
import { storeAlert } from '../raise.ts';
import type { AlertNotificationRow, AlertRow } from '../tables.ts';
import type { AlertChannel } from './store.ts';

const maxWaitMs = 20_000;
const lookEveryMs = 200;

/**
 * Sends a test to a channel the same way as an alert, whatever news the channel wants, and waits for it to end. If it
 * opens an incident, a recovery closes it.
 *
 * @returns the notification in its state at that time.
 */
export async function sendTest(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  channel: AlertChannel,
  stop: AbortSignal,
): Promise<AlertNotificationRow> {
  const subjectId = randomUUID();
  const alert = alertOf(channel, subjectId, { notice: 'failure', now: clock.wallMs() });
  await store.transaction(async (repositories) => {
    await storeAlert(repositories, alert, [channel]);
    if (!findChannelKind(channel.type)?.keepsIncidents) return;
    const end = alertOf(channel, subjectId, { notice: 'recovery', now: clock.wallMs() });
    await storeAlert(repositories, end, [channel]);
  });
  store.signals.send([{ kind: 'alerts' }]);
  for (let waitedMs = 0; ; waitedMs += lookEveryMs) {
    const row = await store.notifications.ofAlert(alert.id, channel.id);
    if (!row) throw new Error('a notification that was just stored is not there');
    const isTried = row.status !== 'IN_PROGRESS' || row.result !== null;
    if (isTried || waitedMs >= maxWaitMs || stop.aborted) return row;
    await clock.sleep(lookEveryMs, stop);
  }
}

function alertOf(
  channel: AlertChannel,
  subjectId: string,
  { notice, now }: { readonly notice: 'failure' | 'recovery'; readonly now: number },
): AlertRow {
  const facts: AlertFacts = {
    subject: 'test',
    checkName: 'Test notification',
    checkType: 'ALERT_CHANNEL',
    checkDescription: null,
    groupName: null,
    tags: [],
    runLocation: null,
    responseTimeMs: null,
    error: notice === 'failure' ? 'This is a test of the alert channel. Nothing has failed.' : null,
    statusCode: null,
    statusText: null,
    startedAt: now,
    reminder: 0,
    recoversFrom: notice === 'recovery' ? 'failure' : null,
    certificate: null,
  };
  return {
    id: randomUUID(),
    account_id: channel.accountId,
    check_id: subjectId,
    alert_type: 'ALERT_TEST',
    notice,
    result_id: null,
    facts: JSON.stringify(facts),
    created: now,
  };
}
