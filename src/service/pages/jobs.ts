import { defineJob } from '../jobs/job-loop.ts';
import { CopyKeeper } from './copy-keeper.ts';

export function pageCopiesJob(deps: ConstructorParameters<typeof CopyKeeper>[0]) {
  const keeper = new CopyKeeper(deps);
  return defineJob({
    name: 'copies of pages',
    leaderOnly: true,
    wakesOn: [],
    longestMs: 10_000,
    run: () => keeper.turn(),
  });
}
