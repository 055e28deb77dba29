import { leastOf } from '@picket/lib/bounds/extremes.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import type { StatusPageData } from '@picket/protocol/pages/public-page.ts';
import { addedCoverage, type Coverage, type DayCoverage } from '@picket/protocol/runs/coverage.ts';
import { type CoverageSource, coverageDays, lastDays } from '../../coverage/coverage-query.ts';
import { updateView } from '../../incidents/routes.ts';
import type { IncidentRow, IncidentUpdateRow } from '../../incidents/tables.ts';
import { durationSeconds, incidentDays, timelineOf, uptimeDays } from '../../incidents/timeline.ts';
import {
  affectedComponents,
  affectedServices,
  isShownOn,
  type PageParts,
} from '../../maintenance/affected.ts';
import { type VisibleMaintenance, visibleMaintenances } from '../../maintenance/pages.ts';
import { statusPageOptions } from '../routes.ts';
import type { StatusPageRow } from '../tables.ts';

const dayMs = 86_400_000;
export const incidentsShown = 100;
const updatesShown = 100;
const maintenancesShown = 50;
const maintenanceShownMs = { past: dayMs, ahead: 30 * dayMs };

/** The page itself, as readers see it. */
export function shownPage(page: StatusPageRow): StatusPageData['page'] {
  return {
    name: page.name,
    url: page.url,
    isPrivate: page.is_private === 1,
    version: page.version,
    ...statusPageOptions(page),
  };
}

export interface PublishedIncident extends IncidentRow {
  readonly updates: readonly IncidentUpdateRow[];
}

/** Published incidents, each once, based on its updates up to an instant; excludes those not announced yet. */
export async function publishedIncidents(
  repositories: Pick<Repositories, 'incidents'>,
  rows: readonly IncidentRow[],
  now: number,
): Promise<PublishedIncident[]> {
  const byId = new Map(rows.map((row) => [row.id, row]));
  const updates = Map.groupBy(
    await repositories.incidents.updates([...byId.keys()]),
    (update) => update.incident_id,
  );
  return [...byId.values()].flatMap((row) => {
    const published = (updates.get(row.id) ?? []).filter((update) => update.published <= now);
    const timeline = timelineOf(published);
    return timeline ? [{ ...row, ...timeline, updates: published }] : [];
  });
}

/** An incident as a page shows it, without its services and components. */
export function shownIncident(
  incident: PublishedIncident,
): Omit<StatusPageData['incidents'][number], 'services' | 'components'> {
  return {
    id: incident.id,
    name: incident.name,
    severity: incident.severity,
    incidentUpdates: incident.updates.slice(0, updatesShown).map(updateView),
    lastUpdateStatus: incident.last_status,
    duration: durationSeconds(incident),
  };
}

export interface ShownMaintenance extends VisibleMaintenance {
  readonly serviceIds: readonly string[];
  readonly componentIds: ReadonlySet<string>;
}

/** Maintenances that a page shows: in progress, upcoming, or recently ended or cancelled; soonest first. */
export async function shownMaintenances(
  repositories: Pick<Repositories, 'windows' | 'maintenances'>,
  page: StatusPageRow,
  parts: PageParts,
  now: number,
): Promise<ShownMaintenance[]> {
  const time = { pastMs: maintenanceShownMs.past, aheadMs: maintenanceShownMs.ahead };
  const all = await visibleMaintenances(repositories, now, time, page.account_id);
  return all
    .filter(({ visibility }) => isShownOn(visibility, page.id, parts))
    .filter(({ status, planned }) => status !== 'COMPLETED' || planned.overAt > now - time.pastMs)
    .slice(0, maintenancesShown)
    .map((one) => ({
      ...one,
      serviceIds: affectedServices(one.visibility, parts.serviceIds),
      componentIds: affectedComponents(one.visibility, parts.components),
    }));
}

/** Maintenances with their updates, as a page shows them. */
export async function maintenanceViews(
  repositories: Pick<Repositories, 'maintenances'>,
  shown: readonly ShownMaintenance[],
  names: ReadonlyMap<string, string>,
): Promise<StatusPageData['maintenances']> {
  const named = (id: string) => ({ id, name: names.get(id) ?? '' });
  return Promise.all(
    shown.map(async (one) => {
      const updates = await repositories.maintenances.updates(one.windowId, [one.planned.id]);
      return {
        id: one.planned.id,
        maintenanceWindowId: one.windowId,
        name: one.definition.name,
        description: one.definition.description,
        severity: one.visibility.severity,
        status: one.status,
        startsAt: new Date(one.planned.startsAt).toISOString(),
        endsAt: new Date(one.planned.endsAt).toISOString(),
        services: one.serviceIds.map(named),
        components: [...one.componentIds].map(named),
        updates: updates.slice(0, updatesShown).map(({ id, status, description, created }) => ({
          id,
          status,
          description,
          created_at: new Date(created).toISOString(),
        })),
      };
    }),
  );
}

export interface Measured {
  readonly total: Coverage;
  /** When the first measured slot was due; null if nothing was measured. */
  readonly firstMeasuredAt: number | null;
  /** By date. */
  readonly days: ReadonlyMap<string, DayCoverage>;
}

/**
 * Coverage of the last 90 days for parts whose incidents are opened by checks.
 *
 * @param checks the checks that measure each part, by the part's id.
 */
export async function measuredBy(
  analytics: CoverageSource,
  checks: ReadonlyMap<string, readonly string[]>,
  now: number,
): Promise<Map<string, Measured>> {
  const bars = lastDays(now, uptimeDays);
  const checkIds = [...new Set([...checks.values()].flat())];
  const found = await analytics.coverage({ ...bars, checkIds, location: null });
  return new Map(
    [...checks].map(([id, own]) => {
      const parts = own.flatMap((checkId) => found.get(checkId) ?? []);
      const days = coverageDays(parts, bars).map((day) => [day.date, day] as const);
      const first = parts.flatMap(({ firstMeasuredAt }) => firstMeasuredAt ?? []);
      const firstMeasuredAt = first.length === 0 ? null : leastOf(first);
      const total = addedCoverage(parts.map((part) => part.total));
      return [id, { total, firstMeasuredAt, days: new Map(days) }];
    }),
  );
}

/**
 * Start of observation of a part: its first measurement; or, if no check measures it and users announce its incidents,
 * its creation or the first announced incident.
 */
export function watchedSince(
  measured: Measured | undefined,
  created: number,
  incidents: readonly { readonly started: number }[],
): number | null {
  if (measured !== undefined) return measured.firstMeasuredAt;
  return Math.min(created, ...incidents.map(({ started }) => started));
}

type Day = StatusPageData['cards'][number]['services'][number]['days'][number];

/** The last 90 days of a part: its incidents and measurements. */
export function shownDays(
  incidents: readonly { readonly started: number; readonly ended: number | null }[],
  measured: Measured | undefined,
  now: number,
): Day[] {
  return incidentDays(incidents, now).map((day) => {
    const { measurement = null, coverage = null } = measured?.days.get(day.date) ?? {};
    return { ...day, measurement, coverage };
  });
}
