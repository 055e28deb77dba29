import { defineJob } from '../jobs/job-loop.ts';
import { HeartbeatWatch } from './watch.ts';

export function heartbeatWatchJob(deps: ConstructorParameters<typeof HeartbeatWatch>[0]) {
  const watch = new HeartbeatWatch(deps);
  return defineJob({
    name: 'heartbeat watch',
    leaderOnly: true,
    wakesOn: [],
    // No grace time can end sooner after a ping than this, so pings need not wake it.
    longestMs: 5_000,
    run: () => watch.turn(),
  });
}
