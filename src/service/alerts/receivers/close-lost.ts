import type { Repositories } from '@picket/platform/store/repositories.ts';
import type { AlertChannel } from '../channels/store.ts';
import type { AlertFacts } from '../facts.ts';
import { alertId, storeAlert, storedFacts } from '../raise.ts';
import type { AlertType } from '../state.ts';
import type { AlertRow } from '../tables.ts';
import type { EndReason } from './end-reason.ts';
import { Grounds } from './grounds.ts';
import type { ReceiverIncidentRow } from './tables.ts';

const rowsPerTurn = 100;
/** How often open incidents are examined without a specific reason. */
const lookEveryMs = 60_000;

/**
 * Ends incidents at receivers that keep them once their subject is gone: the check is deleted, deactivated or recovered
 * while muted, the channel is no longer notified of it, and so on. It is the only place that does so, and it considers
 * only the current state, whatever led to it. Channels that only carry messages are not notified.
 *
 * @returns whether there are notifications to send.
 */
export async function closeLost(repositories: Repositories, now: number): Promise<boolean> {
  const rows = await repositories.receiverIncidents.due(now, rowsPerTurn);
  if (rows.length === 0) return false;
  const grounds = await Grounds.load(repositories, rows, now);
  const lasting: ReceiverIncidentRow[] = [];
  let hasNews = false;
  for (const row of rows) {
    const reason = grounds.lostBy(row);
    if (reason === null) {
      lasting.push(row);
      continue;
    }
    hasNews = (await close(repositories, row, { channel: grounds.channelOf(row), reason, now })) || hasNews;
  }
  await repositories.receiverIncidents.lookLater(lasting, now + lookEveryMs);
  return hasNews;
}

async function close(
  repositories: Pick<Repositories, 'alerts' | 'notifications' | 'receiverIncidents'>,
  row: ReceiverIncidentRow,
  ending: {
    readonly channel: AlertChannel | undefined;
    readonly reason: EndReason;
    readonly now: number;
  },
): Promise<boolean> {
  const { channel, reason, now } = ending;
  // The author of the channel wants no ends there, so nothing is sent and nothing is left to watch.
  if (!channel || channel.definition.sendRecovery === false) {
    await repositories.receiverIncidents.remove(row);
    return false;
  }
  return storeAlert(repositories, endOf(row, reason, now), [channel]);
}

const overTypes: Readonly<Record<string, AlertType>> = {
  gap: 'ALERT_GAP_OVER',
  location: 'ALERT_LOCATION_BACK',
  sickness: 'ALERT_LOCATION_WELL',
  outdated: 'ALERT_LOCATION_CURRENT',
  slo: 'ALERT_SLO_BURN_OVER',
  test: 'ALERT_TEST',
};

/** Alert that ends an incident. */
export function endOf(row: ReceiverIncidentRow, reason: EndReason, now: number): AlertRow {
  const own: AlertType = reason === 'recovered' ? 'ALERT_RECOVERY' : 'ALERT_ENDED';
  const facts: AlertFacts = {
    ...storedFacts(row),
    error: null,
    reminder: 0,
    recoversFrom: row.subject === 'gap' ? 'gap' : 'failure',
    startedAt: now,
    endedBy: reason,
  };
  return {
    id: alertId(row.alert_id, 'ended', row.incident_key, reason, String(row.opened)),
    account_id: row.account_id,
    check_id: row.filed_under,
    alert_type: overTypes[row.subject] ?? own,
    notice: 'recovery',
    result_id: null,
    facts: JSON.stringify(facts),
    created: now,
  };
}
