import { defineJob } from '../jobs/job-loop.ts';
import { WaitingFailures } from './rules/rule-incidents.ts';
import { IncidentFeed } from './trigger.ts';

export function incidentFeedJob(deps: ConstructorParameters<typeof IncidentFeed>[0]) {
  const feed = new IncidentFeed(deps);
  return defineJob({
    name: 'incident feed',
    leaderOnly: false,
    wakesOn: ['alerts'],
    longestMs: 5_000,
    run: () => feed.turn(),
  });
}

export function waitingIncidentsJob(deps: ConstructorParameters<typeof WaitingFailures>[0]) {
  const waiting = new WaitingFailures(deps);
  return defineJob({
    name: 'waiting incidents',
    leaderOnly: false,
    wakesOn: ['alerts'],
    longestMs: 30_000,
    run: () => waiting.turn(),
  });
}
