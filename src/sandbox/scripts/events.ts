import { beginningOf } from '@picket/lib/text.ts';
import { z } from 'zod';

/**
 * Events of the processes of a run (src/sandbox/program/events.cjs): the runner's, line by line on descriptor 3, and
 * its worker's, in a file. All of them are untrusted: any process in the sandbox can write there. On descriptor 3 a
 * line counts only if it starts with the run's token (`saidWith`); beyond that shape and size are checked.
 */

/** Epoch milliseconds, clamped to the range of a Date. */
const at = z.number().transform((value) => Math.min(Math.max(0, value), 8_640_000_000_000_000));
const text = (maxLength: number) => z.string().transform((value) => beginningOf(value, maxLength));
const ms = z
  .number()
  .min(0)
  .max(7 * 86_400_000);

export const ReportedError = z.object({
  name: text(200),
  message: text(8192),
  stack: text(8192).nullable(),
  /** How long the browser had been starting when the time of the test or the run ran out. */
  launchMs: ms.optional().catch(undefined),
});
export type ReportedError = z.output<typeof ReportedError>;

const Attachments = z
  .array(z.object({ name: text(200), contentType: z.string().max(200), path: z.string().max(4096) }))
  .max(100);

const Step = z.object({
  event: z.literal('step'),
  test: text(200),
  title: text(500),
  category: text(50),
  depth: z.int().min(0).max(100),
  startedAt: at,
  durationMs: z.number().transform((value) => Math.max(0, value)),
  error: text(8192).nullable(),
  location: z.object({ line: z.int(), column: z.int() }).nullable(),
});
export type ReportedStep = z.output<typeof Step>;

const TestEnd = z.object({
  event: z.literal('test-end'),
  test: text(200),
  title: text(1000),
  status: z.enum(['passed', 'failed', 'timedOut', 'skipped', 'interrupted']),
  isExpected: z.boolean(),
  isLast: z.boolean(),
  startedAt: at,
  durationMs: ms,
  /** True for a test that Playwright skipped or never began: an earlier one failed, or the time ran out. */
  didNotRun: z.boolean().optional(),
  errors: z.array(ReportedError).max(50),
  attachments: Attachments,
});
export type ReportedTest = z.output<typeof TestEnd>;

/** Lines on descriptor 3. */
export const RunEvent = z.discriminatedUnion('event', [
  z.object({ event: z.literal('mode'), mode: z.enum(['test', 'plain']) }),
  z.object({ event: z.literal('begin'), at, tests: z.int().nullable() }),
  Step,
  z.object({
    event: z.literal('output'),
    stream: z.enum(['stdout', 'stderr']),
    text: z.string().max(16_384),
    isCollecting: z.boolean(),
  }),
  z.object({ event: z.literal('error'), error: ReportedError }),
  TestEnd,
  z.object({ event: z.literal('end'), at, status: z.string().max(50), durationMs: ms }),
  z.object({ event: z.literal('broken'), error: ReportedError }),
]);
export type RunEvent = z.output<typeof RunEvent>;

const SuiteTest = z.object({
  event: z.literal('suite-test'),
  test: text(200),
  title: text(500),
  file: text(500),
  project: text(200),
  suitePath: z.array(text(200)).max(100),
  status: z.enum(['passed', 'failed', 'timedOut', 'skipped', 'interrupted']),
  isExpected: z.boolean(),
  isLast: z.boolean(),
  retry: z.int().min(0),
  startedAt: at,
  durationMs: ms,
  didNotRun: z.boolean().optional(),
  errors: z.array(ReportedError).max(50),
  attachments: Attachments,
});
export type ReportedSuiteTest = z.output<typeof SuiteTest>;

const SuiteEnd = z.object({
  event: z.literal('suite-end'),
  status: text(50),
  durationMs: ms,
  outcomes: z.object({
    expected: z.int().min(0),
    unexpected: z.int().min(0),
    flaky: z.int().min(0),
    skipped: z.int().min(0),
  }),
});
export type ReportedSuiteEnd = z.output<typeof SuiteEnd>;

/**
 * Lines of a suite's file of notes (src/sandbox/program/suite/suite-reporter.cjs). A command may run Playwright several
 * times.
 */
export const SuiteNote = z.discriminatedUnion('event', [
  z.object({ event: z.literal('suite-begin'), at, playwrightVersion: text(50) }),
  SuiteTest,
  z.object({ event: z.literal('suite-error'), error: ReportedError, file: text(1000).nullable() }),
  SuiteEnd,
]);
export type SuiteNote = z.output<typeof SuiteNote>;

const Finding = z.object({
  event: z.literal('finding'),
  at,
  kind: z.enum(['console', 'network', 'document', 'agent']),
  message: text(8192),
  url: text(2048),
});
export type ReportedFinding = z.output<typeof Finding>;

const measured = z.number().min(0).nullable();

const Page = z.object({
  event: z.literal('page'),
  url: z.string().max(8192),
  timeOrigin: z.number(),
  vitals: z.object({ FCP: measured, LCP: measured, CLS: measured, TBT: measured, TTFB: measured }),
  onContentLoad: measured,
  onLoad: measured,
});
export type ReportedPage = z.output<typeof Page>;

const OpenedBrowser = z.object({
  event: z.literal('browser'),
  /** As Playwright names it: `firefox`; `chromium` for Chrome and Edge, too. */
  name: z.string().max(50),
  version: z.string().max(100),
});
export type ReportedBrowser = z.output<typeof OpenedBrowser>;

/** Lines of the file of notes. */
export const RunNote = z.discriminatedUnion('event', [
  Finding,
  Page,
  OpenedBrowser,
  z.object({ event: z.literal('degraded'), reason: text(8192).nullable() }),
  z.object({ event: z.literal('soft-failure'), test: z.string() }),
  z.object({ event: z.literal('exit-code'), code: z.int() }),
]);
export type RunNote = z.output<typeof RunNote>;

/** Parses a line by its schema; undefined for an invalid line. */
export function readLine<Line extends z.ZodType>(
  schema: Line,
  line: string | undefined,
): z.output<Line> | undefined {
  if (line === undefined) return undefined;
  try {
    return schema.safeParse(JSON.parse(line)).data;
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return undefined;
    throw thrown;
  }
}

/** Returns the text after the run's token; undefined for a line without it, which other code of the run wrote. */
export function saidWith(token: string, line: string): string | undefined {
  const head = `${token} `;
  return line.startsWith(head) ? line.slice(head.length) : undefined;
}
