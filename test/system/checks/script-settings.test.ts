import { afterAll, beforeAll, describe, expect } from 'vitest';
import { ApiScriptStage, itRuns as itRunsOn } from '../../helpers/scripts/api-script-stage.ts';
import { type ScriptStage, scriptTests, startScriptStage } from '../../helpers/scripts/script-stage.ts';
import { type HttpTarget, startHttpTarget } from '../../helpers/targets/http-target.ts';

const head = "import { test, expect } from '@playwright/test';\n";

describe('Playwright Test settings of a check', () => {
  let stage: ScriptStage;
  let target: HttpTarget;
  beforeAll(async () => {
    stage = await startScriptStage();
    target = await startHttpTarget();
  });
  afterAll(async () => {
    await target.close();
    await stage.close();
  });

  const itRuns = scriptTests(() => stage);
  const run = async (body: string, spec: Readonly<Record<string, unknown>>) =>
    (await stage.runMultiStep(`${head}test('one', async ({ request }, info) => { ${body} });`, { spec }))
      .outcome;

  itRuns('apply to its tests: addresses, headers, time limits', async () => {
    const use = { baseURL: target.url, extraHTTPHeaders: { 'x-shop': 'yes' } };
    const outcome = await run(
      "expect((await (await request.get('/echo')).json()).headers['x-shop']).toBe('yes');",
      { playwrightConfig: { use, expect: { timeout: 1000 } } },
    );
    expect(outcome.failure).toBeUndefined();
    const late = await run('await new Promise(() => {});', { playwrightConfig: { timeout: 400 } });
    expect(late.failure).toMatchObject({ code: 'SCRIPT_FAILED' });
    expect(late.errorMessages[0]).toContain('Test timeout of 400ms exceeded');
  });

  itRuns('run every test for each project, and cannot disable evidence', async () => {
    const projects = [
      { name: 'shop', use: { baseURL: target.url } },
      { name: 'spare', timeout: 10_000 },
    ];
    const use = { launchOptions: { executablePath: '/bin/false' } };
    const outcome = await run("expect(['shop', 'spare']).toContain(info.project.name);", {
      playwrightConfig: { use, projects },
    });
    expect(outcome.failure).toBeUndefined();
    expect(outcome.detail.tests).toHaveLength(2);
    expect(outcome.detail.playwrightTestTraces).toHaveLength(2);
  });

  itRuns('judge by time limits if the check has any', async () => {
    const waits = 'await new Promise((resolve) => setTimeout(resolve, 50));';
    expect(await run(waits, { degradedResponseTime: 1 })).toMatchObject({
      isDegraded: true,
      overMaxResponseTime: null,
    });
    const over = await run(waits, { degradedResponseTime: 1, maxResponseTime: 2 });
    expect(over).toMatchObject({ isDegraded: false, overMaxResponseTime: true });
    expect(over.failure).toMatchObject({ owner: 'target', code: 'MAX_RESPONSE_TIME_EXCEEDED' });
    expect(await run(waits, { maxResponseTime: 60_000 })).toMatchObject({ overMaxResponseTime: false });
  });
});

describe('files of setup and teardown scripts', () => {
  let stage: ApiScriptStage;
  beforeAll(async () => {
    stage = await ApiScriptStage.open();
  });
  afterAll(() => stage.close());

  itRunsOn(
    'are loaded from their own path, also as TypeScript',
    () => stage,
    async () => {
      const setup = {
        name: 'setup',
        path: 'src/setup.ts',
        script: "import { sign } from './lib/sign';\nrequest.headers['x-sign'] = sign('order');",
        files: [
          {
            path: 'src/lib/sign.ts',
            content:
              "import { word } from '../word';\nexport const sign = (text: string): string => word + text;",
          },
          { path: 'src/word.ts', content: "export const word = 'signed ';" },
        ],
      };
      const teardown = {
        name: 'teardown',
        path: 'end.js',
        script: "const { shown } = require('./shown.js'); response.body = shown;",
        files: [{ path: 'shown.js', content: "exports.shown = 'short';" }],
      };
      const { outcome, requests } = await stage.run({
        context: { timeoutMs: 60_000, lifecycle: { setup: [setup], teardown: [teardown] } },
      });
      expect(outcome.failure).toBeUndefined();
      expect(requests[0]?.headers['x-sign']).toBe('signed order');
      expect(outcome.detail.response.body).toBe('short');
    },
  );
});
