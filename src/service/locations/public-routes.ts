import { regionNames } from '@picket/checks/tables/regions.ts';
import {
  type AddressesByLocation,
  allAddresses,
  type StaticIps,
} from '@picket/platform/config/static-ips.ts';
import { type AnyHandler, handlersById } from '@picket/platform/feature/handler.ts';
import { locationRoutes, staticIpRoutes } from '@picket/protocol/locations/location.ts';

/** Routes of data-center locations. */
export function locationHandlers(): [string, AnyHandler][] {
  return handlersById(locationRoutes, {
    async listLocations() {
      return Object.entries(regionNames).map(([region, name]) => ({ region, name }));
    },
  });
}

/** Routes of the source addresses of check runs. */
export function staticIpHandlers(staticIps: StaticIps | undefined): [string, AnyHandler][] {
  const { v4 = {}, v6 = {} } = staticIps ?? {};
  return handlersById(staticIpRoutes, {
    listStaticIps: async () => allAddresses(v4),
    listStaticIpsByRegion: async () => mutable(v4),
    listStaticIpsText: async () => lines(v4),
    listStaticIpv6s: async () => allAddresses(v6),
    listStaticIpv6sByRegion: async () => mutable(v6),
    listStaticIpv6sText: async () => lines(v6),
  });
}

function lines(byLocation: AddressesByLocation): string {
  return allAddresses(byLocation)
    .map((address) => `${address}\n`)
    .join('');
}

function mutable(byLocation: AddressesByLocation): Record<string, string[]> {
  return Object.fromEntries(Object.entries(byLocation).map(([location, list]) => [location, [...list]]));
}
