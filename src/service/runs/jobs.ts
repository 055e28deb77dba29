import { defineJob } from '../jobs/job-loop.ts';
import { Scheduler } from './scheduler.ts';

export function schedulerJob(deps: ConstructorParameters<typeof Scheduler>[0]) {
  const scheduler = new Scheduler(deps);
  return defineJob({
    name: 'scheduler',
    // Each process does its parts of the schedule.
    leaderOnly: false,
    wakesOn: ['schedule'],
    longestMs: 30_000,
    run: () => scheduler.turn(),
    close: () => deps.store.leaveSchedule(),
  });
}
