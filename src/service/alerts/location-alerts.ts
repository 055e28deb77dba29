import { greatestOf } from '@picket/lib/bounds/extremes.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import { type StoredChannel, wantsNotice } from './channels/rules.ts';
import type { AlertChannel } from './channels/store.ts';
import { storeAlert, storedFacts } from './raise.ts';
import type { AlertRow } from './tables.ts';

const heldPerTurn = 100;

/**
 * Stores an alert about a location. One that begins while the location is silenced is held back; if it still holds when
 * the silence ends, it is sent then.
 *
 * @returns whether there are notifications to send.
 */
export async function storeLocationAlert(
  repositories: Repositories,
  alert: AlertRow,
  channels: readonly AlertChannel[],
): Promise<boolean> {
  const silentUntil =
    alert.notice === 'recovery' ? null : await silenceOf(repositories, alert, alert.created);
  if (silentUntil === null) return storeAlert(repositories, alert, channels);
  await repositories.alerts.insert([{ ...alert, suppressed_by: 'silenced' }]);
  await repositories.alerts.hold({
    alert_id: alert.id,
    account_id: alert.account_id,
    next_at: silentUntil,
  });
  return false;
}

/** Stores that a location is healthy, to be sent (only the last one) once that has lasted until an instant. */
export async function holdWell(repositories: Repositories, alert: AlertRow, until: number): Promise<void> {
  await repositories.alerts.dropHeld(alert.check_id, alert.alert_type);
  await repositories.alerts.insert([alert]);
  await repositories.alerts.hold({ alert_id: alert.id, account_id: alert.account_id, next_at: until });
}

/** Sends held alerts that still apply, and drops the others. Returns whether there are notifications to send. */
export async function releaseHeld(repositories: Repositories, now: number): Promise<boolean> {
  const due = await repositories.alerts.dueHeld(now, heldPerTurn);
  const alerts = await repositories.alerts.findMany(due.map((held) => held.alert_id));
  let hasNews = false;
  for (const held of due) {
    const alert = alerts.get(held.alert_id);
    const lasts = alert !== undefined && (await holds(repositories, alert, now));
    const isHeldOn = lasts && alert.notice !== 'recovery';
    const silentUntil = isHeldOn ? await silenceOf(repositories, alert, now) : null;
    if (silentUntil !== null) {
      await repositories.alerts.hold({ ...held, next_at: silentUntil });
      continue;
    }
    await repositories.alerts.release(held, lasts);
    if (!lasts) continue;
    const facts = storedFacts(alert);
    const channels = await repositories.alertChannels.notifiedOfLocation(
      alert.account_id,
      facts.runLocation ?? '',
    );
    await storeAlert(
      repositories,
      { ...alert, created: now },
      channels.filter((channel) => wantsNotice(channel.definition as StoredChannel, alert.notice, facts)),
    );
    hasNews ||= channels.length > 0;
  }
  return hasNews;
}

/** When the silences of the location of an alert end; null if it is not silenced. */
async function silenceOf(repositories: Repositories, alert: AlertRow, at: number): Promise<number | null> {
  const { runLocation } = storedFacts(alert);
  const silences = await repositories.silences.active([alert.account_id], at);
  const ends = silences
    .filter(({ location }) => location !== null && location === runLocation)
    .map(({ endsAt }) => endsAt);
  return ends.length === 0 ? null : greatestOf(ends);
}

/** Whether the condition that an alert of a location reports still holds. */
async function holds(repositories: Repositories, alert: AlertRow, now: number): Promise<boolean> {
  const { check_id: locationId, alert_type: type } = alert;
  const isSick = async () =>
    (await repositories.locationEvents.unhealthyAmong([locationId], now)).has(locationId);
  if (type === 'ALERT_LOCATION_SICK') return isSick();
  const location = await repositories.locations.find(alert.account_id, locationId);
  if (type === 'ALERT_LOCATION_WELL') return location !== undefined && !(await isSick());
  const { startedAt } = storedFacts(alert);
  if (type === 'ALERT_LOCATION_OUTDATED') return location?.outdated_since === startedAt;
  return location !== undefined && location.no_agent_since === startedAt;
}
