import { z } from 'zod';

const unitMs = { seconds: 1000, minutes: 60_000, hours: 3_600_000, days: 86_400_000 } as const;
const units = ['seconds', 'minutes', 'hours', 'days'] as const;

const shortestPeriodMs = 30_000;
const longestMs = 365 * unitMs.days;

/** How often a job sends a ping, and how late a ping may be (check model 1.7). */
const Heartbeat = z
  .object({
    period: z.number().min(0).describe('Expected interval between pings: 30 seconds to 365 days'),
    periodUnit: z.enum(units),
    grace: z
      .number()
      .min(0)
      .describe('Grace time: how late a ping may be before the monitor fails; at most 365 days'),
    graceUnit: z.enum(units),
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
    const periodMs = heartbeat.period * unitMs[heartbeat.periodUnit];
    if (!(periodMs >= shortestPeriodMs && periodMs <= longestMs)) {
      issue('period', 'must be from 30 seconds to 365 days');
    }
    if (!(heartbeat.grace * unitMs[heartbeat.graceUnit] <= longestMs)) {
      issue('grace', 'must be at most 365 days');
    }
  });

export const HeartbeatSpec = z.object({ heartbeat: Heartbeat });
export type HeartbeatSpec = z.output<typeof HeartbeatSpec>;

/** Returns the period and the grace time of a monitor, in milliseconds. */
export function limitsOf({ heartbeat }: HeartbeatSpec): { periodMs: number; graceMs: number } {
  return {
    periodMs: Math.round(heartbeat.period * unitMs[heartbeat.periodUnit]),
    graceMs: Math.round(heartbeat.grace * unitMs[heartbeat.graceUnit]),
  };
}

/** States of the events of checks whose targets send pings: a ping or, as `FAILING`, its absence (check model 3.5). */
export const pingStates = ['EARLY', 'RECEIVED', 'GRACE', 'LATE', 'FAILING'] as const;
export type PingState = (typeof pingStates)[number];
