import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { ManagedFields } from '../http/managed-fields.ts';
import { NumericId, Paging } from '../http/query.ts';
import { defineResourceApi } from '../http/resource.ts';
import { defineRoutes } from '../http/route.ts';
import { Coverage } from '../runs/coverage.ts';

/** Subject of a service level objective: exactly one of these. */
const subjects = {
  checkId: z.uuid().nullable().default(null).describe('One check'),
  groupId: z.int().min(1).nullable().default(null).describe('The checks of a group'),
  tags: z.array(z.string().min(1).max(255)).max(100).default([]).describe('Checks with any of these tags'),
};

/** When to notify the channels that the error budget burns too fast. */
const BurnAlert = lazySchema(() =>
  z
    .object({
      enabled: z.boolean().default(true),
      percentInHour: z
        .number()
        .gt(0)
        .max(100)
        .default(2)
        .describe(
          'Percent of the budget: alert if this share is spent within an hour, and the last 5 minutes have the same rate',
        ),
      percentInSixHours: z
        .number()
        .gt(0)
        .max(100)
        .default(5)
        .describe('The same for six hours and their last 30 minutes'),
      minFailedRuns: z
        .int()
        .min(1)
        .max(1000)
        .default(3)
        .describe(
          'Minimum number of failed runs in the period for an alert, because a single run may be the whole budget',
        ),
    })
    .prefault({})
    .describe('Limits for notifying the channels that the budget burns too fast'),
);

const SloFields = lazySchema(() =>
  z.object({
    name: z.string().min(1).max(200),
    description: z.string().max(2000).nullable().default(null),
    ...subjects,
    target: z.number().gt(0).lt(100).describe('Target percentage of successful runs, such as 99.9'),
    windowDays: z.int().min(1).max(90).default(30).describe('The window: this many days, ending now'),
    burnAlert: BurnAlert.schema,
    alertChannelIds: z
      .array(z.int().min(1))
      .max(100)
      .default([])
      .describe('Channels for burn notifications; empty: those of its checks'),
  }),
);
export type SloDefinition = z.output<typeof SloFields.schema>;

export const SloInput = lazySchema(() =>
  SloFields.schema
    .superRefine(({ checkId, groupId, tags }, context) => {
      const named = [checkId !== null, groupId !== null, tags.length > 0].filter(Boolean).length;
      if (named === 1) return;
      const message = 'or "groupId" or "tags" must say which checks it is about, and only one of them';
      context.addIssue({ code: 'custom', path: ['checkId'], message });
    })
    .meta({ id: 'SloInput', description: 'A service level objective, in requests' }),
);

export const Slo = lazySchema(() =>
  SloFields.schema
    .extend({
      ...ManagedFields,
      id: z.int(),
      created_at: z.iso.datetime(),
      updated_at: z.iso.datetime().nullable(),
    })
    .meta({ id: 'Slo', description: 'A service level objective' }),
);

export const sloApi = defineResourceApi({
  noun: 'slo',
  order: 'newest first',
  key: NumericId,
  shown: Slo,
  input: SloInput,
  // Loose, because the objective after merging is validated.
  patch: z.looseObject({}),
  mergedFields: ['burnAlert'],
  documentedPatch: lazySchema(() =>
    SloFields.schema.partial().meta({
      id: 'SloPatch',
      description: 'Any fields of SloInput; absent ones keep their value',
    }),
  ),
});

const percentOrNull = z.number().nullable();

/** State of an objective, from measured and unmeasured slots. */
export const SloStatus = lazySchema(() =>
  z
    .object({
      sloId: z.int(),
      name: z.string(),
      target: z.number(),
      from: z.iso.datetime(),
      to: z.iso.datetime(),
      checkIds: z.array(z.string()).describe('Checks of the objective at present'),
      state: z
        .enum(['MET', 'UNPROVEN', 'BREACHED', 'UNKNOWN'])
        .describe(
          'MET: even if all unmeasured slots had failed; UNPROVEN: only for the measured ' +
            'slots; BREACHED: by the measured slots alone; UNKNOWN: no measurements',
        ),
      availability: percentOrNull.describe('Percent of the evaluated runs that succeeded'),
      coverage: Coverage.schema,
      errorBudget: z.object({
        allowedRuns: z.number().describe('Allowed number of failed runs'),
        failedRuns: z.int(),
        leftPercent: percentOrNull.describe('Remaining budget; negative if overspent'),
        leftPercentAtWorst: percentOrNull.describe(
          'Remaining budget if every slot that was missed or ended with an error of the monitoring had failed',
        ),
      }),
      burnRates: z
        .array(
          z.object({
            hours: z.int().describe('Hours back from now'),
            rate: percentOrNull.describe(
              '1 spends exactly the budget over the window; null: no measurements',
            ),
            coveragePercent: percentOrNull,
          }),
        )
        .describe('Burn rates of the budget'),
      burningSince: z.iso
        .datetime()
        .nullable()
        .describe('Start of the current burn alert; null: no burn alert'),
    })
    .meta({ id: 'SloStatus' }),
);
export type SloStatus = z.output<typeof SloStatus.schema>;

const SloBurn = lazySchema(() =>
  z
    .object({
      sloId: z.int(),
      name: z.string(),
      since: z.iso.datetime().describe('When the channels were notified'),
      window: z.enum(['HOUR', 'SIX_HOURS']).describe('Window in which the budget was spent too fast'),
      explanation: z.string().describe('Summary of the failures, and how long the budget lasts at that rate'),
      checkAlertId: z.string().describe('Name of the alert in notifications'),
    })
    .meta({ id: 'SloBurn' }),
);

export const sloRoutes = defineRoutes('Slos', 'account', {
  listSloBurns: {
    method: 'GET',
    path: '/v1/slo-burns',
    summary: 'Objectives with an active burnAlert: the error budget burns too fast',
    query: z.object(Paging),
    response: lazySchema(() => z.array(SloBurn.schema)),
  },
  getSloStatus: {
    rateLimit: { requests: 30, windowSeconds: 60 },
    method: 'GET',
    path: '/v1/slos/{id}/status',
    summary: 'Current status of an objective: remaining error budget, burn rates and coverage',
    params: lazySchema(() => z.object({ id: NumericId })),
    response: SloStatus,
  },
});
