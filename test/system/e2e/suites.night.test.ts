import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest';
import type { PlaywrightDetail } from '../../../src/checks/playwright/detail.ts';
import { AgentProcess } from '../../helpers/agent/agent-process.ts';
import { until } from '../../helpers/picket-process.ts';
import { runtimesDirectory } from '../../helpers/scripts/script-stage.ts';
import { packFiles } from '../../helpers/scripts/suite-bundle.ts';
import { registryVariables } from '../../helpers/scripts/suite-stage.ts';
import {
  createLocation,
  openHarness,
  type ServiceHarness,
  temporaryFolder,
} from '../../helpers/service/service.ts';
import { processesWhere } from '../sandbox/processes.ts';

/** Much shorter than a run, so that the lease must be renewed. */
const leaseTtlMs = 2000;
const largeBytes = 40 * 2 ** 20;
const fixture = (name: string) => readFileSync(join(import.meta.dirname, 'fixtures/suite', name), 'utf8');

interface Result {
  readonly id: string;
  readonly hasFailures: boolean;
  readonly hasErrors: boolean;
  readonly responseTime: number;
  readonly failure: { readonly code: string; readonly owner: string; readonly message: string } | null;
  readonly playwrightCheckResult: PlaywrightDetail;
  readonly artifacts: readonly { readonly state: string }[];
}

const files = {
  'package.json': fixture('package.json'),
  'package-lock.json': fixture('package-lock.json'),
  'e2e/playwright.config.ts': `import { defineConfig } from '@playwright/test';
    export default defineConfig({ testDir: './tests', retries: 1, workers: 1, projects: [{ name: 'one' }, { name: 'two' }] });`,
  'e2e/tests/shop.spec.ts': `import { statSync } from 'node:fs';
    import { test, expect } from '@playwright/test';
    test('opens the shop @smoke', async ({ page }) => {
      await page.goto(process.env.TARGET!);
      await expect(page.locator('h1')).toHaveText('Shop');
      expect(statSync('large.bin').size).toBe(Number(process.env.LARGE_BYTES));
      expect([process.env.SERVICE, process.env.CI]).toEqual(['1', undefined]);
    });
    test('passes the second time @smoke', ({}, info) => { expect(info.retry).toBe(1); });
    test('is not asked for', () => { throw new Error('it was run'); });`,
};

describe('Playwright suites: a real service, a real agent', () => {
  let harness: ServiceHarness;
  let url: string;
  let agent: AgentProcess;
  const scripts = temporaryFolder();
  const spool = temporaryFolder();
  let missing: string | undefined;
  let variables: { key: string; value: string }[];
  const target = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Shop</h1>');
  });

  beforeAll(async () => {
    if (!existsSync(join(runtimesDirectory, 'package-managers/node_modules'))) {
      missing = 'no package managers are installed: npm run runtimes:install package-managers';
      return;
    }
    await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve));
    const targetUrl = `http://127.0.0.1:${(target.address() as AddressInfo).port}`;
    variables = Object.entries({
      ...(await registryVariables()),
      TARGET: targetUrl,
      LARGE_BYTES: String(largeBytes),
    }).map(([key, value]) => ({
      key,
      value,
    }));
    harness = await openHarness({ leaseTtlMs });
    url = await harness.app.listen({ port: 0, host: '127.0.0.1' });
    harness.startLeaseSweep();
    const location = await createLocation(harness, 'lab');
    agent = new AgentProcess({
      SERVICE_URL: url,
      API_KEY: location.key,
      RUNTIMES_DIR: runtimesDirectory,
      SCRIPTS_DIR: scripts.path,
      SPOOL_DIR: spool.path,
      ALLOW_UNISOLATED_SCRIPTS: 'true',
      ...(process.env.CHROMIUM_PATH ? { CHROMIUM_PATH: process.env.CHROMIUM_PATH } : {}),
    });
    const { checkTypes } = await agent.logged('script sandbox ready', 90_000);
    expect(checkTypes).toContain('PLAYWRIGHT');
    if (!(checkTypes as string[]).includes('BROWSER')) missing = 'this machine has no browser';
  }, 180_000);
  afterAll(async () => {
    await agent?.kill();
    await harness?.close();
    target.close();
    scripts.remove();
    spool.remove();
  }, 180_000);

  const needsAll = (context: TestContext) => missing && context.skip(missing);

  async function upload(bundle: Readonly<Record<string, string | Buffer>>): Promise<string> {
    const bytes = await packFiles(bundle);
    const answer = await fetch(new URL('/v1/code-bundles', url), {
      method: 'POST',
      headers: {
        authorization: `Bearer ${harness.key}`,
        'content-type': 'application/octet-stream',
        'x-bundle-checksum-sha256': createHash('sha256').update(bytes).digest('hex'),
      },
      body: new Uint8Array(bytes),
    });
    expect(answer.status).toBe(201);
    return ((await answer.json()) as { key: string }).key;
  }

  async function createSuite(fields: Readonly<Record<string, unknown>>): Promise<string> {
    const { status, body } = await harness.call('POST', '/v1/checks/playwright', {
      name: 'suite',
      frequency: 1440,
      locations: [],
      privateLocations: ['lab'],
      environmentVariables: variables,
      ...fields,
    });
    expect(status, JSON.stringify(body)).toBe(201);
    return body.id;
  }

  async function trigger(checkId: string): Promise<string> {
    const { body } = await harness.call('POST', '/v1/check-sessions/trigger', { target: { checkId } });
    return body.sessions[0].checkSessionId;
  }

  async function run(checkId: string): Promise<Result> {
    const session = await trigger(checkId);
    let resultId: string | undefined;
    await until(
      'the session ends',
      async () => {
        const { body } = await harness.call('GET', `/v1/check-sessions/${session}`);
        resultId = body.results?.[0]?.checkResultId;
        return !['PENDING', 'RUNNING', 'PROGRESS'].includes(body.status) && resultId !== undefined;
      },
      { timeoutMs: 90_000 },
    );
    let result: Result | undefined;
    await until('its artifacts are stored', async () => {
      result = (await harness.call('GET', `/v1/check-results/${checkId}/${resultId}`)).body as Result;
      return (result.artifacts ?? []).every(({ state }) => state !== 'awaited');
    });
    return result as Result;
  }

  const download = (path: string | null | undefined) =>
    fetch(new URL(path ?? '', url), { headers: { authorization: `Bearer ${harness.key}` } });

  it('go from an upload to a result with counts, report and traces, and the next run finds everything cached', {
    timeout: 200_000,
  }, async (context) => {
    needsAll(context);
    const checkId = await createSuite({
      // Larger than any other body: uploaded, fetched and unpacked as a stream.
      codeBundlePath: await upload({ ...files, 'large.bin': randomBytes(largeBytes) }),
      testCommand: "npx playwright test --config 'e2e/playwright.config.ts' --project 'two' --grep '@smoke'",
    });
    const cold = await run(checkId);
    expect(cold, JSON.stringify(cold.failure)).toMatchObject({ hasFailures: false, hasErrors: false });
    expect(cold.playwrightCheckResult).toMatchObject({
      stats: { expected: 1, unexpected: 0, flaky: 1, skipped: 0 },
      errors: [],
      packageManager: 'npm',
      playwrightVersion: '1.58.2',
      install: { source: 'installed' },
    });
    expect(
      cold.playwrightCheckResult.tests.map(({ title, projectName, status }) => [title, projectName, status]),
    ).toEqual([
      ['opens the shop @smoke', 'two', 'passed'],
      ['passes the second time @smoke', 'two', 'failed'],
      ['passes the second time @smoke', 'two', 'passed'],
    ]);
    const { playwrightTestTraces, playwrightTestJsonReportFile } = cold.playwrightCheckResult;
    expect(playwrightTestTraces).toHaveLength(3);
    const trace = Buffer.from(await (await download(playwrightTestTraces[0])).arrayBuffer());
    expect(trace.subarray(0, 2).toString()).toBe('PK');
    const report = (await (await download(playwrightTestJsonReportFile)).json()) as { stats: object };
    expect(report.stats).toMatchObject({ expected: 1, flaky: 1 });

    const cached = await run(checkId);
    expect(cached.playwrightCheckResult).toMatchObject({
      stats: { expected: 1, flaky: 1 },
      install: { source: 'cache' },
    });
    const runs = await harness.store.transaction((nouns) => nouns.runs.ofCheck(checkId));
    expect(runs.map(({ state, lease_number: leaseNumber }) => [state, leaseNumber])).toEqual([
      ['final', 1],
      ['final', 1],
    ]);
    for (const { first_leased_at: from, ended } of runs) {
      expect(Number(ended) - Number(from)).toBeGreaterThan(leaseTtlMs);
    }
  });

  it('end with all their processes when they are cancelled', { timeout: 240_000 }, async (context) => {
    needsAll(context);
    const suite = {
      ...files,
      'e2e/tests/shop.spec.ts': `import { test } from '@playwright/test';
        test('stays', async ({ page }) => { await page.goto(process.env.TARGET!); await new Promise(() => {}); });`,
    };
    const checkId = await createSuite({ codeBundlePath: await upload(suite), workingDir: 'e2e' });
    const session = await trigger(checkId);
    // Idle browsers for browser checks have no suite in their sandbox.
    const browsers = () =>
      processesWhere((_status, pid) => {
        const line = readFileSync(`/proc/${pid}/cmdline`, 'latin1');
        const sandbox = new RegExp(`${scripts.path}/\\d+/sandboxes/[^/]+`).exec(line)?.[0];
        return line.includes('chromium') && sandbox !== undefined && existsSync(join(sandbox, 'suite'));
      });
    await until('its browser runs', () => browsers().length > 0, { timeoutMs: 150_000 });
    const started = browsers();
    await harness.call('POST', `/v1/check-sessions/${session}/cancel`);
    const isAlive = (pid: number) => processesWhere((_status, other) => other === pid).length > 0;
    await until('nothing of it runs', () => !started.some(isAlive) && browsers().length === 0);
    const slots = () =>
      readdirSync(join(scripts.path, '0/sandboxes')).filter((name) =>
        existsSync(join(scripts.path, '0/sandboxes', name, 'suite')),
      );
    await until('nothing of it is on disk', () => slots().length === 0);
  });

  it('that refer to a bundle that was not uploaded say so', { timeout: 240_000 }, async (context) => {
    needsAll(context);
    const checkId = await createSuite({ codeBundlePath: `${'0'.repeat(64)}-1000` });
    const result = await run(checkId);
    expect(result).toMatchObject({ hasFailures: true, failure: { code: 'BUNDLE_INVALID' } });
    expect(result.failure?.message).toContain('upload it');
  });
});
