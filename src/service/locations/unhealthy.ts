import type { ReportedLocationEvent } from '../../protocol/locations/location-event.ts';
import { type StoredChannel, wantsNotice } from '../alerts/channels/rules.ts';
import type { AlertChannel } from '../alerts/channels/store.ts';
import type { AlertFacts } from '../alerts/facts.ts';
import { storeLocationAlert } from '../alerts/location-alerts.ts';
import { alertId } from '../alerts/raise.ts';
import type { LocationCaller } from '../http/auth.ts';
import type { Repositories } from '../repositories.ts';
import type { Store } from '../store.ts';
import { reportedWithinMs } from './event-store.ts';
import type { LocationEventRow } from './tables.ts';

/**
 * Unhealthy private locations, as their agents report them. Each agent reports its own events; they are
 * stored as they are. Channels are notified once of each kind: when the first event begins while none of that
 * kind lasts, and when the last one ends. An event that is over when it is first reported is stored without a
 * notification.
 */
export async function recordLocationEvents(
  store: Store,
  agent: { readonly location: LocationCaller; readonly agentId: string },
  events: readonly ReportedLocationEvent[],
  now: number,
): Promise<void> {
  const hasNews = await store.transaction(async (repositories) => {
    // Two agents that become unhealthy together must not both be the first.
    await repositories.locations.findForUpdate(agent.location.account_id, agent.location.id);
    let isNotified = false;
    for (const event of events) {
      isNotified = (await record(repositories, agent, event, now)) || isNotified;
    }
    return isNotified;
  });
  if (hasNews) store.signals.send([{ kind: 'alerts' }]);
}

/** When an event ended, as far as anybody can know. */
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
  if (others.length > 0) return false;
  const begin = alertId(location.id, 'sick', event.eventId);
  if (!known && event.endedAt === null) {
    const channels = await repositories.alertChannels.notifiedOfLocation(
      location.account_id,
      location.slug_name,
    );
    return notify(repositories, { id: begin, location, event, notice: 'failure', now }, channels);
  }
  if (known?.ended === null && event.endedAt !== null) {
    const began = (await repositories.alerts.findMany([begin])).get(begin);
    if (began?.suppressed_by) return false;
    // It does not matter which agent's event was notified when it began: this one is the last to end.
    const channels = await repositories.alertChannels.notifiedOfLocation(
      location.account_id,
      location.slug_name,
    );
    return notify(
      repositories,
      { id: alertId(begin, 'well'), location, event, notice: 'recovery', now },
      channels,
    );
  }
  return false;
}

interface HealthChange {
  readonly id: string;
  readonly location: LocationCaller;
  readonly event: ReportedLocationEvent;
  readonly notice: 'failure' | 'recovery';
  readonly now: number;
}

async function notify(
  repositories: Repositories,
  news: HealthChange,
  channels: readonly AlertChannel[],
): Promise<boolean> {
  const { id, location, notice, now } = news;
  const facts = factsOf(news);
  return storeLocationAlert(
    repositories,
    {
      id,
      account_id: location.account_id,
      check_id: location.id,
      alert_type: notice === 'failure' ? 'ALERT_LOCATION_SICK' : 'ALERT_LOCATION_WELL',
      notice,
      result_id: null,
      facts: JSON.stringify(facts),
      created: now,
    },
    channels.filter((channel) => wantsNotice(channel.definition as StoredChannel, notice, facts)),
  );
}

function factsOf({ location, event, notice }: HealthChange): AlertFacts {
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
