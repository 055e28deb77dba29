import { readStaticIps, type StaticIps } from '@picket/platform/config/static-ips.ts';
import type { Feature, RepositoriesOf } from '@picket/platform/feature/feature.ts';
import type { LocationCaller } from '@picket/platform/ids/callers.ts';
import { agentErrorRoutes } from '@picket/protocol/agent/agent-error.ts';
import { examinationRoutes } from '@picket/protocol/agent/agent-examination.ts';
import { locationRoutes, staticIpRoutes } from '@picket/protocol/locations/location.ts';
import { locationAgentRoutes } from '@picket/protocol/locations/location-agent.ts';
import { locationEventRoutes } from '@picket/protocol/locations/location-event.ts';
import { locationMetricsRoutes } from '@picket/protocol/locations/location-metrics.ts';
import { privateLocationRoutes } from '@picket/protocol/locations/private-location.ts';
import { locationAgentHandlers } from './agents/agent-routes.ts';
import { agentErrorHandlers } from './agents/error-routes.ts';
import { AgentErrors } from './agents/error-store.ts';
import { agentExaminationHandlers } from './agents/examination-routes.ts';
import { RefusedAgents } from './agents/refused-store.ts';
import { locationEventHandlers } from './event-routes.ts';
import { LocationEvents } from './event-store.ts';
import { locationMetricsHandlers } from './metric-routes.ts';
import { LocationMinutes } from './minute-store.ts';
import { endOutage } from './outages.ts';
import { OutdatedAgentsWatch } from './outdated.ts';
import { locationHandlers, staticIpHandlers } from './public-routes.ts';
import { privateLocationHandlers } from './routes.ts';
import { Locations } from './store.ts';

const repositories = {
  agentErrors: AgentErrors,
  locations: Locations,
  locationEvents: LocationEvents,
  locationMinutes: LocationMinutes,
  refusedAgents: RefusedAgents,
};

export const locations: Feature = {
  name: 'locations',
  repositories,
  parts: {
    staticIps: ({ config }) => ({
      v4: readStaticIps(config.STATIC_IPS, '4').byLocation,
      v6: readStaticIps(config.STATIC_IPV6S, '6').byLocation,
    }),
    endOutage:
      ({ store, clock }) =>
      (location) =>
        endOutage(store, location, clock.wallMs()),
  },
  jobs: (parts) => [
    {
      ...{ name: 'outdated agents', leaderOnly: true, longestMs: 60_000 },
      work: new OutdatedAgentsWatch(parts),
    },
  ],
  routes: [
    ...Object.values(locationAgentRoutes),
    ...Object.values(privateLocationRoutes),
    ...Object.values(locationMetricsRoutes),
    ...Object.values(locationEventRoutes),
    ...Object.values(locationRoutes),
    ...Object.values(staticIpRoutes),
    ...Object.values(examinationRoutes),
    ...Object.values(agentErrorRoutes),
  ],
  handlers: (parts) => [
    ...locationAgentHandlers(parts),
    ...privateLocationHandlers(parts),
    ...locationMetricsHandlers(parts),
    ...locationHandlers(),
    ...staticIpHandlers(parts.staticIps),
    ...agentExaminationHandlers(parts),
    ...agentErrorHandlers(parts),
    ...locationEventHandlers(parts),
  ],
};

declare module '@picket/platform/store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof repositories> {}
}

declare module '@picket/platform/feature/parts.ts' {
  interface Parts {
    /** Source addresses of check runs by location. */
    readonly staticIps: StaticIps | undefined;
    /** Ends the outage of a location whose agents are back. */
    readonly endOutage: (location: LocationCaller) => Promise<void>;
  }
}
