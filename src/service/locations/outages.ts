import { leastOf } from '@picket/lib/bounds/extremes.ts';
import type { LocationCaller } from '@picket/platform/ids/callers.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import type { Store } from '@picket/platform/store/store.ts';
import { type StoredChannel, wantsNotice } from '../alerts/channels/rules.ts';
import type { AlertChannel } from '../alerts/channels/store.ts';
import type { AlertFacts } from '../alerts/facts.ts';
import { absenceReasons } from '../alerts/gaps/watch.ts';
import { storeLocationAlert } from '../alerts/location-alerts.ts';
import { alertId } from '../alerts/raise.ts';
import type { AlertRow } from '../alerts/tables.ts';

/**
 * Outages of private locations. An outage begins with the first slot that is missed because no agent was seen there
 * recently, and ends with the next claim of an agent. The channels of the checks that run there are notified once of
 * its start and once of its end: `no_agent_since` of the location changes in the transaction that stores the alert, and
 * only one transaction makes each change. A location with nothing to run has no outage, however long it is without
 * agents.
 */

/**
 * Begins the outages that runs without an agent reveal.
 *
 * @param missed runs that were missed because their locations had no agent.
 * @returns whether there are notifications to send.
 */
export async function beginOutages(
  repositories: Repositories,
  missed: readonly { readonly location_id: string | null; readonly slot_at: number }[],
  now: number,
): Promise<boolean> {
  const byLocation = Map.groupBy(missed, (run) => run.location_id);
  let hasAlerts = false;
  for (const locationId of [...byLocation.keys()].sort()) {
    if (locationId === null) continue;
    const since = leastOf((byLocation.get(locationId) ?? []).map((run) => run.slot_at));
    const location = await repositories.locations.beginOutage(locationId, since);
    if (!location) continue;
    // The outage covers it: slots too short for a gap must not become one when an agent is back.
    await repositories.gaps.forgetShort(
      { accountId: location.account_id, location: location.slug_name },
      absenceReasons,
    );
    const channels = await repositories.alertChannels.notifiedOfLocation(
      location.account_id,
      location.slug_name,
    );
    await notify(repositories, { location, since, notice: 'failure', now }, channels);
    hasAlerts = true;
  }
  return hasAlerts;
}

/** Ends the outage of a location where an agent requests work. */
export async function endOutage(store: Store, location: LocationCaller, now: number): Promise<void> {
  const since = location.no_agent_since;
  if (since === null) return;
  const isOver = await store.transaction(async (repositories) => {
    if (!(await repositories.locations.endOutage(location.id, since))) return false;
    const channels = await repositories.alertChannels.notifiedOfAlert(outageId(location.id, since));
    await notify(repositories, { location, since, notice: 'recovery', now }, channels);
    return true;
  });
  if (isOver) store.signals.send([{ kind: 'alerts' }]);
}

interface OutageNotice {
  readonly location: Omit<LocationCaller, 'key_id'>;
  readonly since: number;
  readonly notice: 'failure' | 'recovery';
  readonly now: number;
}

async function notify(
  repositories: Repositories,
  news: OutageNotice,
  channels: readonly AlertChannel[],
): Promise<void> {
  const { location, since, notice, now } = news;
  const begin = outageId(location.id, since);
  const facts = factsOf(news);
  const alert: AlertRow = {
    id: notice === 'failure' ? begin : alertId(begin, 'back'),
    account_id: location.account_id,
    check_id: location.id,
    alert_type: notice === 'failure' ? 'ALERT_LOCATION_AWAY' : 'ALERT_LOCATION_BACK',
    notice,
    result_id: null,
    facts: JSON.stringify(facts),
    created: now,
  };
  await storeLocationAlert(
    repositories,
    alert,
    channels.filter((channel) => wantsNotice(channel.definition as StoredChannel, notice, facts)),
  );
}

function outageId(locationId: string, since: number): string {
  return alertId(locationId, 'outage', String(since));
}

function factsOf({ location, since, notice }: OutageNotice): AlertFacts {
  const from = new Date(since).toISOString();
  return {
    subject: 'location',
    checkName: location.name,
    checkType: 'PRIVATE_LOCATION',
    checkDescription: null,
    groupName: null,
    tags: [],
    runLocation: location.slug_name,
    responseTimeMs: null,
    error:
      notice === 'failure'
        ? `No agent of this location was seen for two minutes. Its checks do not run; slots from ${from} on are missed.`
        : null,
    statusCode: null,
    statusText: null,
    startedAt: since,
    reminder: 0,
    recoversFrom: notice === 'recovery' ? 'failure' : null,
    certificate: null,
  };
}
