import type { z } from 'zod';
import type { TriggerIncident } from '../checks/common-fields.ts';
import { addUpdate, openIncident } from './incident-writer.ts';
import type { Nouns } from './store/store.ts';
import { tellSubscribers } from './subscriber-mails.ts';

/** An alert asks for an incident to be opened or resolved (check model 2.4). */
export interface IncidentEvent {
  readonly kind: 'open' | 'resolve';
  /** The same in the event that opens an incident and in the one that resolves it, and in no other. */
  readonly triggerId: string;
  readonly accountId: string;
  readonly checkId: string;
  /** What the check asked for when it failed. */
  readonly incident: z.output<typeof TriggerIncident>;
  /** When the alert was made, in epoch milliseconds. */
  readonly at: number;
}

export interface AutomaticIncidentsOptions {
  /** Whether subscribers can be mailed. */
  readonly hasMailer: boolean;
  readonly publicUrl?: string | undefined;
}

/**
 * Incidents that follow the alerts of checks: returns what is done about one event, within a transaction. One event may
 * be told any number of times, in any process: an alert opens one incident, once, and resolves that one only. A service
 * that is gone, or not the account's, gets none. An incident that people resolved before the check recovered stays as
 * they left it.
 */
export function automaticIncidents(
  options: AutomaticIncidentsOptions,
): (nouns: Nouns, event: IncidentEvent) => Promise<void> {
  return async (nouns, event) => {
    if (event.kind === 'open') await open(nouns, event, options);
    else await resolve(nouns, event, options);
  };
}

async function open(nouns: Nouns, event: IncidentEvent, options: AutomaticIncidentsOptions): Promise<void> {
  const { serviceId, severity, name, description, notifySubscribers } = event.incident;
  // Locks the service, so that two tellings of one event take turns.
  const services = await nouns.services.findMany(event.accountId, [serviceId.toLowerCase()]);
  const [service] = services.values();
  if (!service || (await nouns.incidents.findByTrigger(event.triggerId))) return;
  const { row, update } = await openIncident(
    nouns,
    {
      accountId: event.accountId,
      name,
      severity,
      serviceIds: [service.id],
      update: { status: 'INVESTIGATING', description, published: event.at, notifySubscribers },
      cause: { checkId: event.checkId, triggerId: event.triggerId },
    },
    event.at,
  );
  await tellSubscribers(nouns, row, update, options);
}

async function resolve(
  nouns: Nouns,
  event: IncidentEvent,
  options: AutomaticIncidentsOptions,
): Promise<void> {
  const incident = await nouns.incidents.findByTrigger(event.triggerId);
  if (!incident || incident.ended !== null) return;
  const update = await addUpdate(
    nouns,
    incident,
    {
      status: 'RESOLVED',
      description: 'The check recovered.',
      published: event.at,
      notifySubscribers: event.incident.notifySubscribers,
    },
    event.at,
  );
  await tellSubscribers(nouns, incident, update, options);
}
