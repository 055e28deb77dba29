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
