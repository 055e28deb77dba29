import type { StatusPageData } from '../../protocol/pages/public-page.ts';
import { addedCoverage, type Coverage, type DayCoverage } from '../../protocol/runs/coverage.ts';
import { type CoverageSource, coverageDays, lastDays } from '../coverage/coverage-query.ts';
import { updateView } from '../incidents/routes.ts';
import type { IncidentRow, IncidentUpdateRow, ServiceRow } from '../incidents/tables.ts';
import {
  durationSeconds,
  incidentDays,
  stateAt,
  timelineOf,
  uptimeDays,
  uptimePercent,
  worstServiceState,
} from '../incidents/timeline.ts';
import {
  affectedServices,
  isGoingOn,
  isShownOn,
  type VisibleMaintenance,
  visibleMaintenances,
} from '../maintenance/pages.ts';
import type { Repositories } from '../store.ts';
import { statusPageOptions } from './routes.ts';
import type { StatusPageCardRow, StatusPageRow } from './tables.ts';

const dayMs = 86_400_000;
const incidentsShown = 100;
const updatesShown = 100;
const maintenancesShown = 50;
const maintenanceShownMs = { past: dayMs, ahead: 30 * dayMs };

/** The cards of a page with their services, in order. */
export interface StatusPageLayout {
  readonly cards: readonly StatusPageCardRow[];
  readonly services: readonly (ServiceRow & { readonly card_id: string })[];
}

async function storedLayout(
  { statusPages }: Pick<Repositories, 'statusPages'>,
  pageId: string,
): Promise<StatusPageLayout> {
  const cards = await statusPages.cards([pageId]);
  return { cards, services: await statusPages.cardServices(cards.map(({ id }) => id)) };
}

/**
 * Everything a status page shows at an instant. Updates that are to be shown later do not count yet: the
 * incidents are as they were announced until now.
 *
 * @param layout in place of the stored cards.
 */
export async function statusPageData(
  repositories: Pick<Repositories, 'statusPages' | 'incidents' | 'windows' | 'maintenances' | 'reports'>,
  analytics: CoverageSource,
  page: StatusPageRow,
  now: number,
  layout?: StatusPageLayout,
): Promise<StatusPageData> {
  const { cards, services } = layout ?? (await storedLayout(repositories, page.id));
  const serviceNames = new Map(services.map(({ id, name }) => [id, name]));
  // A day more: the first of the days shown begins at midnight.
  const since = now - (uptimeDays + 1) * dayMs;
  const rows = await repositories.incidents.ofServices([...serviceNames.keys()], since);
  const incidents = await publishedIncidents(repositories, rows, now);
  const serviceIdsOf = new Map<string, string[]>();
  for (const { id, service_id: serviceId } of rows) {
    serviceIdsOf.set(id, [...(serviceIdsOf.get(id) ?? []), serviceId]);
  }
  const maintenances = await shownMaintenances(repositories, page, [...serviceNames.keys()], now);
  const measured = await measuredServices(repositories, analytics, page, [...serviceNames.keys()], now);
  const serviceViews = new Map(
    [...serviceNames].map(([id, name]) => {
      const own = incidents.filter((incident) => serviceIdsOf.get(incident.id)?.includes(id));
      const uptime = uptimePercent(own, now);
      const worked = maintenances.filter((one) => isGoingOn(one) && one.serviceIds.includes(id));
      const severities = worked.map(({ visibility }) => visibility.severity);
      const state = worstServiceState([stateAt(own, now), ...severities]);
      const known = measured.get(id);
      const days = incidentDays(own, now).map((day) => {
        const { measurement = null, coverage = null } = known?.days.get(day.date) ?? {};
        return { ...day, measurement, coverage };
      });
      return [id, { id, name, state, uptime, coverage: known?.total ?? null, days }] as const;
    }),
  );
  const cardViews = cards.map((card) => {
    const shown = services
      .filter((service) => service.card_id === card.id)
      .flatMap(({ id }) => serviceViews.get(id) ?? []);
    return {
      name: card.name,
      state: worstServiceState(shown.map(({ state }) => state)),
      uptime: shown.length === 0 ? null : shown.reduce((sum, { uptime }) => sum + uptime, 0) / shown.length,
      coverage: coverageOfCard(shown.map(({ coverage }) => coverage)),
      services: shown,
    };
  });
  return {
    page: {
      name: page.name,
      url: page.url,
      isPrivate: page.is_private === 1,
      ...statusPageOptions(page),
    },
    state: worstServiceState(cardViews.map(({ state }) => state)),
    cards: cardViews,
    incidents: incidents.slice(0, incidentsShown).map((incident) => ({
      id: incident.id,
      name: incident.name,
      severity: incident.severity,
      incidentUpdates: incident.updates.slice(0, updatesShown).map(updateView),
      lastUpdateStatus: incident.last_status,
      duration: durationSeconds(incident),
      // Only those that this page shows: others are nobody's business here.
      services: (serviceIdsOf.get(incident.id) ?? []).map((id) => ({ id, name: serviceNames.get(id) ?? '' })),
    })),
    maintenances: await Promise.all(
      maintenances.map(async (one) => {
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
          services: one.serviceIds.map((id) => ({ id, name: serviceNames.get(id) ?? '' })),
          updates: updates.slice(0, updatesShown).map(({ id, status, description, created }) => ({
            id,
            status,
            description,
            created_at: new Date(created).toISOString(),
          })),
        };
      }),
    ),
    generatedAt: new Date(now).toISOString(),
  };
}

interface MeasuredService {
  readonly total: Coverage;
  /** By date. */
  readonly days: ReadonlyMap<string, DayCoverage>;
}

/** How much of the last 90 days was measured of services whose incidents are opened by checks. */
async function measuredServices(
  repositories: Pick<Repositories, 'reports'>,
  analytics: CoverageSource,
  page: StatusPageRow,
  serviceIds: readonly string[],
  now: number,
): Promise<Map<string, MeasuredService>> {
  if (serviceIds.length === 0) return new Map();
  const checks = await repositories.reports.checksOfServices(page.account_id, serviceIds);
  const bars = lastDays(now, uptimeDays);
  const checkIds = checks.map(({ checkId }) => checkId);
  const found = await analytics.coverage({ ...bars, checkIds, location: null });
  const byService = Map.groupBy(checks, ({ serviceId }) => serviceId);
  return new Map(
    [...byService].map(([serviceId, own]) => {
      const parts = own.flatMap(({ checkId }) => found.get(checkId) ?? []);
      const days = coverageDays(parts, bars).map((day) => [day.date, day] as const);
      return [serviceId, { total: addedCoverage(parts.map(({ total }) => total)), days: new Map(days) }];
    }),
  );
}

/** Of the services that have one. */
function coverageOfCard(parts: readonly (Coverage | null)[]): Coverage | null {
  const known = parts.filter((part) => part !== null);
  return known.length === 0 ? null : addedCoverage(known);
}

/**
 * The maintenances that a page shows: those that go on, lie ahead, or were over or cancelled lately; soonest
 * first.
 */
async function shownMaintenances(
  repositories: Pick<Repositories, 'windows' | 'maintenances'>,
  page: StatusPageRow,
  serviceIds: readonly string[],
  now: number,
): Promise<(VisibleMaintenance & { readonly serviceIds: readonly string[] })[]> {
  const time = { pastMs: maintenanceShownMs.past, aheadMs: maintenanceShownMs.ahead };
  const all = await visibleMaintenances(repositories, now, time, page.account_id);
  return all
    .filter(({ visibility }) => isShownOn(visibility, page.id, serviceIds))
    .filter(({ status, planned }) => status !== 'COMPLETED' || planned.overAt > now - time.pastMs)
    .slice(0, maintenancesShown)
    .map((one) => ({ ...one, serviceIds: affectedServices(one.visibility, serviceIds) }));
}

interface PublishedIncident extends IncidentRow {
  readonly updates: readonly IncidentUpdateRow[];
}

/** Each incident once, as its updates up to an instant describe it; those not announced yet are left out. */
async function publishedIncidents(
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
