import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { HttpLogEntry } from '../http/detail.ts';

const artifactNames = z.array(z.string());

const SuiteError = lazySchema(() =>
  z.object({
    error: z.object({ message: z.string(), stack: z.string().nullable() }),
    testTitle: z.string().nullable().describe('null outside of tests, as are the following'),
    testFile: z.string().nullable(),
    projectName: z.string().nullable(),
    suitePath: z.array(z.string()),
    specId: z.string().nullable(),
  }),
);
export type SuiteError = z.infer<typeof SuiteError.schema>;

const SuiteTest = lazySchema(() =>
  z.object({
    title: z.string(),
    file: z.string(),
    projectName: z.string(),
    suitePath: z.array(z.string()),
    status: z.enum(['passed', 'failed', 'timedOut', 'skipped', 'interrupted']),
    retry: z.int().describe('0 is the first attempt'),
    durationMs: z.number(),
    didNotRun: z
      .boolean()
      .optional()
      .describe(
        'true for a test that did not run because an earlier one failed or no time was left; its status is skipped',
      ),
  }),
);

/** Result of a run of a Playwright suite, shown as `playwrightCheckResult` (check model 3.2). */
export const PlaywrightDetail = lazySchema(() =>
  z
    .object({
      errors: z.array(SuiteError.schema),
      stats: z
        .object({ expected: z.int(), unexpected: z.int(), flaky: z.int(), skipped: z.int() })
        .nullable()
        .describe('Tests by outcome, as Playwright counts them; null if it did not finish'),
      tests: z.array(SuiteTest.schema).describe('Every attempt of every test, the first 1000'),
      startTime: z.number().describe('Epoch milliseconds'),
      endTime: z.number().describe('Epoch milliseconds'),
      playwrightVersion: z.string().nullable(),
      packageManager: z.string().nullable(),
      install: z
        .object({
          source: z.enum(['none', 'cache', 'installed']).describe('cache: an earlier run installed it'),
          durationMs: z.number(),
        })
        .nullable()
        .describe('null if it did not finish'),
      peakMemoryBytes: z.number(),
      cpuMs: z.number(),
      jobLog: z.array(HttpLogEntry.schema),
      jobAssets: artifactNames.describe('Screenshots'),
      playwrightTestVideos: artifactNames,
      playwrightTestTraces: artifactNames,
      playwrightTestJsonReportFile: z.string().nullable(),
    })
    .meta({ id: 'PlaywrightCheckDetail' }),
);
export type PlaywrightDetail = z.infer<typeof PlaywrightDetail.schema>;

/** Fields that name artifacts. */
export const playwrightArtifactFields = [
  'jobAssets',
  'playwrightTestVideos',
  'playwrightTestTraces',
  'playwrightTestJsonReportFile',
] as const;
