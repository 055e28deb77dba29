import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { HttpLogEntry } from '../http/detail.ts';
import { ThrottlingDetail } from './throttling.ts';

const artifactNames = z.array(z.string());

const ScriptError = lazySchema(() =>
  z.object({
    name: z.string(),
    message: z.string(),
    stack: z.string().nullable(),
    test: z.string().nullable().describe('Title of the test; null outside of tests'),
  }),
);

const ScriptStep = lazySchema(() =>
  z.object({
    test: z.string(),
    title: z.string(),
    category: z.string().describe('test.step, pw:api, expect, hook, fixture, …'),
    depth: z.int(),
    startedAt: z.number().describe('Epoch milliseconds'),
    durationMs: z.number(),
    error: z.string().nullable(),
    location: z.object({ line: z.int(), column: z.int() }).nullable(),
  }),
);

const ScriptTest = lazySchema(() =>
  z.object({
    title: z.string(),
    status: z.enum(['passed', 'failed', 'timedOut', 'skipped', 'interrupted']),
    startedAt: z.number().describe('Epoch milliseconds'),
    durationMs: z.number(),
    didNotRun: z
      .boolean()
      .optional()
      .describe(
        'true for a test that did not run because an earlier one failed or no time was left; its status is skipped',
      ),
  }),
);

/** Result of a run of a multi-step check, shown as `multiStepCheckResult` (check model 3.2). */
export const MultiStepDetail = lazySchema(() =>
  z
    .object({
      errors: z.array(ScriptError.schema),
      startTime: z.number().describe('Epoch milliseconds'),
      endTime: z.number().describe('Epoch milliseconds'),
      runtimeVersion: z.string(),
      isMarkedDegraded: z.boolean(),
      degradedReason: z.string().nullable(),
      tests: z.array(ScriptTest.schema),
      steps: z.array(ScriptStep.schema),
      peakMemoryBytes: z.number(),
      cpuMs: z.number(),
      jobLog: z.array(HttpLogEntry.schema),
      jobAssets: artifactNames,
      playwrightTestTraces: artifactNames,
      playwrightTestJsonReportFile: z.string().nullable(),
    })
    .meta({ id: 'MultiStepCheckDetail' }),
);
export type MultiStepDetail = z.infer<typeof MultiStepDetail.schema>;

const WebVital = lazySchema(() =>
  z
    .object({ score: z.enum(['GOOD', 'NEEDS_IMPROVEMENT', 'POOR']), value: z.number() })
    .nullable()
    .describe('null if the page did not report it'),
);

export const ScriptPage = lazySchema(() =>
  z.object({
    url: z.string(),
    webVitals: z.object({
      CLS: WebVital.schema,
      FCP: WebVital.schema,
      LCP: WebVital.schema,
      TBT: WebVital.schema,
      TTFB: WebVital.schema,
    }),
    pageTimings: z
      .object({ onContentLoad: z.number().nullable(), onLoad: z.number().nullable() })
      .describe('Milliseconds since the navigation began'),
  }),
);
export type ScriptPage = z.infer<typeof ScriptPage.schema>;

/** Result of a run of a browser check, shown as `browserCheckResult` (check model 3.2). */
export const BrowserDetail = lazySchema(() =>
  z
    .object({
      ...MultiStepDetail.shape,
      type: z.enum(['PLAYWRIGHT', 'PLAYWRIGHT_TEST']),
      traceSummary: z.object({
        consoleErrors: z.int(),
        networkErrors: z.int(),
        documentErrors: z.int(),
        userScriptErrors: z.int(),
      }),
      pages: z.array(ScriptPage.schema),
      pageErrors: z.array(
        z.object({
          kind: z.enum(['console', 'network', 'document']),
          message: z.string(),
          url: z.string(),
          time: z.number().describe('Epoch milliseconds'),
        }),
      ),
      playwrightTestVideos: artifactNames,
      browsers: z
        .array(z.object({ name: z.string(), version: z.string() }))
        .optional()
        .describe(
          'Browsers that the script opened, by their names in Playwright; absent in results of older agents',
        ),
      throttling: ThrottlingDetail.schema.optional().describe('Limits of the network that the browser had'),
      snapshots: z
        .array(z.object({ path: z.string().max(1000), artifact: z.string() }))
        .optional()
        .describe('New reference screenshots of the run, by their path among the files of the check'),
    })
    .meta({ id: 'BrowserCheckDetail' }),
);
export type BrowserDetail = z.infer<typeof BrowserDetail.schema>;

/** Fields that name artifacts. */
export const multiStepArtifactFields = [
  'jobAssets',
  'playwrightTestTraces',
  'playwrightTestJsonReportFile',
] as const;
export const browserArtifactFields = [...multiStepArtifactFields, 'playwrightTestVideos'] as const;
