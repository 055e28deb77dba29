import type { Lane } from '@picket/checks/contract/check-type.ts';
import { checkTypes } from '@picket/checks/index.ts';
import { type LogLevel, logLevels } from '@picket/lib/log.ts';
import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';

const runnableTypes = checkTypes.filter(({ load }) => load !== undefined).map(({ name }) => name);

/**
 * The settings that a location asks of its agents. Each agent applies it within its own environment, which is the upper bound: the
 * service can take away, and never add.
 */
export const LocationAgentSettings = lazySchema(() =>
  z
    .object({
      checkTypes: z
        .array(z.enum(runnableTypes))
        .max(runnableTypes.length)
        .default([])
        .describe('Check types that the agents run, of those that CHECK_TYPES allows; empty: all of these'),
      probeConcurrency: z
        .int()
        .min(1)
        .max(1000)
        .nullable()
        .default(null)
        .describe(
          'Probe checks that an agent runs at the same time, up to its PROBE_CONCURRENCY; null: that many',
        ),
      scriptConcurrency: z
        .int()
        .min(1)
        .max(10)
        .nullable()
        .default(null)
        .describe(
          'Script checks that an agent runs at the same time, up to its JOB_CONCURRENCY; null: that many',
        ),
      logLevel: z
        .enum(logLevels)
        .nullable()
        .default(null)
        .describe('Minimum log level of the agents, where their LOG_LEVEL is not higher; null: LOG_LEVEL'),
      isDraining: z
        .boolean()
        .default(false)
        .describe('The agents take no new runs, finish those that they have, and stay connected'),
    })
    .meta({ id: 'LocationAgentSettings' }),
);
export type LocationAgentSettings = z.output<typeof LocationAgentSettings.schema>;

/** Settings of a location without any. */
export const noAgentSettings: LocationAgentSettings = LocationAgentSettings.parse({});

const revision = z.string().regex(/^[0-9a-f]{0,64}$/, 'must be hexadecimal digits');

/** The same as agents read it: a newer service may know other types and levels. */
export const SentAgentSettings = lazySchema(() =>
  z
    .object({
      checkTypes: z.array(z.string().max(64)).max(1000).default([]),
      probeConcurrency: z.int().min(1).nullable().default(null),
      scriptConcurrency: z.int().min(1).nullable().default(null),
      logLevel: z.string().max(64).nullable().default(null),
      isDraining: z.boolean().default(false),
      revision: revision.default('').describe('Changes with the settings; the next claims name it'),
    })
    .meta({ id: 'SentAgentSettings' }),
);
export type SentAgentSettings = z.output<typeof SentAgentSettings.schema>;

/** The settings that an agent applies. Its types and lanes are in its claim anyway. */
export const AppliedAgentSettings = lazySchema(() =>
  z
    .object({
      logLevel: z
        .string()
        .max(64)
        .regex(/^[a-z]+$/, 'must be lower-case letters')
        .describe('The log level that is in force'),
      isDraining: z.boolean().describe('Whether the agent takes no new runs'),
      revision: revision
        .default('')
        .describe('Which settings these are; empty: the agent knows of none. It gets others at once'),
    })
    .meta({ id: 'AppliedAgentSettings' }),
);
export type AppliedAgentSettings = z.output<typeof AppliedAgentSettings.schema>;

/** The field of each lane. */
export const concurrencyFields = {
  probe: 'probeConcurrency',
  script: 'scriptConcurrency',
} as const satisfies Record<Lane, keyof LocationAgentSettings>;

/** Severity of a level: a higher one writes less. An unknown level writes as much as any. */
export function severityOf(level: string): number {
  return logLevels.indexOf(level as LogLevel);
}
