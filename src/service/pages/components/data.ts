import type { Repositories } from '@picket/platform/store/repositories.ts';
import type { ComponentState, StatusPageData } from '@picket/protocol/pages/public-page.ts';
import type { CoverageSource } from '../../coverage/coverage-query.ts';
import { severityOf, worstImpact } from '../../incidents/impact.ts';
import { uptimeDays, uptimeOf, uptimeView } from '../../incidents/timeline.ts';
import { hiddenAmong } from '../../maintenance/affected.ts';
import { isGoingOn } from '../../maintenance/pages.ts';
import { measuredNow } from '../measured-now.ts';
import {
  incidentsShown,
  maintenanceViews,
  measuredBy,
  type PublishedIncident,
  publishedIncidents,
  shownDays,
  shownIncident,
  shownMaintenances,
  shownPage,
  watchedSince,
} from '../shown/parts.ts';
import type { ComponentRow, StatusPageRow } from '../tables.ts';

const dayMs = 86_400_000;

type Impact = Exclude<ComponentState, 'OPERATIONAL'>;

/** Data of a page of components at an instant. Hidden components are omitted, and not named by incidents either. */
export async function componentPageData(
  repositories: Pick<
    Repositories,
    'components' | 'automationRules' | 'incidents' | 'windows' | 'maintenances' | 'states'
  >,
  analytics: CoverageSource,
  page: StatusPageRow,
  now: number,
): Promise<StatusPageData> {
  const stored = await repositories.components.ofPage(page.id);
  const hidden = hiddenAmong(stored);
  const rows = inOrder(stored.filter(({ id }) => !hidden.has(id)));
  const within = new Map(rows.map((row) => [row.id, withinOf(row.id, rows)]));
  const since = now - (uptimeDays + 1) * dayMs;
  const concerned = (await repositories.incidents.ofComponents(page.id, since)).filter(
    ({ component_id: id }) => !hidden.has(id),
  );
  const incidents = await publishedIncidents(repositories, concerned, now);
  const impacts = Map.groupBy(concerned, ({ id }) => id);
  const maintenances = await shownMaintenances(repositories, page, { serviceIds: [], components: rows }, now);
  const workedOn = new Set(maintenances.filter(isGoingOn).flatMap((one) => [...one.componentIds]));
  const checks = await checksWithin(repositories, page, within);
  const measured = await measuredBy(analytics, checks, now);
  const standing = await repositories.states.of(
    page.account_id,
    [...new Set([...checks.values()].flat())],
    now,
  );
  const components = rows.map((row) => {
    const ids = within.get(row.id) ?? new Set();
    const own = incidents.flatMap((incident) => {
      const all = (impacts.get(incident.id) ?? []).filter(({ component_id: id }) => ids.has(id));
      const impact = worstImpact(all.map((one) => one.impact));
      return impact === undefined ? [] : [{ incident, impact }];
    });
    const state =
      worstImpact([
        ...own.filter(({ incident }) => isOpenAt(incident, now)).map(({ impact }) => impact),
        ...([...ids].some((id) => workedOn.has(id)) ? (['UNDER_MAINTENANCE'] satisfies Impact[]) : []),
      ]) ?? 'OPERATIONAL';
    const down = own.flatMap(({ incident, impact }) => (impact === 'UNDER_MAINTENANCE' ? [] : [incident]));
    const hasHistory = row.shows_history === 1;
    const known = measured.get(row.id);
    return {
      id: row.id,
      parentId: row.parent_id,
      type: row.type,
      name: row.name,
      description: row.description,
      state,
      measuredNow: measuredNow(standing, checks.get(row.id)),
      isExpanded: row.is_expanded === 1,
      ...uptimeView(hasHistory ? uptimeOf(down, watchedSince(known, row.created, down), now) : null),
      coverage: hasHistory ? (known?.total ?? null) : null,
      days: hasHistory ? shownDays(down, known, now) : [],
    } satisfies StatusPageData['components'][number];
  });
  const names = new Map(rows.map(({ id, name }) => [id, name]));
  const worst = worstImpact(components.flatMap(({ state }) => (state === 'OPERATIONAL' ? [] : [state])));
  return {
    page: shownPage(page),
    state: worst === undefined ? 'OPERATIONAL' : severityOf(worst),
    components,
    cards: [],
    incidents: incidents.slice(0, incidentsShown).map((incident) => ({
      ...shownIncident(incident),
      services: [],
      components: (impacts.get(incident.id) ?? []).map(({ component_id: id, impact }) => ({
        ...{ id, name: names.get(id) ?? '', impact },
      })),
    })),
    maintenances: await maintenanceViews(repositories, maintenances, names),
    generatedAt: new Date(now).toISOString(),
  };
}

/** Components in order, parents before children. */
function inOrder(rows: readonly ComponentRow[]): ComponentRow[] {
  const children = Map.groupBy(rows, (row) => row.parent_id);
  const from = (parentId: string | null): ComponentRow[] =>
    (children.get(parentId) ?? []).flatMap((row) => [row, ...from(row.id)]);
  return from(null);
}

/** Ids of a component and of everything in it. */
function withinOf(id: string, rows: readonly ComponentRow[]): Set<string> {
  const ids = new Set([id]);
  // Ordered, so that parents come first.
  for (const row of rows) if (row.parent_id !== null && ids.has(row.parent_id)) ids.add(row.id);
  return ids;
}

/** Checks whose failures open incidents of a component or of its descendants, by component. */
async function checksWithin(
  { automationRules }: Pick<Repositories, 'automationRules'>,
  page: StatusPageRow,
  within: ReadonlyMap<string, ReadonlySet<string>>,
): Promise<Map<string, string[]>> {
  const checks = await automationRules.checksOfComponents(page.account_id, page.id);
  const byComponent = Map.groupBy(checks, ({ componentId }) => componentId);
  return new Map(
    [...within].flatMap(([id, ids]) => {
      const own = [...ids].flatMap((one) => (byComponent.get(one) ?? []).map(({ checkId }) => checkId));
      return own.length === 0 ? [] : [[id, [...new Set(own)]] as const];
    }),
  );
}

function isOpenAt({ started, ended }: PublishedIncident, now: number): boolean {
  return started <= now && (ended === null || ended > now);
}
