import type { Feature, RepositoriesOf } from '@picket/platform/feature/feature.ts';
import { MaintenanceNotices } from './notices.ts';
import { maintenanceHandlers } from './routes.ts';
import { Maintenances } from './store.ts';

const repositories = { maintenances: Maintenances };

export const maintenance: Feature = {
  name: 'maintenance',
  repositories,
  handlers: maintenanceHandlers,
  jobs: (parts) => {
    if (!parts.mailServer) return [];
    const work = new MaintenanceNotices(parts);
    return [{ name: 'maintenance notices', leaderOnly: true, longestMs: 20_000, work }];
  },
};

declare module '@picket/platform/store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof repositories> {}
}
