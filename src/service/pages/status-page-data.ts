import type { Repositories } from '@picket/platform/store/repositories.ts';
import type { StatusPageData } from '@picket/protocol/pages/public-page.ts';
import { addedCoverage, type Coverage } from '@picket/protocol/runs/coverage.ts';
import type { CoverageSource } from '../coverage/coverage-query.ts';
import type { ServiceRow } from '../incidents/tables.ts';
import {
  addedUptime,
  stateAt,
  uptimeDays,
  uptimeOf,
  uptimeView,
  worstServiceState,
} from '../incidents/timeline.ts';
import { isGoingOn } from '../maintenance/pages.ts';
import { componentPageData } from './components/data.ts';
import { measuredNow } from './measured-now.ts';
import {
  incidentsShown,
  maintenanceViews,
  measuredBy,
  publishedIncidents,
  shownDays,
  shownIncident,
  shownMaintenances,
  shownPage,
  watchedSince,
} from './shown/parts.ts';
import type { StatusPageCardRow, StatusPageRow } from './tables.ts';

const dayMs = 86_400_000;

/** Cards of a page with their services, in order. */
export interface StatusPageLayout {
  readonly cards: readonly StatusPageCardRow[];
  readonly services: readonly (ServiceRow & { readonly card_id: string })[];
}

/** Repositories that status pages read. */
export type PageSources = Pick<
  Repositories,
  | 'statusPages'
  | 'components'
  | 'automationRules'
  | 'incidents'
  | 'windows'
  | 'maintenances'
  | 'reports'
  | 'states'
>;

async function storedLayout(
  { statusPages }: Pick<Repositories, 'statusPages'>,
  pageId: string,
): Promise<StatusPageLayout> {
  const cards = await statusPages.cards([pageId]);
  return { cards, services: await statusPages.cardServices(cards.map(({ id }) => id)) };
}

/**
 * Data of a status page at an instant. Updates to be published later do not count: incidents appear as announced so
 * far.
 *
 * @param layout used instead of the stored cards.
 */
export async function statusPageData(
  repositories: PageSources,
  analytics: CoverageSource,
  page: StatusPageRow,
  now: number,
  layout?: StatusPageLayout,
): Promise<StatusPageData> {
  if (page.version === 3) return componentPageData(repositories, analytics, page, now);
  const { cards, services } = layout ?? (await storedLayout(repositories, page.id));
  const serviceNames = new Map(services.map(({ id, name }) => [id, name]));
  const created = new Map(services.map((service) => [service.id, service.created]));
  // One day more: the first day shown begins at midnight.
  const since = now - (uptimeDays + 1) * dayMs;
  const rows = await repositories.incidents.ofServices([...serviceNames.keys()], since);
  const incidents = await publishedIncidents(repositories, rows, now);
  const serviceIdsOf = new Map<string, string[]>();
  for (const { id, service_id: serviceId } of rows) {
    serviceIdsOf.set(id, [...(serviceIdsOf.get(id) ?? []), serviceId]);
  }
  const maintenances = await shownMaintenances(
    repositories,
    page,
    { serviceIds: [...serviceNames.keys()], components: [] },
    now,
  );
  const checks =
    serviceNames.size === 0
      ? []
      : await repositories.reports.checksOfServices(page.account_id, [...serviceNames.keys()]);
  const checkIds = Map.groupBy(checks, ({ serviceId }) => serviceId);
  const measured = await measuredBy(
    analytics,
    new Map([...checkIds].map(([id, own]) => [id, own.map(({ checkId }) => checkId)])),
    now,
  );
  const standing = await repositories.states.of(
    page.account_id,
    checks.map(({ checkId }) => checkId),
    now,
  );
  const serviceViews = new Map(
    [...serviceNames].map(([id, name]) => {
      const own = incidents.filter((incident) => serviceIdsOf.get(incident.id)?.includes(id));
      const worked = maintenances.filter((one) => isGoingOn(one) && one.serviceIds.includes(id));
      const severities = worked.map(({ visibility }) => visibility.severity);
      const state = worstServiceState([stateAt(own, now), ...severities]);
      const known = measured.get(id);
      const up = uptimeOf(own, watchedSince(known, created.get(id) ?? now, own), now);
      const days = shownDays(own, known, now);
      const watching = (checkIds.get(id) ?? []).map(({ checkId }) => checkId);
      const view = {
        ...{ id, name, state, measuredNow: measuredNow(standing, watching) },
        ...{ ...uptimeView(up), coverage: known?.total ?? null, days },
      };
      return [id, { view, up }] as const;
    }),
  );
  const cardViews = cards.map((card) => {
    const own = services
      .filter((service) => service.card_id === card.id)
      .flatMap(({ id }) => serviceViews.get(id) ?? []);
    const shown = own.map(({ view }) => view);
    return {
      name: card.name,
      state: worstServiceState(shown.map(({ state }) => state)),
      ...uptimeView(addedUptime(own.map(({ up }) => up))),
      coverage: coverageOfCard(shown.map(({ coverage }) => coverage)),
      services: shown,
    };
  });
  return {
    page: shownPage(page),
    state: worstServiceState(cardViews.map(({ state }) => state)),
    components: [],
    cards: cardViews,
    incidents: incidents.slice(0, incidentsShown).map((incident) => ({
      ...shownIncident(incident),
      // Only services that this page shows.
      services: (serviceIdsOf.get(incident.id) ?? []).map((id) => ({ id, name: serviceNames.get(id) ?? '' })),
      components: [],
    })),
    maintenances: await maintenanceViews(repositories, maintenances, serviceNames),
    generatedAt: new Date(now).toISOString(),
  };
}

/** Combined coverage of the services that have one. */
function coverageOfCard(parts: readonly (Coverage | null)[]): Coverage | null {
  const known = parts.filter((part) => part !== null);
  return known.length === 0 ? null : addedCoverage(known);
}
