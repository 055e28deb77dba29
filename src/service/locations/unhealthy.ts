import type { LocationCaller } from '@picket/platform/ids/callers.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import type { Store } from '@picket/platform/store/store.ts';
import type { ReportedLocationEvent } from '@picket/protocol/locations/location-event.ts';
import { type StoredChannel, wantsNotice } from '../alerts/channels/rules.ts';
import type { AlertFacts } from '../alerts/facts.ts';
import { holdWell, storeLocationAlert } from '../alerts/location-alerts.ts';
import { alertId, storedFacts } from '../alerts/raise.ts';
import type { AlertRow } from '../alerts/tables.ts';
import { reportedWithinMs } from './event-store.ts';
import type { LocationEventRow } from './tables.ts';

/**
 * Unhealthy private locations, as reported by their agents. Each agent reports its own events, which are stored
 * unchanged. Channels are notified once per kind, when an event begins while no other of that kind lasts, and once when
 * the location is healthy again: when no event of any kind has lasted for some minutes. Events that begin before that
 * are not news if channels already know their kind, so a flapping location causes two messages. An event that is
 * already over when first reported is stored without a notification.
 */
export async function recordLocationEvents(
  store: Pick<Store, 'signals' | 'transaction'>,
  agent: { readonly location: LocationCaller; readonly agentId: string },
  events: readonly ReportedLocationEvent[],
  now: number,
): Promise<void> {
  const hasNews = await store.transaction(async (repositories) => {
    // Two agents that become unhealthy together must not both count as the first.
    await repositories.locations.findForUpdate(agent.location.account_id, agent.location.id);
    let isNotified = false;
    for (const event of events) {
      isNotified = (await record(repositories, agent, event, now)) || isNotified;
    }
    return isNotified;
  });
  if (hasNews) store.signals.send([{ kind: 'alerts' }]);
}

/** How long a location must be without events to count as healthy, so that a flapping one is notified once. */
const wellAfterMs = 5 * 60_000;

/** When an event ended, as far as can be known. */
export function endOf({ ended, told }: LocationEventRow, now: number): number | null {
  return ended ?? (now - told > reportedWithinMs ? told : null);
}

async function record(
  repositories: Repositories,
  { location, agentId }: { readonly location: LocationCaller; readonly agentId: string },
  event: ReportedLocationEvent,
  now: number,
): Promise<boolean> {
  const lasting = await repositories.locationEvents.lasting(location.id, event.kind, now - reportedWithinMs);
  const known = await repositories.locationEvents.find(location.id, event.eventId);
  const others = lasting.filter(({ id }) => id !== event.eventId);
  await repositories.locationEvents.store({
    id: event.eventId,
    location_id: location.id,
    agent_id: agentId,
    kind: event.kind,
    evidence: event.evidence,
    affected_runs: event.affectedRuns,
    started: event.startedAt,
    ended: event.endedAt ?? known?.ended ?? null,
    told: now,
  });
  if (!known && event.endedAt === null) {
    await repositories.alerts.dropHeld(location.id, 'ALERT_LOCATION_WELL');
    return others.length === 0 && begins(repositories, { location, event, now });
  }
  if (others.length === 0 && known?.ended === null && event.endedAt !== null) {
    await ends(repositories, { location, event, now });
  }
  return false;
}

interface HealthChange {
  readonly location: LocationCaller;
  readonly event: ReportedLocationEvent;
  readonly now: number;
}

async function begins(repositories: Repositories, change: HealthChange): Promise<boolean> {
  const { location, event, now } = change;
  const alert = alertOf(change, 'failure');
  const former = await repositories.locationEvents.endedSince(location.id, event.kind, now - wellAfterMs);
  const alerts = await repositories.alerts.findMany(former.map(({ id }) => sickId(location.id, id)));
  if ([...alerts.values()].some(({ suppressed_by: by }) => by !== 'silenced')) {
    await repositories.alerts.insert([{ ...alert, suppressed_by: 'same-cause' }]);
    return false;
  }
  const channels = await repositories.alertChannels.notifiedOfLocation(
    location.account_id,
    location.slug_name,
  );
  const facts = storedFacts(alert);
  return storeLocationAlert(
    repositories,
    alert,
    channels.filter((channel) => wantsNotice(channel.definition as StoredChannel, 'failure', facts)),
  );
}

/** It does not matter which agent's event was notified at the start: this one is the last to end. */
async function ends(repositories: Repositories, change: HealthChange): Promise<void> {
  const begin = sickId(change.location.id, change.event.eventId);
  const began = (await repositories.alerts.findMany([begin])).get(begin);
  if (began?.suppressed_by === 'silenced') return;
  await holdWell(repositories, alertOf(change, 'recovery'), change.now + wellAfterMs);
}

function alertOf(change: HealthChange, notice: 'failure' | 'recovery'): AlertRow {
  const { location, event, now } = change;
  const begin = sickId(location.id, event.eventId);
  return {
    id: notice === 'failure' ? begin : alertId(begin, 'well'),
    account_id: location.account_id,
    check_id: location.id,
    alert_type: notice === 'failure' ? 'ALERT_LOCATION_SICK' : 'ALERT_LOCATION_WELL',
    notice,
    result_id: null,
    facts: JSON.stringify(factsOf(change, notice)),
    created: now,
  };
}

function sickId(locationId: string, eventId: string): string {
  return alertId(locationId, 'sick', eventId);
}

function factsOf({ location, event }: HealthChange, notice: 'failure' | 'recovery'): AlertFacts {
  const since = new Date(event.startedAt).toISOString();
  return {
    subject: 'sickness',
    checkName: location.name,
    checkType: 'PRIVATE_LOCATION',
    checkDescription: null,
    groupName: null,
    tags: [],
    runLocation: location.slug_name,
    responseTimeMs: null,
    error:
      notice === 'failure'
        ? `An agent reports an unhealthy ${event.kind} since ${since}: ${event.evidence}. Runs affected by it end as errors of the location.`
        : null,
    statusCode: null,
    statusText: null,
    startedAt: event.startedAt,
    reminder: 0,
    recoversFrom: notice === 'recovery' ? 'failure' : null,
    certificate: null,
  };
}
