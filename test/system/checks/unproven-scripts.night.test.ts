import { afterAll, beforeAll, describe, expect } from 'vitest';
import { PlaywrightDetail } from '../../../src/checks/playwright/detail.ts';
import { scriptTests } from '../../helpers/scripts/script-stage.ts';
import {
  linkRuntime,
  type SuiteFiles,
  type SuiteStage,
  startSuiteStage,
} from '../../helpers/scripts/suite-stage.ts';

const head = "import { test, expect } from '@playwright/test';\n";

describe('runs that prove nothing', () => {
  let stage: SuiteStage;
  beforeAll(async () => {
    stage = await startSuiteStage();
  });
  afterAll(() => stage.close());
  const itRuns = scriptTests(() => stage.scripts);
  const run = async (script: string, dependencies: readonly { path: string; content: string }[] = []) =>
    (await stage.scripts.runMultiStep(script, { spec: { dependencies } })).outcome;
  const suite = async (files: SuiteFiles) => (await stage.run(files, { spec: linkRuntime(stage) })).outcome;

  itRuns('by scripts that do nothing are refused', async () => {
    const idle = [
      '// TODO: write this check\n',
      "import { chromium } from 'playwright';\nconst { expect } = require('@playwright/test');",
      'interface Shop { name: string }\nenum Colour { red }\nexport const limit: number = 3;',
      "export default async function main() { throw new Error('never called'); }",
      "module.exports = { run: async () => { throw new Error('never called'); } };",
    ];
    for (const script of idle) {
      const { failure } = await run(script);
      expect(failure, script).toMatchObject({ owner: 'config', code: 'SCRIPT_INVALID' });
      expect(failure?.message, script).toContain('does nothing');
    }
  });

  itRuns('but scripts that do something are not', async () => {
    const main = { path: 'main.js', content: "console.log('it ran');" };
    for (const script of [
      'void (async () => {})();',
      "import './main.js';",
      "require('./main.js');",
      'let a; a = 1;',
    ]) {
      expect((await run(script, [main])).failure, script).toBeUndefined();
    }
  });

  itRuns('that set their own exit code are failures', async () => {
    for (const script of [
      'process.exitCode = 3;',
      `${head}test('a', async () => { process.exitCode = 3; });`,
    ]) {
      const { failure } = await run(script);
      expect(failure, script).toMatchObject({ owner: 'target', code: 'SCRIPT_FAILED' });
      expect(failure?.message, script).toContain('process.exitCode to 3');
    }
    // Programs that a script starts have their own exit codes.
    const program = { path: 'program.js', content: 'process.exitCode = 3;' };
    const spawning = "require('node:child_process').spawnSync(process.execPath, ['program.js'])";
    expect((await run(`${head}test('a', () => { ${spawning}; });`, [program])).failure).toBeUndefined();
  });

  itRuns('that skip every test are degraded', async () => {
    const { failure, isDegraded, detail } = await run(
      `${head}test('a', () => { test.skip(true, 'not today'); });`,
    );
    expect({ failure, isDegraded, reason: detail.degradedReason }).toEqual({
      failure: undefined,
      isDegraded: true,
      reason: 'All tests of the script were skipped: nothing was tested',
    });
    const some = await run(`${head}test('a', () => {}); test.skip('b', () => {});`);
    expect(some).toMatchObject({ failure: undefined, isDegraded: false, detail: { degradedReason: null } });
  });

  itRuns('with skipped tests name those that did not run', async () => {
    const config = (fields: string) =>
      `import { defineConfig } from '@playwright/test';\nexport default defineConfig({ ${fields} });`;
    const serial = `test.describe.serial('order', () => { test('pays', () => { expect(1).toBe(2); }); test('ships', () => {}); });`;
    const script = await run(head + serial);
    expect(script.detail.tests.map(({ title, didNotRun }) => [title, didNotRun])).toEqual([
      ['order › pays', undefined],
      ['order › ships', true],
    ]);
    const { failure, detail } = await suite({
      'playwright.config.ts': config('retries: 0, workers: 1, maxFailures: 1'),
      'a.spec.ts': `${head}test('itself', () => { test.skip(true, 'not today'); }); ${serial} test('later', () => {});`,
      'b.spec.ts': `${head}test('adds', () => {});`,
    });
    expect(failure).toMatchObject({ code: 'SCRIPT_FAILED' });
    expect(detail.tests.map(({ title, status, didNotRun }) => [title, status, didNotRun]).sort()).toEqual([
      ['adds', 'skipped', true],
      ['itself', 'skipped', undefined],
      ['later', 'skipped', true],
      ['pays', 'failed', undefined],
      ['ships', 'skipped', true],
    ]);
    expect(PlaywrightDetail.parse(detail)).toEqual(detail);
    const timed = await suite({
      'playwright.config.ts': config('retries: 0, workers: 1, globalTimeout: 3000'),
      'a.spec.ts': `${head}test('hangs', () => new Promise(() => {})); test('later', () => {});`,
    });
    expect(timed.failure).toMatchObject({ code: 'SCRIPT_TIMED_OUT', owner: 'target' });
    expect(timed.detail.tests.map(({ title, didNotRun }) => [title, didNotRun])).toContainEqual([
      'later',
      true,
    ]);
  });
});
