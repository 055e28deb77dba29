import type { Feature, RepositoriesOf } from '@picket/platform/feature/feature.ts';
import { liveLogRoutes } from '@picket/protocol/agent/live-log.ts';
import { followedLogRoutes } from '@picket/protocol/sessions/live-log.ts';
import { LiveLogCleanUp } from './clean-up.ts';
import { FollowedRuns } from './followed-runs.ts';
import { liveLogHandlers } from './routes.ts';
import { LiveLogs } from './store.ts';

const repositories = { liveLogs: LiveLogs };

/** The log of a script while it runs: agents send it as long as someone reads it. */
export const liveLogs: Feature = {
  name: 'live-logs',
  repositories,
  migrations: [
    {
      name: '0089-live-log-lines',
      statements: [
        `create table live_log_lines (
          run_id text not null, lease_number integer not null, first_line integer not null,
          account_id text not null references accounts (id) on delete cascade,
          size_bytes integer not null, is_full integer not null, lines {json} not null, created bigint not null,
          primary key (run_id, lease_number, first_line))`,
      ],
    },
  ],
  parts: {
    followedRuns: ({ store, clock }, closing) => {
      const followed = new FollowedRuns({ clock, signals: store.signals });
      closing.defer(() => followed.close());
      return followed;
    },
  },
  routes: [...Object.values(followedLogRoutes), ...Object.values(liveLogRoutes)],
  handlers: (parts) => liveLogHandlers(parts),
  jobs: (parts) => [
    // The leader removes the lines of all processes.
    { name: 'live logs', leaderOnly: true, longestMs: 60_000, work: new LiveLogCleanUp(parts) },
  ],
};

declare module '@picket/platform/store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof repositories> {}
}

declare module '@picket/platform/feature/parts.ts' {
  interface Parts {
    /** Runs whose log someone reads at present. */
    readonly followedRuns: FollowedRuns;
  }
}
