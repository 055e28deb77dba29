import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { defineRoutes } from '../http/route.ts';
import { Coverage, Measurement } from './coverage.ts';

/** Share of a location's due slots that were measured, in total and by day. */
export const LocationCoverage = lazySchema(() =>
  z
    .object({
      coverage: Coverage.schema,
      days: z
        .array(z.object({ date: z.iso.date(), measurement: Measurement.schema, coverage: Coverage.schema }))
        .describe('UTC, oldest first; today up to now'),
    })
    .meta({ id: 'LocationCoverage' }),
);
export type LocationCoverage = z.output<typeof LocationCoverage.schema>;

export const locationCoverageRoutes = defineRoutes('Slots', 'account', {
  listFleetCoverage: {
    method: 'GET',
    path: '/v1/private-locations/coverage',
    summary: 'Coverage of each location of the checks in the last 24 hours',
    response: lazySchema(() => z.array(z.object({ slugName: z.string(), coverage: Coverage.schema }))),
  },
  getLocationCoverage: {
    method: 'GET',
    path: '/v1/private-locations/{id}/coverage',
    summary: 'Daily coverage of a private location: share of due slots that were measured',
    params: z.object({ id: z.uuid() }),
    query: lazySchema(() =>
      z.object({
        days: z.coerce.number().int().min(1).max(90).default(30).describe('How many days, today included'),
      }),
    ),
    response: LocationCoverage,
  },
});
