import { runtimeStages } from '@picket/checks/tables/runtimes.ts';
import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { defineRoutes, successful } from '../http/route.ts';

/** A runtime that checks can name (check model 6). */
export const Runtime = lazySchema(() =>
  z
    .object({
      name: z.string(),
      stage: z.enum(runtimeStages),
      nodeJsVersion: z.string(),
      multiStepSupport: z.boolean(),
      runtimeEndOfLife: z.string().nullable().describe('MM/DD/YYYY; null if no end is planned'),
      description: z.string(),
      dependencies: z
        .record(z.string(), z.string())
        .describe('Packages available to scripts, with their versions'),
    })
    .meta({ id: 'Runtime' }),
);

const runtimeRoute = { method: 'GET', success: successful } as const;

export const runtimeRoutes = defineRoutes('Runtimes', 'account', {
  listRuntimes: {
    ...runtimeRoute,
    path: '/v1/runtimes',
    summary: 'All runtimes, newest first',
    response: lazySchema(() => z.array(Runtime.schema)),
  },
  getRuntime: {
    ...runtimeRoute,
    path: '/v1/runtimes/{id}',
    summary: 'One runtime, by its name',
    params: lazySchema(() =>
      z.object({ id: z.string().regex(/^\d{4}\.\d{2}$/, 'must have the form 2026.04') }),
    ),
    response: Runtime,
  },
});
