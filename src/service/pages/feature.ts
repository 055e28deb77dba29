import type { Feature, RepositoriesOf } from '@picket/platform/feature/feature.ts';
import { badgeRoutes } from '@picket/protocol/pages/badge.ts';
import { dashboardRoutes } from '@picket/protocol/pages/dashboard.ts';
import { dashboardIncidentRoutes } from '@picket/protocol/pages/dashboard-incident.ts';
import { previewRoutes } from '@picket/protocol/pages/preview.ts';
import { publicPageRoutes } from '@picket/protocol/pages/public-page.ts';
import { statusPageRoutes } from '@picket/protocol/pages/status-page.ts';
import { statusPageComponentRoutes } from '@picket/protocol/pages/status-page-component.ts';
import { subscriptionRoutes } from '@picket/protocol/pages/subscription.ts';
import { badgeHandlers } from './badges/routes.ts';
import { statusPageComponentHandlers } from './components/routes.ts';
import { StatusPageComponents } from './components/store.ts';
import { dashboardIncidentHandlers } from './dashboards/incident-routes.ts';
import { DashboardIncidents } from './dashboards/incident-store.ts';
import { dashboardHandlers } from './dashboards/routes.ts';
import { Dashboards } from './dashboards/store.ts';
import { PageSnapshotJob } from './page-snapshot-job.ts';
import { previewHandlers } from './preview-routes.ts';
import { publicPageHandlers } from './public-routes.ts';
import { statusPageHandlers } from './routes.ts';
import { Services } from './service-store.ts';
import { StatusPages } from './store.ts';
import { subscriptionHandlers } from './subscriptions/routes.ts';
import { Subscriptions } from './subscriptions/store.ts';

const repositories = {
  dashboards: Dashboards,
  dashboardIncidents: DashboardIncidents,
  statusPages: StatusPages,
  components: StatusPageComponents,
  services: Services,
  subscriptions: Subscriptions,
};

export const pages: Feature = {
  name: 'pages',
  repositories,
  parts: {
    hasPages: ({ config }) => config.PAGES === 'on',
    artifactsUrl: ({ config }) => config.ARTIFACTS_URL,
  },
  routes: [
    ...Object.values(dashboardRoutes),
    ...Object.values(dashboardIncidentRoutes),
    ...Object.values(statusPageRoutes),
    ...Object.values(statusPageComponentRoutes),
    ...Object.values(subscriptionRoutes),
    ...Object.values(publicPageRoutes),
    ...Object.values(previewRoutes),
    ...Object.values(badgeRoutes),
  ],
  handlers: (parts) => [
    ...dashboardHandlers(parts),
    ...dashboardIncidentHandlers(parts),
    ...statusPageHandlers(parts),
    ...statusPageComponentHandlers(parts),
    ...subscriptionHandlers(parts),
    ...publicPageHandlers(parts),
    ...previewHandlers(parts),
    ...badgeHandlers(parts),
  ],
  jobs: (parts) => {
    if (!parts.hasPages) return [];
    const work = new PageSnapshotJob({ ...parts, proof: parts.domainProof });
    return [{ name: 'copies of pages', leaderOnly: true, longestMs: 10_000, work }];
  },
};

declare module '@picket/platform/store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof repositories> {}
}

declare module '@picket/platform/feature/parts.ts' {
  interface Parts {
    /** Whether pages for browsers are enabled. */
    readonly hasPages: boolean;
    /** A separate host name of the service that serves files of runs. */
    readonly artifactsUrl: string | undefined;
  }
}
