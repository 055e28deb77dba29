import type { Feature, RepositoriesOf } from '@picket/platform/feature/feature.ts';
import { heartbeatRoutes } from '@picket/protocol/checks/heartbeat.ts';
import { scheduleRoutes } from '@picket/protocol/checks/schedule.ts';
import { JobRuns } from './job-run-store.ts';
import { heartbeatHandlers } from './routes.ts';
import { scheduleHandlers } from './schedule-routes.ts';
import { Heartbeats } from './store.ts';
import { HeartbeatWatch } from './watch.ts';

const repositories = { heartbeats: Heartbeats, jobRuns: JobRuns };

export const heartbeats: Feature = {
  name: 'heartbeats',
  repositories,
  routes: [...Object.values(heartbeatRoutes), ...Object.values(scheduleRoutes)],
  handlers: (deps) => [...heartbeatHandlers(deps), ...scheduleHandlers(deps)],
  // Grace times and time limits of runs that end earlier are noticed after this at the latest.
  jobs: (parts) => [
    { name: 'heartbeat watch', leaderOnly: true, longestMs: 5_000, work: new HeartbeatWatch(parts) },
  ],
};

declare module '@picket/platform/store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof repositories> {}
}
