import { accountTable } from '@picket/platform/store/engine/account-table.ts';
import { batches } from '@picket/platform/store/engine/queries.ts';
import type { ComponentImpact } from '@picket/protocol/pages/status-page-component.ts';
import type { ImpactedComponent, IncidentRow, IncidentUpdateRow, ServiceRow } from './tables.ts';

/** A component affected by an incident. */
export interface ConcernedComponent {
  readonly id: string;
  readonly name: string;
  readonly status_page_id: string;
  readonly incident_id: string;
  readonly impact: ComponentImpact;
}

/** Incidents of services and components, and their updates. */
export class Incidents extends accountTable<IncidentRow>()({ name: 'incidents', key: 'id' }) {
  /** The incident that an alert opened, locked. */
  async findByTrigger(triggerId: string): Promise<IncidentRow | undefined> {
    return this.db
      .selectFrom('incidents')
      .selectAll()
      .where('trigger_id', '=', triggerId)
      .modifyEnd(this.dialect.forUpdate)
      .executeTakeFirst();
  }

  /** Incidents of services that are open or ended after an instant: one row for each service. */
  async ofServices(
    serviceIds: readonly string[],
    endedAfter: number,
  ): Promise<(IncidentRow & { service_id: string })[]> {
    if (serviceIds.length === 0) return [];
    return this.db
      .selectFrom('incident_services')
      .innerJoin('incidents', 'incidents.id', 'incident_services.incident_id')
      .selectAll('incidents')
      .select('incident_services.service_id')
      .where(this.dialect.inList('incident_services.service_id', serviceIds))
      .where((eb) => eb.or([eb('incidents.ended', 'is', null), eb('incidents.ended', '>', endedAfter)]))
      .orderBy('incidents.started', 'desc')
      .orderBy('incidents.id', 'desc')
      .execute();
  }

  /** Incidents opened by alerts of a check that overlap a window. */
  async ofCheck(
    accountId: string,
    checkId: string,
    { from, to }: { readonly from: number; readonly to: number },
  ): Promise<IncidentRow[]> {
    return this.db
      .selectFrom('incidents')
      .selectAll()
      .where('account_id', '=', accountId)
      .where('check_id', '=', checkId)
      .where('started', '<', to)
      .where((eb) => eb.or([eb('ended', 'is', null), eb('ended', '>', from)]))
      .orderBy('started')
      .limit(100)
      .execute();
  }

  async replaceServices(incidentId: string, serviceIds: readonly string[]): Promise<void> {
    await this.db.deleteFrom('incident_services').where('incident_id', '=', incidentId).execute();
    const rows = [...new Set(serviceIds)].map((serviceId, position) => ({
      incident_id: incidentId,
      service_id: serviceId,
      position,
    }));
    for (const batch of batches(rows)) {
      await this.db.insertInto('incident_services').values(batch).execute();
    }
  }

  /** Services of the given incidents, in order. */
  async services(incidentIds: readonly string[]): Promise<(ServiceRow & { incident_id: string })[]> {
    if (incidentIds.length === 0) return [];
    return this.db
      .selectFrom('incident_services')
      .innerJoin('services', 'services.id', 'incident_services.service_id')
      .selectAll('services')
      .select('incident_services.incident_id')
      .where(this.dialect.inList('incident_services.incident_id', incidentIds))
      .orderBy('incident_services.position')
      .execute();
  }

  async replaceComponents(incidentId: string, components: readonly ImpactedComponent[]): Promise<void> {
    await this.db.deleteFrom('incident_components').where('incident_id', '=', incidentId).execute();
    const impacts = new Map(components.map(({ componentId, impact }) => [componentId, impact]));
    const rows = [...impacts].map(([component_id, impact], position) => ({
      ...{ incident_id: incidentId, component_id, position, impact },
    }));
    for (const batch of batches(rows)) {
      await this.db.insertInto('incident_components').values(batch).execute();
    }
  }

  /** Components of the given incidents, in order. */
  async components(incidentIds: readonly string[]): Promise<ConcernedComponent[]> {
    if (incidentIds.length === 0) return [];
    return this.db
      .selectFrom('incident_components')
      .innerJoin('status_page_components', 'status_page_components.id', 'incident_components.component_id')
      .select(['status_page_components.id', 'status_page_components.name'])
      .select(['status_page_components.status_page_id', 'incident_components.incident_id'])
      .select('incident_components.impact')
      .where(this.dialect.inList('incident_components.incident_id', incidentIds))
      .orderBy('incident_components.position')
      .execute();
  }

  /** Incidents of a page's components that are open or ended after an instant: one row for each component. */
  async ofComponents(
    pageId: string,
    endedAfter: number,
  ): Promise<(IncidentRow & { component_id: string; impact: ComponentImpact })[]> {
    return this.db
      .selectFrom('incident_components')
      .innerJoin('status_page_components', 'status_page_components.id', 'incident_components.component_id')
      .innerJoin('incidents', 'incidents.id', 'incident_components.incident_id')
      .selectAll('incidents')
      .select(['incident_components.component_id', 'incident_components.impact'])
      .where('status_page_components.status_page_id', '=', pageId)
      .where((eb) => eb.or([eb('incidents.ended', 'is', null), eb('incidents.ended', '>', endedAfter)]))
      .orderBy('incidents.started', 'desc')
      .orderBy('incidents.id', 'desc')
      .orderBy('incident_components.position')
      .execute();
  }

  /** Newest incident that a rule opened. */
  async newestOfRule(ruleId: string): Promise<IncidentRow | undefined> {
    return this.db
      .selectFrom('incidents')
      .selectAll()
      .where('rule_id', '=', ruleId)
      .orderBy('created', 'desc')
      .orderBy('id', 'desc')
      .limit(1)
      .modifyEnd(this.dialect.forUpdate)
      .executeTakeFirst();
  }

  async insertUpdate(row: IncidentUpdateRow): Promise<void> {
    await this.db.insertInto('incident_updates').values(row).execute();
  }

  async changeUpdate({ id, ...row }: IncidentUpdateRow): Promise<void> {
    await this.db.updateTable('incident_updates').set(row).where('id', '=', id).execute();
  }

  async deleteUpdate(id: string): Promise<void> {
    await this.db.deleteFrom('incident_updates').where('id', '=', id).execute();
  }

  /** Updates of the given incidents, newest first. */
  async updates(incidentIds: readonly string[]): Promise<IncidentUpdateRow[]> {
    if (incidentIds.length === 0) return [];
    return this.db
      .selectFrom('incident_updates')
      .selectAll()
      .where(this.dialect.inList('incident_id', incidentIds))
      .orderBy('published', 'desc')
      .orderBy('created', 'desc')
      .orderBy('id', 'desc')
      .execute();
  }
}
