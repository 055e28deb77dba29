import { defineFeature, type RepositoriesOf } from '../feature/feature.ts';
import { StatusPageComponents } from './components/store.ts';
import { DashboardIncidents } from './dashboards/incident-store.ts';
import { Dashboards } from './dashboards/store.ts';
import { Services } from './service-store.ts';
import { StatusPages } from './store.ts';
import { Subscriptions } from './subscription-store.ts';

export const pages = defineFeature({
  name: 'pages',
  repositories: {
    dashboards: Dashboards,
    dashboardIncidents: DashboardIncidents,
    statusPages: StatusPages,
    components: StatusPageComponents,
    services: Services,
    subscriptions: Subscriptions,
  },
});

declare module '../store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof pages> {}
}
