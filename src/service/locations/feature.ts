import { defineFeature, type RepositoriesOf } from '../feature/feature.ts';
import { AgentErrors } from './agents/error-store.ts';
import { LocationEvents } from './event-store.ts';
import { LocationMinutes } from './minute-store.ts';
import { Locations } from './store.ts';

export const locations = defineFeature({
  name: 'locations',
  repositories: {
    agentErrors: AgentErrors,
    locations: Locations,
    locationEvents: LocationEvents,
    locationMinutes: LocationMinutes,
  },
});

declare module '../store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof locations> {}
}
