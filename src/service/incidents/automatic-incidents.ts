import type { Repositories } from '@picket/platform/store/repositories.ts';
import { affectedServices } from '../maintenance/affected.ts';
import { isGoingOn, visibleMaintenances } from '../maintenance/pages.ts';
import type { OwnIncident } from './requested-incident.ts';
import { failByRule, type MailingOptions, recoverByRule } from './rules/rule-incidents.ts';
import { mailIncidentUpdate } from './subscriber-mails.ts';
import type { IncidentEvent, IncidentHandler } from './trigger.ts';
import { addUpdate, openIncident } from './writer.ts';

/**
 * Incidents that follow the alerts of checks: returns the handler for one event, to be run within a transaction. An
 * event may be handled any number of times, in any process: an alert opens exactly one incident, and resolves only that
 * one. A service that was deleted or belongs to another account gets none. An incident that a user resolved before the
 * check recovered stays unchanged. During a maintenance of the service whose window sets `suppressAutoIncidents`, none
 * is opened.
 */
export function automaticIncidents(options: MailingOptions): IncidentHandler {
  return async (repositories, event) => {
    const { incident } = event;
    if ('ruleId' in incident) {
      const failed = { ...event, ruleId: incident.ruleId };
      await (event.kind === 'open' ? failByRule : recoverByRule)(repositories, failed, options);
    } else {
      await (event.kind === 'open' ? open : resolve)(repositories, { ...event, incident }, options);
    }
  };
}

interface OwnEvent extends IncidentEvent {
  readonly incident: OwnIncident;
}

async function open(repositories: Repositories, event: OwnEvent, options: MailingOptions): Promise<void> {
  const { serviceId, severity, name, description, notifySubscribers } = event.incident;
  // Locks the service, so that two deliveries of one event are handled in sequence.
  const services = await repositories.services.findMany(event.accountId, [serviceId.toLowerCase()]);
  const [service] = services.values();
  if (!service || (await repositories.incidents.findByTrigger(event.triggerId))) return;
  if (await isSuppressed(repositories, event, service.id)) return;
  const { row, update } = await openIncident(
    repositories,
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
  await mailIncidentUpdate(repositories, row, update, options);
}

/** Whether a maintenance of the service whose window suppresses automatic incidents is in progress. */
async function isSuppressed(
  repositories: Pick<Repositories, 'maintenances' | 'windows'>,
  event: IncidentEvent,
  serviceId: string,
): Promise<boolean> {
  const present = { pastMs: 0, aheadMs: 0 };
  const maintenances = await visibleMaintenances(repositories, event.at, present, event.accountId);
  return maintenances.some(
    (maintenance) =>
      isGoingOn(maintenance) &&
      maintenance.visibility.suppressAutoIncidents &&
      affectedServices(maintenance.visibility, [serviceId]).length > 0,
  );
}

async function resolve(repositories: Repositories, event: OwnEvent, options: MailingOptions): Promise<void> {
  const incident = await repositories.incidents.findByTrigger(event.triggerId);
  if (!incident || incident.ended !== null) return;
  const update = await addUpdate(
    repositories,
    incident,
    {
      status: 'RESOLVED',
      description: 'The check recovered.',
      published: event.at,
      notifySubscribers: event.incident.notifySubscribers,
    },
    event.at,
  );
  await mailIncidentUpdate(repositories, incident, update, options);
}
