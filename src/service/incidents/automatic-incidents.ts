import { tellSubscribers } from '../mail/subscriber-mails.ts';
import { affectedServices, isGoingOn, visibleMaintenances } from '../maintenance/pages.ts';
import type { Nouns } from '../store/store.ts';
import type { IncidentEvent, IncidentHandler } from './trigger.ts';
import { addUpdate, openIncident } from './writer.ts';

export interface AutomaticIncidentsOptions {
  /** Whether subscribers can be mailed. */
  readonly hasMailer: boolean;
  readonly publicUrl?: string | undefined;
}

/**
 * Incidents that follow the alerts of checks: returns what is done about one event, within a transaction. One event may
 * be told any number of times, in any process: an alert opens one incident, once, and resolves that one only. A service
 * that is gone, or not the account's, gets none. An incident that people resolved before the check recovered stays as
 * they left it. While a maintenance of the service goes on whose window says `suppressAutoIncidents`, none is opened.
 */
export function automaticIncidents(options: AutomaticIncidentsOptions): IncidentHandler {
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
  if (await isSuppressed(nouns, event, service.id)) return;
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

/** Whether a maintenance that concerns a service goes on, whose window wishes no incidents of checks meanwhile. */
async function isSuppressed(nouns: Nouns, event: IncidentEvent, serviceId: string): Promise<boolean> {
  const present = { pastMs: 0, aheadMs: 0 };
  const maintenances = await visibleMaintenances(nouns, event.at, present, event.accountId);
  return maintenances.some(
    (maintenance) =>
      isGoingOn(maintenance) &&
      maintenance.visibility.suppressAutoIncidents &&
      affectedServices(maintenance.visibility, [serviceId]).length > 0,
  );
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
