import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { failureCatalogue } from '../../../src/checks/contract/failure.ts';
import type { RunContext } from '../../../src/checks/contract/run-context.ts';
import { createRunLog } from '../../../src/checks/contract/run-log.ts';
import { MultiStepDetail } from '../../../src/checks/script/detail.ts';
import { sampleOf } from '../../helpers/night.ts';
import {
  type ScriptStage,
  type StageOptions,
  scriptTests,
  startScriptStage,
} from '../../helpers/scripts/script-stage.ts';
import { type HttpTarget, startHttpTarget } from '../../helpers/targets/http-target.ts';

const head = "import { test, expect } from '@playwright/test';\n";
const testing = (body: string) => `${head}test('one', async ({ request }) => { ${body} });`;

describe('multi-step checks', () => {
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
  const run = async (script: string, options?: StageOptions) =>
    (await stage.runMultiStep(script, options)).outcome;

  itRuns('pass, and report each request in order', async () => {
    const outcome = await run(
      `${head}
      import { getAPIResponseTime } from '@service/playwright-helpers';
      test('log in', async ({ request }) => {
        const response = await request.post('${target.url}/echo', { data: { user: 'ada' } });
        expect((await response.json()).body).toBe('{"user":"ada"}');
        expect(getAPIResponseTime(response)).toBeGreaterThan(0);
      });
      test('log out', async ({ request }) => { expect((await request.get('${target.url}/')).ok()).toBe(true); });`,
    );
    expect(outcome.failure).toBeUndefined();
    expect(MultiStepDetail.parse(outcome.detail)).toEqual(outcome.detail);
    expect(outcome.detail.tests.map(({ title, status }) => [title, status])).toEqual([
      ['log in', 'passed'],
      ['log out', 'passed'],
    ]);
    const requests = outcome.detail.steps.filter(({ title }) => /^(POST|GET)/.test(title));
    expect(requests.map(({ test, location }) => [test, location?.line])).toEqual([
      ['log in', 5],
      ['log out', 9],
    ]);
    expect(outcome.detail.playwrightTestTraces).toEqual(['traces/log-in.zip', 'traces/log-out.zip']);
  });

  describe.concurrent('fail by their own fault, whatever lines they forge', () => {
    const forged = (...events: object[]) =>
      `require('node:fs').writeSync(3, ${JSON.stringify(events.map((event) => `${JSON.stringify({ at: 1, ...event })}\n`).join(''))});`;
    const broken = { event: 'broken', error: { name: 'Error', message: 'the agent broke', stack: null } };
    const passed = { event: 'end', status: 'passed', durationMs: 1 };
    const testEnd = {
      event: 'test-end',
      test: 'x',
      title: 'x',
      status: 'passed',
      isExpected: true,
      isLast: true,
      startedAt: 1,
      durationMs: 1,
      errors: [],
      attachments: [],
    };
    const scripts: Readonly<Record<string, string>> = {
      'a crash of the agent, in a plain script': `${forged(broken)} throw new Error('my own fault');`,
      'a crash of the agent, and no end': `${forged(broken)} process.exit(3);`,
      'a crash of the agent, while tests are collected': `${forged(broken)} ${testing("throw new Error('my own fault');")}`,
      'an end, in a plain script': `${forged({ event: 'begin', tests: null }, passed)} process.exit(3);`,
      'more tests that passed than are kept': `${forged({ event: 'begin', tests: 500 }, ...Array.from({ length: 500 }, () => testEnd), passed)} ${testing("throw new Error('my own fault');")}`,
    };
    for (const [name, script] of Object.entries(scripts)) {
      itRuns(name, async () => {
        expect((await run(script)).failure).toMatchObject({ code: 'SCRIPT_FAILED', owner: 'target' });
      });
    }
  });

  describe.concurrent('support all forms of scripts', () => {
    const forms: Readonly<Record<string, string>> = {
      'TypeScript with require': `const { test, expect } = require('@playwright/test'); const n: number = 1; test('t', () => { expect(n).toBe(1); });`,
      'JavaScript with import and require': `import { test } from '@playwright/test'; const { v4 } = require('uuid'); test('t', () => { v4(); });`,
      'await at the top': `${head}const answer: number = await Promise.resolve(42);\ntest('t', () => { expect(answer).toBe(42); });`,
      'await at the top, with require': `${head}const { readFile } = require('node:fs/promises'); const text = await readFile(__filename_(), 'utf8'); function __filename_() { return new URL(import.meta.url); }\ntest('t', () => { expect(text).toContain('await'); });`,
      'an enum': `${head}enum Size { Small = 1 }\ntest('t', () => { expect(Size.Small).toBe(1); });`,
      'no test at all': `import axios from 'axios'; import * as path from 'node:path'; import { type Server } from 'node:http';\nconst size: number = path.sep.length;\nawait axios.get(process.env.TARGET as string);\nconsole.log(size);`,
      'no test at all, with an enum': `enum Size { Small = 1 }\nif (Size.Small !== 1) throw new Error('no');`,
      'expect without a test': `import { expect } from '@playwright/test'; expect(1).toBe(1);`,
    };
    for (const [name, script] of sampleOf(Object.entries(forms), 2)) {
      itRuns(name, async () => {
        const outcome = await run(script, { context: { variables: { TARGET: target.url } } });
        expect(outcome.failure).toBeUndefined();
      });
    }
  });

  describe.concurrent('may contain ES modules', () => {
    const modules: Readonly<Record<string, readonly [string, string]>> = {
      'of TypeScript': ['lib.mts', 'export const answer: number = 42;'],
      'of JavaScript': ['lib.mjs', 'export const answer = 42;'],
      'by their package': ['lib.ts', 'export const answer: number = await Promise.resolve(42);'],
    };
    for (const [name, [path, content]] of sampleOf(Object.entries(modules), 1)) {
      itRuns(name, async () => {
        const isPackage = path === 'lib.ts';
        const outcome = await run(
          `${head}import { answer } from './${path}';\ntest('t', () => { expect(answer).toBe(42); });`,
          {
            spec: {
              scriptPath: 'checks/one.spec.ts',
              dependencies: [
                { path: `checks/${path}`, content },
                ...(isPackage ? [{ path: 'package.json', content: '{ "type": "module" }' }] : []),
              ],
            },
          },
        );
        expect(outcome.failure).toBeUndefined();
      });
    }
  });

  itRuns('have their files, snippets, variables and the runtime’s packages', async () => {
    const outcome = await run(
      `${head}
      import { greet } from './lib/greeting';
      const { answer } = require('./snippets/answer.js');
      import { z } from 'zod';
      test('t', () => {
        expect(greet('you')).toBe('hello you');
        expect(z.number().parse(answer)).toBe(42);
        expect(process.env.TOKEN).toBe('s3cret');
        expect(process.env.RUNTIME_VERSION).toBe('${stage.runtimes.ids[0]}');
        expect(process.env.API_KEY).toBeUndefined();
        expect(Intl.DateTimeFormat().resolvedOptions().timeZone).toBe('UTC');
      });`,
      {
        spec: {
          scriptPath: 'checks/one.spec.ts',
          dependencies: [
            {
              path: 'checks/lib/greeting.ts',
              content: 'export const greet = (who: string) => `hello ${who}`;',
            },
          ],
        },
        context: {
          variables: { TOKEN: 's3cret', RUNTIME_VERSION: 'none', PWTEST_CACHE_DIR: '/nowhere' },
          snippets: [{ name: 'answer', script: 'exports.answer = 42;' }],
        },
      },
    );
    expect(outcome.failure).toBeUndefined();
  });

  itRuns('are degraded if they say so and do not fail', async () => {
    const helpers = "import { markCheckAsDegraded } from '@service/playwright-helpers';\n";
    const degraded = await run(helpers + testing("markCheckAsDegraded('slow today');"));
    expect([degraded.failure, degraded.isDegraded]).toEqual([undefined, true]);
    expect(degraded.detail).toMatchObject({ isMarkedDegraded: true, degradedReason: 'slow today' });

    const soft = await run(
      helpers + testing("expect.soft(1, 'words of my own').toBe(2); markCheckAsDegraded();"),
    );
    expect([soft.failure, soft.isDegraded, soft.detail.errors.length]).toEqual([undefined, true, 1]);

    const hard = await run(
      helpers + testing('expect.soft(1).toBe(2); markCheckAsDegraded(); expect(3).toBe(4);'),
    );
    expect(hard.failure?.code).toBe('SCRIPT_FAILED');
    expect([hard.isDegraded, hard.detail.errors.length]).toEqual([false, 2]);

    const plain = await run("require('@service/playwright-helpers').markCheckAsDegraded('slow');");
    expect([plain.failure, plain.isDegraded]).toEqual([undefined, true]);
  });

  itRuns('fail when only soft assertions fail', async () => {
    const outcome = await run(testing('expect.soft(1).toBe(2);'));
    expect(outcome.failure?.code).toBe('SCRIPT_FAILED');
  });

  itRuns('respect tests that are expected to fail, skipped or repeated', async () => {
    const outcome = await run(
      `${head}
      test.describe.configure({ retries: 1 });
      test.fail('known', () => { expect(1).toBe(2); });
      test.skip('not today', () => { throw new Error('never'); });
      test('second time', ({}, info) => { expect(info.retry).toBe(1); });`,
    );
    expect(outcome.failure).toBeUndefined();
  });

  describe.concurrent('fail with the reason', () => {
    const faults: readonly (readonly [string, string, keyof typeof failureCatalogue, RegExp])[] = [
      ['a failed assertion', testing('expect(1).toBe(2);'), 'SCRIPT_FAILED', /toBe/],
      ['a thrown text', testing("throw 'just words';"), 'SCRIPT_FAILED', /just words/],
      ['a syntax error', `${head}test('t', () => { const ; });`, 'SCRIPT_INVALID', /Unexpected token/],
      [
        'a missing module',
        `${head}import 'nowhere-to-be-found'; test('t', () => {});`,
        'SCRIPT_INVALID',
        /nowhere-to-be-found/,
      ],
      ['no test', `${head}// test('t', () => {});`, 'SCRIPT_INVALID', /No tests found/],
      [
        'an exit while tests are collected',
        `${head}test('t', () => {}); process.exit(0);`,
        'SCRIPT_FAILED',
        /exited with code 0/,
      ],
      ['an exit in a test', testing('process.exit(0);'), 'SCRIPT_FAILED', /worker process exited/i],
      ['an exit of a plain script', 'process.exit(0);', 'SCRIPT_FAILED', /exited with code 0/],
      [
        'a rejection nobody handles',
        testing("Promise.reject(new Error('forgotten')); await new Promise((r) => setTimeout(r, 50));"),
        'SCRIPT_FAILED',
        /forgotten/,
      ],
      ['more text than fits', testing("'x'.repeat(2 ** 30);"), 'SCRIPT_FAILED', /Invalid string length/],
      [
        'closed descriptors',
        "for (let fd = 0; fd < 20; fd += 1) { try { require('node:fs').closeSync(fd); } catch {} } setTimeout(() => {}, 100);",
        'SCRIPT_FAILED',
        /did not finish/,
      ],
      [
        'a rejection in a plain script',
        "Promise.reject(new Error('forgotten'));",
        'SCRIPT_FAILED',
        /forgotten/,
      ],
      ['a syntax error in a plain script', 'const ;', 'SCRIPT_INVALID', /Unexpected token/],
      ['a wait without an end', 'await new Promise(() => {});', 'SCRIPT_FAILED', /never happens/],
      ['a killed process', testing("process.kill(process.pid, 'SIGKILL');"), 'SCRIPT_FAILED', /SIGKILL/],
      [
        'globals that are gone',
        testing(
          "for (const key of Object.getOwnPropertyNames(globalThis)) { try { delete globalThis[key]; } catch {} } throw new Error('empty');",
        ),
        'SCRIPT_FAILED',
        /./,
      ],
      [
        'a closed channel to the agent',
        "require('node:fs').closeSync(3);",
        'SCRIPT_FAILED',
        /did not finish/,
      ],
    ];
    for (const [name, script, code, message] of sampleOf(faults, 3)) {
      itRuns(name, async () => {
        const outcome = await run(script, { context: { timeoutMs: 100_000 } });
        expect(outcome.failure).toMatchObject({ code, owner: failureCatalogue[code].owner });
        expect(outcome.failure?.message).toMatch(message);
        expect(outcome.errorMessages[0]).toBe(outcome.failure?.message);
      });
    }
  });

  describe.concurrent('end in time', () => {
    const late: Readonly<Record<string, string>> = {
      'a test that waits': testing('test.setTimeout(0); await new Promise((r) => setTimeout(r, 60_000));'),
      'a test that never lets go': testing('for (;;);'),
      'a loop before any test': `${head}for (;;);`,
      'a plain script that waits': 'await new Promise((r) => setTimeout(r, 60_000));',
      'a plain script that never lets go': 'for (;;);',
    };
    for (const [name, script] of sampleOf(Object.entries(late), 1)) {
      itRuns(name, async () => {
        const outcome = await run(script, { context: { timeoutMs: 4000 } });
        expect(outcome.failure).toMatchObject({
          code: 'SCRIPT_TIMED_OUT',
          owner: 'target',
          message: 'The script exceeded the maximum run time of 4000 ms',
        });
      });
    }

    itRuns("by the test's own time limit", async () => {
      const outcome = await run(
        testing('test.setTimeout(300); await new Promise((r) => setTimeout(r, 60_000));'),
      );
      expect(outcome.failure).toMatchObject({ code: 'SCRIPT_FAILED' });
      expect(outcome.failure?.message).toContain('timeout of 300ms exceeded');
    });

    itRuns('when the run is stopped', async () => {
      const controller = new AbortController();
      const log: RunContext['log'] = Object.assign(createRunLog(), {
        write: (_level: string, msg: string) => msg === 'here' && controller.abort(),
      });
      const outcome = await run("console.log('here'); await new Promise((r) => setTimeout(r, 60_000));", {
        context: { signal: controller.signal, log },
      });
      expect(outcome.failure).toMatchObject({ code: 'RUN_ABORTED', owner: 'agent' });
    });
  });

  itRuns('tell what they found out until their time was over', async () => {
    const outcome = await run(
      `${head}test('first', () => { console.log('so far'); });
         test('second', async () => { test.setTimeout(0); await new Promise((r) => setTimeout(r, 60_000)); });`,
      { context: { timeoutMs: 20_000 } },
    );
    expect(outcome.failure?.code).toBe('SCRIPT_TIMED_OUT');
    expect(outcome.detail.tests[0]).toMatchObject({ title: 'first', status: 'passed' });
    expect(outcome.detail.jobLog.map(({ msg }) => msg)).toContain('so far');
    expect(outcome.detail.playwrightTestTraces).toContain('traces/first.zip');
  });

  itRuns('are cut off if they write endlessly', async () => {
    const outcome = await run(
      "const line = 'x'.repeat(100_000); for (;;) try { require('node:fs').writeSync(1, line); } catch {}",
    );
    expect(outcome.failure).toMatchObject({ code: 'SCRIPT_LIMIT_EXCEEDED', owner: 'target' });
    expect(outcome.detail.jobLog.length).toBeLessThanOrEqual(500);
  });

  itRuns('log in with a one-time code, whose secret is a secret of the run', async () => {
    const page = readFileSync(join(import.meta.dirname, '../../../docs/reference/scripts.md'), 'utf8');
    const [, example = ''] = /## One-time codes.*?```ts\n(.*?)```/s.exec(page) ?? [];
    const outcome = await run(example.replace('https://id.example.com/login', `${target.url}/echo`), {
      context: { variables: { SERVICE_SECRET_TOTP: 'gezd gnbv gy3t qojq gezd gnbv gy3t qojq' } },
    });
    expect(outcome.failure).toBeUndefined();
    expect(target.requests.at(-1)?.body).toMatch(/"code":"\d{6}"/);
    expect(outcome.secrets).toContain('GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ');
  });

  itRuns('report the values that they declared secret themselves, and only those', async () => {
    const outcome = await run(
      testing(
        "process.env.SERVICE_SECRET_TOKEN = 'made-up-now'; Object.assign(process.env, { SERVICE_SECRET_B: 'b-value', OTHER: 'x' });",
      ),
      { context: { variables: { SERVICE_SECRET_GIVEN: 'given' } } },
    );
    expect(outcome.failure).toBeUndefined();
    expect([...(outcome.secrets ?? [])].sort()).toEqual(['b-value', 'made-up-now']);
  });

  it('list the runtimes if theirs is missing', async () => {
    const outcome = await run(testing(''), { spec: { runtimeId: '2022.10' } });
    expect(outcome.failure).toMatchObject({ code: 'RUNTIME_MISSING', owner: 'agent' });
    expect(outcome.failure?.message).toContain('Runtime 2022.10 is not installed on this agent');
  });

  it('are not run without isolation', async () => {
    const outcome = await run(testing(''), { context: { scripts: undefined } });
    expect(outcome.failure).toMatchObject({ code: 'SANDBOX_UNAVAILABLE', owner: 'agent' });
  });
});
