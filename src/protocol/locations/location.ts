import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { defineRoutes, successful } from '../http/route.ts';

export const Location = lazySchema(() =>
  z.object({ region: z.string(), name: z.string() }).meta({ id: 'Location' }),
);

export const locationRoutes = defineRoutes('Locations', 'account', {
  listLocations: {
    method: 'GET',
    path: '/v1/locations',
    summary: 'Data-center locations that a check can use',
    response: lazySchema(() => z.array(Location.schema)),
  },
});

const route = { method: 'GET', success: successful } as const;
const text = { response: z.string(), responseContentType: 'text/plain; charset=utf-8' } as const;
const all = z.array(z.string());
const byRegion = z.record(z.string(), z.array(z.string()));

/** The addresses from which check runs connect, as the operator configured them. */
export const staticIpRoutes = defineRoutes('Static IPs', 'account', {
  listStaticIps: {
    ...route,
    path: '/v1/static-ips',
    summary: 'All source IPv4 addresses of check runs',
    response: all,
  },
  listStaticIpsByRegion: {
    ...route,
    path: '/v1/static-ips-by-region',
    summary: 'The source IPv4 addresses of check runs by location',
    response: byRegion,
  },
  listStaticIpsText: {
    ...route,
    ...text,
    path: '/v1/static-ips.txt',
    summary: 'All source IPv4 addresses of check runs, one per line',
  },
  listStaticIpv6s: {
    ...route,
    path: '/v1/static-ipv6s',
    summary: 'All source IPv6 addresses of check runs',
    response: all,
  },
  listStaticIpv6sByRegion: {
    ...route,
    path: '/v1/static-ipv6s-by-region',
    summary: 'The source IPv6 addresses of check runs by location',
    response: byRegion,
  },
  listStaticIpv6sText: {
    ...route,
    ...text,
    path: '/v1/static-ipv6s.txt',
    summary: 'All source IPv6 addresses of check runs, one per line',
  },
});
