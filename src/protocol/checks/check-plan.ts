import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { created, defineRoutes } from '../http/route.ts';

const CheckPlan = lazySchema(() =>
  z
    .object({
      version: z.int(),
      reason: z
        .string()
        .describe(
          'found: by the model; healed: the model replaced steps that no longer matched; restored: a user restored an older version',
        ),
      created_at: z.iso.datetime(),
      checkResultId: z
        .string()
        .describe('Result of the run that created it; for a restored one, of the original'),
      content: z
        .record(z.string(), z.unknown())
        .describe(
          'The plan: prompt, model, and steps, each a tool and its input with names of variables in place of values',
        ),
    })
    .meta({ id: 'CheckPlan' }),
);
export type CheckPlan = z.output<typeof CheckPlan.schema>;

const planRoute = {
  path: '/v1/checks/{checkId}/plans',
  params: z.object({ checkId: z.uuid() }),
} as const;

export const checkPlanRoutes = defineRoutes('Checks', 'account', {
  listCheckPlans: {
    ...planRoute,
    method: 'GET',
    summary: 'Versions of the steps that runs of an agentic check replay, newest first; runs use the newest',
    response: lazySchema(() => z.array(CheckPlan.schema)),
  },
  restoreCheckPlan: {
    ...planRoute,
    method: 'POST',
    summary: 'Restore an older version of the steps of an agentic check: runs use it from now on',
    body: lazySchema(() =>
      z
        .object({ version: z.int().min(1).describe('The version to restore') })
        .meta({ id: 'CheckPlanRestoring' }),
    ),
    success: created,
    response: CheckPlan,
  },
  deleteCheckPlans: {
    ...planRoute,
    method: 'DELETE',
    summary: 'Delete the steps of an agentic check: the model finds them again in the next run',
  },
});
