import { regionNames } from '../../checks/tables/regions.ts';
import { locationRoutes } from '../../protocol/locations/location.ts';
import { type AnyHandler, handlersById } from '../http/handler.ts';

/** The routes of data-center locations. */
export function locationHandlers(): [string, AnyHandler][] {
  return handlersById(locationRoutes, {
    async listLocations() {
      return Object.entries(regionNames).map(([region, name]) => ({ region, name }));
    },
  });
}
