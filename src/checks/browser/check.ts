import { defineCheckType } from '../check-type.ts';
import { BrowserDetail, browserArtifactFields } from '../script/detail.ts';
import { ScriptSpec } from '../script/spec.ts';

const pageScript = (url: string) => `import { test, expect } from '@playwright/test';
test('a page', async ({ page }) => {
  expect((await page.goto(${JSON.stringify(url)}))?.status()).toBe(200);
});
`;

export const browser = defineCheckType({
  name: 'BROWSER',
  route: 'browser',
  title: 'Browser check',
  lane: 'script',
  needsBrowser: true,
  needsRuntime: true,
  usesSnippets: true,
  timeoutMs: 240_000,
  isSubMinuteAllowed: false,
  hasNetworkErrors: false,
  spec: ScriptSpec,
  artifactFields: browserArtifactFields,
  detail: BrowserDetail,
  detailKey: 'browserCheckResult',
  selfTest: ({ href }) => ({ script: pageScript(href) }),
  load: async () => ({ run: (await import('../script/run.ts')).runBrowserScript }),
});
