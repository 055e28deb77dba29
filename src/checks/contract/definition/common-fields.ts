import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { regions } from '../../tables/regions.ts';
import { runtimeIds } from '../../tables/runtimes.ts';
import { frequencies } from '../frequency.ts';
import { Dependencies, ScriptPath } from '../lifecycle.ts';
import type { MaskedValue } from '../masking.ts';
import { ActiveHours } from './active-hours.ts';
import { Schedule } from './schedule.ts';

export const AlertSettings = lazySchema(() =>
  z
    .object({
      escalationType: z
        .enum(['RUN_BASED', 'TIME_BASED', 'RATIO_BASED', 'COUNT_BASED'])
        .default('RUN_BASED')
        .describe(
          'When a failing check raises an alert: after n failed runs in a row, after n minutes, after x failures in the last y runs, or after n failures within m minutes',
        ),
      runBasedEscalation: z.object({ failedRunThreshold: z.int().min(1).max(5).default(1) }).prefault({}),
      timeBasedEscalation: z
        .object({ minutesFailingThreshold: z.literal([5, 10, 15, 30]).default(5) })
        .prefault({}),
      ratioBasedEscalation: z
        .object({
          failedRunThreshold: z.int().min(1).max(20).default(3),
          runs: z.int().min(2).max(20).default(5).describe('Number of recent runs to consider'),
        })
        .refine(({ failedRunThreshold, runs }) => failedRunThreshold <= runs, {
          path: ['failedRunThreshold'],
          message: 'must not be more than "runs"',
        })
        .prefault({}),
      countBasedEscalation: z
        .object({
          failedRunThreshold: z.int().min(1).max(20).default(3),
          minutes: z.int().min(1).max(1440).default(15).describe('Period to consider'),
        })
        .prefault({}),
      flapping: z
        .object({
          enabled: z.boolean().default(true),
          changes: z
            .int()
            .min(2)
            .max(50)
            .default(5)
            .describe('More state changes than this count as flapping'),
          minutes: z.int().min(1).max(1440).default(60).describe('Period in minutes'),
          stableMinutes: z
            .int()
            .min(1)
            .max(1440)
            .default(30)
            .describe('Flapping ends when the state has not changed for this many minutes'),
        })
        .prefault({})
        .describe('Send one notification for a flapping check, and no others until it is stable'),
      monitoringGap: z
        .object({
          enabled: z.boolean().default(true),
          slots: z
            .int()
            .min(1)
            .max(100)
            .default(5)
            .describe('Number of slots in a row without a measurement'),
          minutes: z
            .int()
            .min(1)
            .max(1440)
            .default(15)
            .describe('Minutes since the first missed slot was due; the earlier limit applies'),
        })
        .prefault({})
        .describe('When to notify that a check is not measured at one of its locations'),
      reminders: z
        .object({
          amount: z.literal([0, 1, 2, 3, 4, 5, 100_000]).default(0),
          interval: z.literal([1, 2, 3, 4, 5, 10, 15, 30]).default(5),
        })
        .prefault({}),
      parallelRunFailureThreshold: z
        .object({
          enabled: z.boolean().default(false),
          percentage: z.literal([10, 20, 30, 40, 50, 60, 70, 80, 90, 100]).default(10),
        })
        .prefault({}),
    })
    .meta({ id: 'AlertSettings' }),
);
export type AlertSettings = z.infer<typeof AlertSettings.schema>;

const backoffSeconds = z.number().min(0).max(600).default(60).describe('Wait before a retry, in seconds');
const onlyOnMeaning = 'Retry only after network errors: the target did not respond';
const networkErrors = z.array(z.literal('NETWORK_ERROR')).length(1);
const retryTypes = z.enum(['FIXED', 'LINEAR', 'EXPONENTIAL', 'SINGLE_RETRY']);
const retryDefaults = { maxRetries: 2, maxDurationSeconds: 600 } as const;

const WrittenRetryStrategy = lazySchema(() =>
  z
    .object({
      type: retryTypes.default('FIXED'),
      baseBackoffSeconds: backoffSeconds,
      sameRegion: z.boolean().default(true),
      maxRetries: z.int().min(1).max(10).optional().describe('Default 2; not allowed for SINGLE_RETRY'),
      maxDurationSeconds: z
        .number()
        .min(0)
        .max(600)
        .optional()
        .describe('Default 600; not allowed for SINGLE_RETRY'),
      onlyOn: z
        .union([networkErrors, z.literal('NETWORK_ERROR')])
        .optional()
        .describe(onlyOnMeaning),
    })
    .superRefine((strategy, context) => {
      if (strategy.type !== 'SINGLE_RETRY') return;
      for (const key of ['maxRetries', 'maxDurationSeconds'] as const) {
        if (strategy[key] !== undefined) {
          context.addIssue({
            code: 'custom',
            path: [key],
            message: 'is not allowed when type is SINGLE_RETRY',
          });
        }
      }
    }),
);

const WholeRetryStrategy = lazySchema(() =>
  z.object({
    type: retryTypes,
    baseBackoffSeconds: z.number().describe('Wait before a retry, in seconds'),
    sameRegion: z.boolean(),
    maxRetries: z.int().optional().describe('Absent for SINGLE_RETRY'),
    maxDurationSeconds: z.number().optional().describe('Absent for SINGLE_RETRY'),
    onlyOn: networkErrors.optional().describe(onlyOnMeaning),
  }),
);

/**
 * How failed runs are repeated; null means no retries. In requests, `type` may be omitted and is then FIXED, and
 * `onlyOn` may be a single word. Stored and returned strategies are complete: every relevant field has a value, and
 * `onlyOn` is a list.
 */
export const RetryStrategy = lazySchema(() =>
  z
    .codec(WrittenRetryStrategy.schema, WholeRetryStrategy.schema, {
      decode: ({ onlyOn, ...written }) => ({
        ...(written.type === 'SINGLE_RETRY' ? {} : retryDefaults),
        ...written,
        ...(onlyOn === undefined ? {} : { onlyOn: [onlyOn].flat() }),
      }),
      encode: (whole) => whole,
    })
    .meta({ id: 'RetryStrategy' }),
);
export type RetryStrategy = z.infer<typeof RetryStrategy.schema>;

export const TriggerIncident = lazySchema(() =>
  z
    .object({
      serviceId: z.uuid(),
      severity: z.enum(['CRITICAL', 'MAJOR', 'MEDIUM', 'MINOR']).default('MAJOR'),
      name: z.string().min(1).max(255),
      description: z.string(),
      notifySubscribers: z.boolean(),
    })
    .meta({ id: 'TriggerIncident' }),
);

export const EnvironmentVariable = lazySchema(() =>
  z
    .object({
      key: z.string().min(1),
      value: z.string().nullable(),
      locked: z.boolean().default(false),
      secret: z.boolean().default(false),
    })
    .meta({ id: 'EnvironmentVariable' }),
);
export type EnvironmentVariable = z.infer<typeof EnvironmentVariable.schema>;

/** Stored, but never used to run anything (spec.md shows it for every check kind). */
const snippetId = z.int().nullable().default(null);

const signaturePattern = /^[\w-]+\.[\w-]+\.[\w-]{86}$/;

/** Fields every check has, with their defaults and bounds (spec.md, "Check (common fields)"). */
export const CommonFields = lazySchema(() =>
  z.object({
    name: z.string().min(1).max(255).describe('Name of the check'),
    activated: z.boolean().default(true).describe('Active: the scheduler runs the check'),
    muted: z.boolean().default(false).describe('Mute: send no notifications on failure or recovery'),
    doubleCheck: z
      .boolean()
      .default(true)
      .meta({ deprecated: true, description: 'Deprecated: use retryStrategy' }),
    shouldFail: z.boolean().default(false).describe('Inverts the failure condition'),
    locations: z.array(z.enum(regions)).nullable().default([]),
    privateLocations: z
      .array(z.string().min(1).max(30))
      .nullable()
      .default([])
      .describe('Private locations that run the check, by slugName'),
    tags: z.array(z.string().min(1)).default([]),
    alertSettings: AlertSettings.schema.prefault({}),
    useGlobalAlertSettings: z.boolean().default(true),
    groupId: z.int().nullable().default(null),
    groupOrder: z.int().min(0).nullable().default(null),
    runtimeId: z.enum(runtimeIds).nullable().default(null),
    alertChannelSubscriptions: z
      .array(z.object({ alertChannelId: z.int(), activated: z.boolean().default(true) }))
      .default([]),
    retryStrategy: RetryStrategy.schema.nullable().default(null),
    triggerIncident: TriggerIncident.schema.nullable().default(null),
    parentCheckIds: z
      .array(z.uuid())
      .max(20)
      .default([])
      .describe('Checks that this check depends on. While one of them fails, both share an alert'),
    runParallel: z.boolean().default(false).describe('Run at all selected locations at once'),
    description: z.string().max(500).nullable().default(null),
    frequency: z.literal(frequencies).default(10).describe('Minutes between runs'),
    frequencyOffset: z
      .int()
      .min(1)
      .optional()
      .describe(
        'Offset of the check within its interval. frequency 0: 10, 20 or 30, the seconds between runs; ' +
          'frequency 1 to 60: from 1 to floor(frequency * 10); frequency above 60: from 1 to ceil(frequency / 60). ' +
          'Chosen by the service when absent',
      ),
    schedule: Schedule.schema
      .nullable()
      .default(null)
      .describe('Times at which the check runs, in place of frequency, which then has no effect'),
    frequencyWhileFailing: z
      .literal(frequencies)
      .nullable()
      .default(null)
      .describe(
        'Minutes between runs while the check fails, fewer than frequency; 0: every 30 seconds; null: as always',
      ),
    activeHours: ActiveHours.schema
      .nullable()
      .default(null)
      .describe('Hours in which the check runs; null: at all times, or as its group says'),
    environmentVariables: z.array(EnvironmentVariable.schema).max(100).nullable().default([]),
    scriptPath: z.string().nullable().default(null),
    sslCheckDomain: z.string().nullable().default(null),
    setupSnippetId: snippetId,
    tearDownSnippetId: snippetId,
    localSetupScript: z.string().nullable().default(null),
    setupScriptPath: ScriptPath.describe('Path of localSetupScript among its dependencies'),
    setupScriptDependencies: Dependencies.describe('Files that localSetupScript imports'),
    localTearDownScript: z.string().nullable().default(null),
    tearDownScriptPath: ScriptPath.describe('Path of localTearDownScript among its dependencies'),
    tearDownScriptDependencies: Dependencies.describe('Files that localTearDownScript imports'),
    signature: z
      .string()
      .max(100_000)
      .regex(signaturePattern, 'must be a signature that "picket deploy --sign" made')
      .nullable()
      .default(null)
      .describe('Signature of everything that decides what runs, for agents with TRUSTED_KEYS'),
  }),
);
export type CommonFields = z.output<typeof CommonFields.schema>;

/** The common fields whose values API responses never show. */
export const maskedInCommon: readonly MaskedValue[] = [
  { path: ['environmentVariables'], flags: ['secret', 'locked'] },
];

/** An optional response-time threshold in milliseconds; null means no limit. */
export const thresholdMs = (options: { readonly defaultMs: number | null; readonly maxMs: number }) =>
  z.number().min(0).max(options.maxMs).nullable().default(options.defaultMs);
