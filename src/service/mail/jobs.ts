import { defineJob } from '../jobs/job-loop.ts';
import { SubscriberNotifier } from './subscriber-notifier.ts';

export function subscriberNotifierJob(deps: ConstructorParameters<typeof SubscriberNotifier>[0]) {
  const notifier = new SubscriberNotifier(deps);
  return defineJob({
    name: 'subscriber notifier',
    leaderOnly: false,
    wakesOn: [],
    longestMs: 2_000,
    run: () => notifier.turn(),
  });
}
