import { z } from 'zod';
import { defineRoute, successful } from '../http/route.ts';

export const Location = z.object({ region: z.string(), name: z.string() }).meta({ id: 'Location' });

export const locationRoutes = {
  listLocations: defineRoute({
    method: 'GET',
    path: '/v1/locations',
    operationId: 'listLocations',
    summary: 'Data-center locations a check can name',
    tag: 'Locations',
    credential: 'account',
    success: successful,
    response: z.array(Location),
  }),
};

const route = { tag: 'Static IPs', credential: 'account', method: 'GET', success: successful } as const;
const text = { response: z.string(), responseContentType: 'text/plain; charset=utf-8' } as const;
const all = z.array(z.string());
const byRegion = z.record(z.string(), z.array(z.string()));

/** The addresses that check runs come from, as the operator configured them. */
export const staticIpRoutes = {
  listStaticIps: defineRoute({
    ...route,
    path: '/v1/static-ips',
    operationId: 'listStaticIps',
    summary: 'All source IPv4 addresses of check runs',
    response: all,
  }),
  listStaticIpsByRegion: defineRoute({
    ...route,
    path: '/v1/static-ips-by-region',
    operationId: 'listStaticIpsByRegion',
    summary: 'The source IPv4 addresses of check runs by location',
    response: byRegion,
  }),
  listStaticIpsText: defineRoute({
    ...route,
    ...text,
    path: '/v1/static-ips.txt',
    operationId: 'listStaticIpsText',
    summary: 'All source IPv4 addresses of check runs, one a line',
  }),
  listStaticIpv6s: defineRoute({
    ...route,
    path: '/v1/static-ipv6s',
    operationId: 'listStaticIpv6s',
    summary: 'All source IPv6 addresses of check runs',
    response: all,
  }),
  listStaticIpv6sByRegion: defineRoute({
    ...route,
    path: '/v1/static-ipv6s-by-region',
    operationId: 'listStaticIpv6sByRegion',
    summary: 'The source IPv6 addresses of check runs by location',
    response: byRegion,
  }),
  listStaticIpv6sText: defineRoute({
    ...route,
    ...text,
    path: '/v1/static-ipv6s.txt',
    operationId: 'listStaticIpv6sText',
    summary: 'All source IPv6 addresses of check runs, one a line',
  }),
};
