import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { thresholdMs } from '../contract/definition/common-fields.ts';
import { Schedule } from '../contract/definition/schedule.ts';
import type { BodyFilters } from '../contract/frequency.ts';

const unitMs = { seconds: 1000, minutes: 60_000, hours: 3_600_000, days: 86_400_000 } as const;
const units = ['seconds', 'minutes', 'hours', 'days'] as const;

const shortestPeriodMs = 30_000;
const longestMs = 365 * unitMs.days;

const keywords = (outcome: string) =>
  z
    .array(z.string().min(1).max(200))
    .max(20)
    .default([])
    .describe(
      `Texts in the body of a ping by POST that make it ${outcome}; upper and lower case differ. For failure, then success, then start, the first match counts`,
    );

/** How often a job sends a ping, and how late a ping may be (check model 1.7). */
const Heartbeat = lazySchema(() =>
  z
    .object({
      period: z
        .number()
        .min(0)
        .nullable()
        .default(null)
        .describe('Expected interval between pings: 30 seconds to 365 days; null with a schedule'),
      periodUnit: z.enum(units).nullable().default(null).describe('Unit of period'),
      schedule: Schedule.schema
        .nullable()
        .default(null)
        .describe('Times at which pings are expected, in place of a period'),
      grace: z
        .number()
        .min(0)
        .describe('Grace time: how late a ping may be before the monitor fails; at most 365 days'),
      graceUnit: z.enum(units),
      failureKeywords: keywords('a failure'),
      successKeywords: keywords('a success: a body without any of them is only logged'),
      startKeywords: keywords('a start'),
      pingToken: z
        .union([z.uuid(), z.literal('')])
        .nullable()
        .default(null)
        .describe(
          'Secret part of the ping URL. The service generates it when it is null, empty or absent. In an update, null generates a new one and "" keeps it. Shown only to keys with write access',
        ),
      pingUrl: z
        .string()
        .max(4096)
        .nullable()
        .default(null)
        .describe('URL for pings: GET, POST or HEAD. Read-only; ignored in requests'),
    })
    .superRefine((heartbeat, context) => {
      const issue = (key: string, message: string) =>
        context.addIssue({ code: 'custom', path: [key], message });
      const { period, periodUnit, schedule } = heartbeat;
      if (schedule !== null && period !== null)
        issue('schedule', 'is in place of a period: leave period empty');
      if (schedule === null && period === null) issue('period', 'is needed without a schedule');
      if (period !== null && periodUnit === null) issue('periodUnit', 'is needed with a period');
      const periodMs = (period ?? 0) * unitMs[periodUnit ?? 'seconds'];
      if (
        period !== null &&
        periodUnit !== null &&
        !(periodMs >= shortestPeriodMs && periodMs <= longestMs)
      ) {
        issue('period', 'must be from 30 seconds to 365 days');
      }
      if (!(heartbeat.grace * unitMs[heartbeat.graceUnit] <= longestMs)) {
        issue('grace', 'must be at most 365 days');
      }
    }),
);

/** The longest time limit of a run, in milliseconds: jobs may run for days. */
export const longestRunMs = 31 * unitMs.days;

export const HeartbeatSpec = lazySchema(() =>
  z.object({
    heartbeat: Heartbeat.schema,
    degradedResponseTime: thresholdMs({ defaultMs: null, maxMs: longestRunMs }).describe(
      'A run of the job that takes longer, in milliseconds from its start to its end, is degraded',
    ),
    maxResponseTime: thresholdMs({ defaultMs: null, maxMs: longestRunMs }).describe(
      'A run of the job that takes longer, in milliseconds, fails; one that has started and not ended by then fails at that time',
    ),
  }),
);
export type HeartbeatSpec = z.output<typeof HeartbeatSpec.schema>;

/** Returns the period, the grace time and the longest run of a monitor, in milliseconds. */
export function limitsOf({ heartbeat, maxResponseTime }: HeartbeatSpec) {
  return {
    periodMs:
      heartbeat.period === null
        ? null
        : Math.round(heartbeat.period * unitMs[heartbeat.periodUnit ?? 'seconds']),
    schedule: heartbeat.schedule,
    graceMs: Math.round(heartbeat.grace * unitMs[heartbeat.graceUnit]),
    longestRunMs: maxResponseTime === null ? null : Math.round(maxResponseTime),
  };
}

/** Texts that the bodies of pings are searched for. */
export function filtersOf({ heartbeat }: HeartbeatSpec): BodyFilters {
  const { failureKeywords: failure, successKeywords: success, startKeywords: start } = heartbeat;
  return { failure, success, start };
}

/** States of the events of checks whose targets send pings: a ping or, as `FAILING`, its absence (check model 3.5). */
export const pingStates = ['EARLY', 'RECEIVED', 'GRACE', 'LATE', 'FAILING'] as const;
export type PingState = (typeof pingStates)[number];

/** States of events that are no results: a job said that it started, or left a message. */
export const noteStates = ['STARTED', 'LOGGED'] as const;
export type EventState = PingState | (typeof noteStates)[number];
export const eventStates = [...pingStates, ...noteStates] as const;

/** Signals of a job by the end of the ping URL; a URL without an end means success. */
export const jobSignals = ['success', 'start', 'fail', 'log', 'exit'] as const;
export type JobSignal = (typeof jobSignals)[number];

/** The first bytes of a ping's body that are kept. */
export const maxBodyBytes = 10_000;
