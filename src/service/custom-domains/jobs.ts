import { defineJob } from '../jobs/job-loop.ts';
import { DomainWatch } from './domain-watch.ts';

export function customDomainsJob(deps: ConstructorParameters<typeof DomainWatch>[0]) {
  const watch = new DomainWatch(deps);
  return defineJob({
    name: 'custom domains',
    leaderOnly: true,
    wakesOn: [],
    longestMs: 15_000,
    run: () => watch.turn(),
  });
}
