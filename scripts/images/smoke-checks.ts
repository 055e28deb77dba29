/** Request bodies of the smoke test's checks, by the last part of their path: a passing check of each type. */

const site = 'http://target:8000';
const often = { frequency: 0, frequencyOffset: 10 };
const everyMinute = { frequency: 1, frequencyOffset: 1 };
const isOk = { source: 'STATUS_CODE', comparison: 'EQUALS', target: '200' };
const imports = "import { test, expect } from '@playwright/test';";

export type CheckBody = Readonly<Record<string, unknown>>;

export const probeChecks: Readonly<Record<string, CheckBody>> = {
  // The helper `moment` tests a package that is loaded on demand.
  url: { ...often, request: { url: `${site}/?day={{moment "tomorrow" "YYYY-MM-DD"}}`, assertions: [isOk] } },
  dns: {
    ...often,
    request: {
      ...{ query: 'www.example.test', recordType: 'A', nameServer: 'target', port: 5300 },
      assertions: [{ source: 'TEXT_ANSWER', comparison: 'CONTAINS', target: '192.0.2.1' }],
    },
  },
  tcp: { ...often, request: { hostname: 'target', port: 8000 } },
  icmp: { ...often, request: { hostname: 'target', pingCount: 3 } },
};

/** Additional checks for the full image. */
export const fullChecks: Readonly<Record<string, CheckBody>> = {
  api: {
    ...often,
    request: {
      url: `${site}/json`,
      assertions: [{ source: 'JSON_BODY', property: '$.ok', comparison: 'EQUALS', target: 'true' }],
    },
  },
  multistep: {
    ...everyMinute,
    script: `${imports}
      test('api', async ({ request }) => { expect((await (await request.get('${site}/json')).json()).ok).toBe(true); });`,
  },
  // With the browser's own sandbox, which needs the profile.
  browser: {
    ...everyMinute,
    script: `${imports}
      test.use({ launchOptions: { chromiumSandbox: true } });
      test('page', async ({ page }) => {
        await page.goto('${site}/');
        await expect(page.locator('h1')).toHaveText('Hello');
        await page.screenshot({ path: 'page.png' });
      });`,
  },
};

/** A browser check that runs for some seconds, during which the agent is stopped. */
export const heldBrowserCheck: CheckBody = {
  ...everyMinute,
  script: `${imports}
    test('late', async ({ page }) => {
      await page.goto('${site}/hold');
      await expect(page.locator('h1')).toHaveText('At last');
    });`,
};
