import { defineJob } from '../jobs/job-loop.ts';
import { BurnWatch } from './burn-watch.ts';

export function sloBurnsJob(deps: ConstructorParameters<typeof BurnWatch>[0]) {
  const watch = new BurnWatch(deps);
  return defineJob({
    name: 'slo burns',
    leaderOnly: true,
    wakesOn: [],
    longestMs: 60_000,
    run: () => watch.turn(),
  });
}
