import { z } from 'zod';
import { defineRoute, noContent, successful } from '../http/route.ts';

const CheckPlan = z
  .object({
    version: z.int(),
    reason: z
      .string()
      .describe('found: by the model; healed: steps that no longer fitted were replaced by the model'),
    created_at: z.iso.datetime(),
    checkResultId: z.string().describe('The result of the run that it came with'),
    content: z
      .record(z.string(), z.unknown())
      .describe(
        'prompt, model, and steps: each a tool and its input, with the names of variables in place of values',
      ),
  })
  .meta({ id: 'CheckPlan' });
export type CheckPlan = z.output<typeof CheckPlan>;

const planRoute = {
  path: '/v1/checks/{checkId}/plans',
  tag: 'Checks',
  credential: 'account',
  params: z.object({ checkId: z.uuid() }),
} as const;

export const checkPlanRoutes = {
  listCheckPlans: defineRoute({
    ...planRoute,
    method: 'GET',
    operationId: 'listCheckPlans',
    summary: 'Versions of the steps that runs of an agentic check repeat, newest first; runs use the first',
    success: successful,
    response: z.array(CheckPlan),
  }),
  deleteCheckPlans: defineRoute({
    ...planRoute,
    method: 'DELETE',
    operationId: 'deleteCheckPlans',
    summary: 'Forget the steps of an agentic check: the next run has the model find them anew',
    success: noContent,
  }),
};
