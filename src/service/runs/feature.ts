import type { Feature, RepositoriesOf } from '@picket/platform/feature/feature.ts';
import { agentRoutes } from '@picket/protocol/agent/agent.ts';
import { locationCoverageRoutes } from '@picket/protocol/runs/location-coverage.ts';
import { slotRoutes } from '@picket/protocol/runs/slot.ts';
import { Leases } from './lease-store.ts';
import { Ledger } from './ledger.ts';
import { rescheduler } from './rescheduling.ts';
import { agentHandlers } from './routes.ts';
import { Scheduler } from './scheduler.ts';
import { slotHandlers } from './slots/routes.ts';
import { Slots } from './slots/store.ts';
import { Runs } from './store.ts';

const repositories = { runs: Runs, slots: Slots, leases: Leases };

export const runs: Feature = {
  name: 'runs',
  repositories,
  parts: {
    newRescheduler: () => rescheduler,
    ledger: ({ endOutage, ...parts }) => new Ledger({ ...parts, onAgentsBack: endOutage }),
  },
  connect: ({ metrics, ledger }) => metrics.queues.push(ledger),
  routes: [
    ...Object.values(slotRoutes),
    ...Object.values(locationCoverageRoutes),
    ...Object.values(agentRoutes),
  ],
  handlers: (parts) => [...slotHandlers(parts), ...agentHandlers(parts)],
  // Waiting polls get a response before connections are closed.
  serve: (app, { ledger }) => void app.addHook('preClose', async () => ledger.drain()),
  jobs: (parts) => [
    {
      // Each process handles its own parts of the schedule.
      ...{ name: 'scheduler', leaderOnly: false, wakesOn: ['schedule'], longestMs: 30_000 },
      work: new Scheduler(parts),
    },
  ],
};

declare module '@picket/platform/store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof repositories> {}
}

declare module '@picket/platform/feature/parts.ts' {
  interface Parts {
    readonly ledger: Ledger;
    /** Creates the rescheduler that updates runs when a check changes; one for each set of handlers. */
    readonly newRescheduler: typeof rescheduler;
  }
}
