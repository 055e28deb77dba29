import { defineJob } from '../jobs/job-loop.ts';
import { CauseWatch, type CauseWatchOptions } from './causes/cause-watch.ts';
import { configuredNotifier } from './delivery/configured-notifier.ts';
import { AlertTimers } from './timers.ts';

export function notifierJob(deps: Parameters<typeof configuredNotifier>[0]) {
  const notifier = configuredNotifier(deps);
  return defineJob({
    name: 'notifier',
    leaderOnly: false,
    wakesOn: ['alerts'],
    longestMs: 2_000,
    run: (wake) => notifier.turn(wake),
    close: () => notifier.close(),
  });
}

export function alertTimersJob(deps: ConstructorParameters<typeof AlertTimers>[0]) {
  const timers = new AlertTimers(deps);
  return defineJob({
    name: 'alert timers',
    leaderOnly: false,
    wakesOn: ['alerts'],
    longestMs: 5_000,
    run: () => timers.turn(),
  });
}

export function alertCausesJob(deps: CauseWatchOptions) {
  const watch = new CauseWatch(deps);
  return defineJob({
    name: 'alert causes',
    leaderOnly: true,
    wakesOn: ['alerts'],
    longestMs: 5_000,
    run: () => watch.turn(),
  });
}
