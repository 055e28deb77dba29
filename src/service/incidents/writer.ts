import { randomUUID } from 'node:crypto';
import { AppError } from '@picket/lib/errors.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import type {
  ImpactedComponent,
  IncidentRow,
  IncidentSeverity,
  IncidentStatus,
  IncidentUpdateRow,
} from './tables.ts';
import { timelineOf } from './timeline.ts';

type IncidentNouns = Pick<Repositories, 'incidents' | 'services'>;

export interface NewUpdate {
  readonly status: IncidentStatus;
  readonly description: string;
  /** Epoch milliseconds: the date that it is shown under. */
  readonly published: number;
  readonly notifySubscribers: boolean;
}

export interface NewIncident {
  readonly accountId: string;
  readonly name: string;
  readonly severity: IncidentSeverity;
  readonly serviceIds: readonly string[];
  readonly components?: readonly ImpactedComponent[];
  readonly update: NewUpdate;
  /** Check, alert and rule that open it, unless a user does. */
  readonly cause?: { readonly checkId: string; readonly triggerId: string; readonly ruleId?: string };
}

/** Opens an incident with its first update, within a transaction. The affected services and components must exist. */
export async function openIncident(
  repositories: IncidentNouns,
  incident: NewIncident,
  now: number,
): Promise<{ row: IncidentRow; update: IncidentUpdateRow }> {
  const { update } = incident;
  const timeline = timelineOf([update]);
  if (!timeline) throw new Error('an update has no timeline');
  const row: IncidentRow = {
    id: randomUUID(),
    account_id: incident.accountId,
    name: incident.name,
    severity: incident.severity,
    check_id: incident.cause?.checkId ?? null,
    trigger_id: incident.cause?.triggerId ?? null,
    rule_id: incident.cause?.ruleId ?? null,
    ...timeline,
    created: now,
    updated: null,
  };
  await repositories.incidents.insert(row);
  await repositories.incidents.replaceServices(row.id, incident.serviceIds);
  await repositories.incidents.replaceComponents(row.id, incident.components ?? []);
  return { row, update: await insertUpdate(repositories, row.id, update, now) };
}

/** Adds an update to an incident that this transaction has locked, and updates the incident accordingly. */
export async function addUpdate(
  repositories: IncidentNouns,
  incident: IncidentRow,
  update: NewUpdate,
  now: number,
): Promise<IncidentUpdateRow> {
  const row = await insertUpdate(repositories, incident.id, update, now);
  await followUpdates(repositories, incident, now);
  return row;
}

async function insertUpdate(
  repositories: IncidentNouns,
  incidentId: string,
  update: NewUpdate,
  now: number,
): Promise<IncidentUpdateRow> {
  const row: IncidentUpdateRow = {
    id: randomUUID(),
    incident_id: incidentId,
    status: update.status,
    description: update.description,
    published: update.published,
    notify_subscribers: update.notifySubscribers ? 1 : 0,
    created: now,
  };
  await repositories.incidents.insertUpdate(row);
  return row;
}

/**
 * Recomputes an incident that this transaction has locked from its updates.
 *
 * @throws AppError VALIDATION_FAILED if it has no updates left.
 */
export async function followUpdates(
  repositories: IncidentNouns,
  incident: IncidentRow,
  now: number,
): Promise<void> {
  const timeline = timelineOf(await repositories.incidents.updates([incident.id]));
  if (!timeline) {
    throw new AppError(
      'VALIDATION_FAILED',
      'The last update of an incident cannot be deleted. Delete the incident instead.',
      { validation: { source: 'params', keys: ['incidentUpdateId'] } },
    );
  }
  await repositories.incidents.update({ ...incident, ...timeline, updated: now });
}

/**
 * Ensures that services belong to the account, and locks them for this transaction.
 *
 * @throws AppError NOT_FOUND
 */
export async function requireServices(
  repositories: Pick<Repositories, 'services'>,
  accountId: string,
  ids: readonly string[],
): Promise<void> {
  const known = await repositories.services.findMany(accountId, ids);
  const unknown = ids.find((id) => !known.has(id));
  if (unknown !== undefined) throw new AppError('NOT_FOUND', `There is no service ${unknown}.`);
}

/**
 * Ensures that components belong to the account, and locks them for this transaction.
 *
 * @throws AppError NOT_FOUND
 */
export async function requireComponents(
  repositories: Pick<Repositories, 'components'>,
  accountId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, { readonly status_page_id: string }>> {
  const known = await repositories.components.findMany(accountId, ids);
  const unknown = ids.find((id) => !known.has(id));
  if (unknown !== undefined) throw new AppError('NOT_FOUND', `There is no status page component ${unknown}.`);
  return known;
}
