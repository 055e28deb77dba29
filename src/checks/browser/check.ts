import { defineCheckType } from '../contract/check-type.ts';
import { type Metric, scriptTimeMetric } from '../contract/metric.ts';
import { browserProblems, otherBrowsersOf } from '../script/browsers/check-browsers.ts';
import { BrowserDetail, browserArtifactFields } from '../script/detail.ts';
import { browserFacts } from '../script/facts.ts';
import { scriptForm } from '../script/form.ts';
import { maskedInPlaywrightConfig } from '../script/playwright-config.ts';
import { BrowserSpec } from '../script/spec.ts';
import { browserSummary } from '../script/summary.ts';
import { browserTemplates } from '../script/templates.ts';

const vital = (name: string, label: string, unit: Metric['unit'] = 'ms'): Metric => ({
  name,
  label,
  unit,
  path: ['webVitals', name, 'value'],
  isPerItem: true,
});
const errors = (name: string, label: string): Metric => ({
  name,
  label,
  unit: 'count',
  path: ['traceSummary', name],
});
const pageScript = (url: string) => `import { test, expect } from '@playwright/test';
test('a page', async ({ page }) => {
  expect((await page.goto(${JSON.stringify(url)}))?.status()).toBe(200);
});
`;

export const browser = defineCheckType({
  name: 'BROWSER',
  route: 'browser',
  title: 'Browser check',
  icon: 'browser',
  purpose: 'Runs a Playwright script in Chromium, Firefox or WebKit, with trace, video and web vitals.',
  family: 'scripts',
  lane: 'script',
  needsBrowser: true,
  needsRuntime: true,
  neededBrowsers: otherBrowsersOf,
  hasLiveLog: true,
  usesSnippets: true,
  // A browser and two Node processes (measured: 450 to 550 MB).
  memoryBytes: 600 * 1024 ** 2,
  timeoutMs: 240_000,
  isSubMinuteAllowed: false,
  hasNetworkErrors: false,
  spec: BrowserSpec,
  definitionProblems: browserProblems,
  form: scriptForm,
  templates: browserTemplates,
  masked: maskedInPlaywrightConfig,
  artifactFields: browserArtifactFields,
  detail: BrowserDetail,
  detailKey: 'browserCheckResult',
  facts: browserFacts,
  summary: browserSummary,
  analytics: {
    route: 'browser-checks',
    metrics: [
      scriptTimeMetric,
      vital('TTFB', 'Time To First Byte'),
      vital('FCP', 'First Contentful Paint'),
      vital('LCP', 'Largest Contentful Paint'),
      vital('CLS', 'Cumulative Layout Shift', 'score'),
      vital('TBT', 'Total Blocking Time'),
      errors('consoleErrors', 'Console errors'),
      errors('networkErrors', 'Network errors'),
      errors('userScriptErrors', 'User script errors'),
      errors('documentErrors', 'Document errors'),
    ],
    items: ['pages'],
    dimension: { name: 'pageIndex', path: ['url'], shownAs: 'pageUrl', isNumber: false },
  },
  selfTest: ({ href }) => ({ script: pageScript(href) }),
  load: async () => ({ run: (await import('../script/run.ts')).runBrowserScript }),
});
