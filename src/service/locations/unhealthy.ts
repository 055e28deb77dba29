import type { ReportedLocationEvent } from '../../protocol/locations/location-event.ts';
import { type StoredChannel, wantsNotice } from '../alerts/channels/rules.ts';
import type { AlertChannel } from '../alerts/channels/store.ts';
import type { AlertFacts } from '../alerts/facts.ts';
import { alertId, storeAlert } from '../alerts/raise.ts';
import type { LocationCaller } from '../http/auth.ts';
import type { Repositories, Store } from '../store.ts';
import type { LocationEventRow } from './tables.ts';

/** An agent tells of an event that lasts every minute; one that was not told of for so long has ended with its agent. */
export const toldWithinMs = 5 * 60_000;

/**
 * Sickness of private locations, as their agents find it. Each agent tells of its own events; they are stored as they are.
 * People are told once of each kind: when the first event begins while none of that kind lasts, and when the last one ends.
 * An event that is over when it is first told of is stored and not told: it is no news any more.
 */
export async function recordLocationEvents(
  store: Store,
  agent: { readonly location: LocationCaller; readonly agentId: string },
  events: readonly ReportedLocationEvent[],
  now: number,
): Promise<void> {
  const hasNews = await store.transaction(async (repositories) => {
    // Two agents that fall sick together must not both be the first.
    await repositories.locations.findForUpdate(agent.location.account_id, agent.location.id);
    let isTold = false;
    for (const event of events) isTold = (await record(repositories, agent, event, now)) || isTold;
    return isTold;
  });
  if (hasNews) store.signals.send([{ kind: 'alerts' }]);
}

/** When an event ended, as far as anybody can know. */
export function endOf({ ended, told }: LocationEventRow, now: number): number | null {
  return ended ?? (now - told > toldWithinMs ? told : null);
}

async function record(
  repositories: Repositories,
  { location, agentId }: { readonly location: LocationCaller; readonly agentId: string },
  event: ReportedLocationEvent,
  now: number,
): Promise<boolean> {
  const lasting = await repositories.locationEvents.lasting(location.id, event.kind, now - toldWithinMs);
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
    const channels = await repositories.alertChannels.toldOfLocation(location.account_id, location.slug_name);
    return tell(repositories, { id: begin, location, event, notice: 'failure', now }, channels);
  }
  if (known?.ended === null && event.endedAt !== null) {
    // Whichever agent's event was told of when it began: this one is the last to end.
    const channels = await repositories.alertChannels.toldOfLocation(location.account_id, location.slug_name);
    return tell(
      repositories,
      { id: alertId(begin, 'well'), location, event, notice: 'recovery', now },
      channels,
    );
  }
  return false;
}

interface SicknessNews {
  readonly id: string;
  readonly location: LocationCaller;
  readonly event: ReportedLocationEvent;
  readonly notice: 'failure' | 'recovery';
  readonly now: number;
}

async function tell(
  repositories: Repositories,
  news: SicknessNews,
  channels: readonly AlertChannel[],
): Promise<boolean> {
  const { id, location, notice, now } = news;
  const facts = factsOf(news);
  return storeAlert(
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

function factsOf({ location, event, notice }: SicknessNews): AlertFacts {
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
        ? `An agent finds its ${event.kind} sick since ${since}: ${event.evidence}. Runs that suffer from it end as errors of the location.`
        : null,
    statusCode: null,
    statusText: null,
    startedAt: event.startedAt,
    reminder: 0,
    recoversFrom: notice === 'recovery' ? 'failure' : null,
    certificate: null,
  };
}
