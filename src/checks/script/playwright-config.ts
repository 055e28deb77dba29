import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import type { MaskedValue } from '../contract/masking.ts';

const maxTimeoutMs = 240_000;
const timeoutMs = z.int().min(0).max(maxTimeoutMs).optional();
const text = z.string().max(2000).optional();
const flag = z.boolean().optional();
const record = z.record(z.string().max(200), z.unknown());
const size = z.object({ width: z.int().min(1).max(10_000), height: z.int().min(1).max(10_000) });

/** Options of a page and its context, as Playwright Test accepts them under `use`. */
const Use = lazySchema(() =>
  z.object({
    browserName: z
      .enum(['chromium', 'firefox', 'webkit'])
      .optional()
      .describe('The browser of tests that choose none, before the first of `browsers`'),
    channel: z.enum(['chrome', 'msedge']).optional().describe('Google Chrome or Microsoft Edge'),
    baseURL: text.describe('Base URL for relative addresses such as "/" in goto() and requests'),
    actionTimeout: timeoutMs,
    navigationTimeout: timeoutMs,
    extraHTTPHeaders: record
      .refine(
        (headers) => Object.values(headers).every((value) => typeof value === 'string'),
        'must have strings as values',
      )
      .optional(),
    httpCredentials: z
      .object({
        username: z.string().max(1000),
        password: z.string().max(1000),
        origin: text,
        send: z.enum(['unauthorized', 'always']).optional(),
      })
      .optional(),
    ignoreHTTPSErrors: flag,
    userAgent: text,
    viewport: size.nullable().optional(),
    deviceScaleFactor: z.number().min(0.1).max(10).optional(),
    isMobile: flag,
    hasTouch: flag,
    locale: text,
    timezoneId: text,
    geolocation: z
      .object({ latitude: z.number(), longitude: z.number(), accuracy: z.number().min(0).optional() })
      .optional(),
    permissions: z.array(z.string().max(100)).max(50).optional(),
    colorScheme: z.enum(['light', 'dark', 'no-preference']).nullable().optional(),
    javaScriptEnabled: flag,
    acceptDownloads: flag,
    bypassCSP: flag,
    offline: flag,
    testIdAttribute: text,
    proxy: z
      .object({ server: z.string().max(2000), bypass: text, username: text, password: text })
      .optional()
      .describe('Replaces the proxy of the location'),
    launchOptions: z
      .looseObject({
        args: z.array(z.string().max(1000)).max(100).optional(),
        slowMo: timeoutMs,
        timeout: timeoutMs,
      })
      .optional()
      .describe('Launch options of the browser; it always runs headless, with the executable of the agent'),
    contextOptions: z
      .looseObject({
        reducedMotion: z.enum(['reduce', 'no-preference']).nullable().optional(),
        forcedColors: z.enum(['active', 'none']).nullable().optional(),
        strictSelectors: flag,
      })
      .optional(),
  }),
);

/** Tolerated difference between pictures. */
const Tolerance = {
  maxDiffPixels: z.int().min(0).optional(),
  maxDiffPixelRatio: z.number().min(0).max(1).optional(),
  threshold: z.number().min(0).max(1).optional(),
};

const Expect = lazySchema(() =>
  z.object({
    timeout: timeoutMs,
    toHaveScreenshot: z
      .object({
        ...Tolerance,
        animations: z.enum(['disabled', 'allow']).optional(),
        caret: z.enum(['hide', 'initial']).optional(),
        scale: z.enum(['css', 'device']).optional(),
      })
      .optional(),
    toMatchSnapshot: z.object(Tolerance).optional(),
    toPass: z
      .object({ timeout: timeoutMs, intervals: z.array(z.number().min(0)).max(100).optional() })
      .optional(),
  }),
);

/** Options of a project, without those that API responses never show: they have one place only. */
const ProjectUse = lazySchema(() => Use.schema.omit({ httpCredentials: true, proxy: true }));

/** Playwright Test settings for the script of a check. */
export const PlaywrightConfig = lazySchema(() =>
  z
    .object({
      timeout: timeoutMs.describe('Timeout of one test in milliseconds; 0: only the limit of the run'),
      use: Use.schema.optional(),
      expect: Expect.schema.optional(),
      projects: z
        .array(
          z.object({
            name: z.string().min(1).max(100),
            timeout: timeoutMs,
            use: ProjectUse.schema.optional(),
            expect: Expect.schema.optional(),
          }),
        )
        .max(10)
        .optional()
        .describe('Every test runs once for each project, one after the other'),
    })
    .nullable()
    .default(null)
    .describe('Settings of Playwright Test, as in its configuration file; without effect on plain scripts'),
);
export type PlaywrightConfig = z.output<typeof PlaywrightConfig.schema>;

/** Its values that API responses never show. */
export const maskedInPlaywrightConfig: readonly MaskedValue[] = [
  {
    path: ['playwrightConfig', 'use', 'httpCredentials', 'password'],
    sentTo: [
      ['playwrightConfig', 'use', 'httpCredentials', 'origin'],
      ['playwrightConfig', 'use', 'baseURL'],
    ],
  },
  {
    path: ['playwrightConfig', 'use', 'proxy', 'password'],
    sentTo: [['playwrightConfig', 'use', 'proxy', 'server']],
  },
];
