import { defineCheckType } from '../contract/check-type.ts';
import { scriptTimeMetric } from '../contract/metric.ts';
import { PlaywrightDetail, playwrightArtifactFields } from './detail.ts';
import { playwrightFacts } from './facts.ts';
import { defaultTestCommand, PlaywrightSpec } from './spec.ts';
import { summaryOf } from './summary.ts';

export const playwright = defineCheckType({
  name: 'PLAYWRIGHT',
  route: 'playwright',
  title: 'Playwright suite',
  icon: 'beaker',
  purpose: 'Runs a Playwright test suite with its own configuration and dependencies.',
  family: 'scripts',
  lane: 'script',
  needsSuites: true,
  hasLiveLog: true,
  neededBrowsers: ({ browsers }) => browsers.filter((name) => name !== 'chromium'),
  // Four workers, each with a browser, unless the suite sets another number (measured with two: 1.0 GB).
  memoryBytes: 1536 * 1024 ** 2,
  // 5 minutes to install, 30 to test, and the time between.
  timeoutMs: 37 * 60_000,
  isSubMinuteAllowed: false,
  hasNetworkErrors: false,
  spec: PlaywrightSpec,
  form: {
    codeBundlePath: {
      label: 'Code bundle',
      hint: 'The suite as a tar.gz, with its lockfile.',
      isFirst: true,
      picker: 'bundles',
    },
    testCommand: { label: 'Test command', isCode: true, isFirst: true },
    installCommand: { label: 'Install command', isCode: true },
    workingDir: { label: 'Folder in the bundle' },
    browsers: { label: 'Browsers' },
    engineVersion: { label: 'Version of the engine' },
    playwrightVersion: { label: 'Version of Playwright' },
    cacheHash: { label: 'Key of the cache' },
  },
  templates: [
    { title: 'All tests', fields: { testCommand: defaultTestCommand } },
    { title: 'Tests with the tag @smoke', fields: { testCommand: `${defaultTestCommand} --grep @smoke` } },
    { title: 'One project: chromium', fields: { testCommand: `${defaultTestCommand} --project chromium` } },
  ],
  artifactFields: playwrightArtifactFields,
  detail: PlaywrightDetail,
  detailKey: 'playwrightCheckResult',
  shorthand: { names: ['SUITE'] },
  facts: playwrightFacts,
  summary: summaryOf,
  failedTests: ({ errors }) =>
    errors.flatMap(({ error, testTitle, testFile, projectName, suitePath }) =>
      testTitle === null
        ? []
        : [
            {
              message: error.message,
              projectName: projectName ?? '',
              testFile: testFile ?? '',
              testTitle,
              suitePath,
            },
          ],
    ),
  analytics: { route: 'playwright-checks', metrics: [scriptTimeMetric] },
  load: async () => ({ run: (await import('./run.ts')).runPlaywrightSuite }),
});
