import { accountTable } from '@picket/platform/store/engine/account-table.ts';
import type { DashboardIncidentRow, DashboardIncidentUpdateRow } from '../tables.ts';

/** Incidents of dashboards, and their updates. */
export class DashboardIncidents extends accountTable<DashboardIncidentRow>()({
  name: 'dashboard_incidents',
  key: 'id',
}) {
  /** An incident, with the id that its dashboard has in API paths. */
  async findShown(
    accountId: string,
    id: string,
  ): Promise<{ row: DashboardIncidentRow; dashboardId: string } | undefined> {
    const found = await this.db
      .selectFrom('dashboard_incidents')
      .innerJoin('dashboards', 'dashboards.id', 'dashboard_incidents.dashboard_id')
      .selectAll('dashboard_incidents')
      .select('dashboards.dashboard_id as path_id')
      .where('dashboard_incidents.id', '=', id)
      .where('dashboard_incidents.account_id', '=', accountId)
      .executeTakeFirst();
    if (!found) return undefined;
    const { path_id: dashboardId, ...row } = found;
    return { row, dashboardId };
  }

  /** Incidents of a dashboard that are open, or ended at or after an instant; newest first. */
  async ofDashboard(dashboardId: number, endedSince: number, limit: number): Promise<DashboardIncidentRow[]> {
    return this.db
      .selectFrom('dashboard_incidents')
      .selectAll()
      .where('dashboard_id', '=', dashboardId)
      .where((eb) => eb.or([eb('stopped', 'is', null), eb('stopped', '>=', endedSince)]))
      .orderBy('started', 'desc')
      .orderBy('id', 'desc')
      .limit(limit)
      .execute();
  }

  async insertUpdate(row: DashboardIncidentUpdateRow): Promise<void> {
    await this.db.insertInto('dashboard_incident_updates').values(row).execute();
  }

  async changeUpdate({ id, ...row }: DashboardIncidentUpdateRow): Promise<void> {
    await this.db.updateTable('dashboard_incident_updates').set(row).where('id', '=', id).execute();
  }

  async deleteUpdate(id: string): Promise<void> {
    await this.db.deleteFrom('dashboard_incident_updates').where('id', '=', id).execute();
  }

  /** Updates of the given incidents, newest first. */
  async updates(incidentIds: readonly string[]): Promise<DashboardIncidentUpdateRow[]> {
    if (incidentIds.length === 0) return [];
    return this.db
      .selectFrom('dashboard_incident_updates')
      .selectAll()
      .where(this.dialect.inList('incident_id', incidentIds))
      .orderBy('created', 'desc')
      .orderBy('id', 'desc')
      .execute();
  }
}
