import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { openBrowsers } from '../../src/sandbox/browsers/open-browsers.ts';
import { unpackedChromiumPath } from '../../src/sandbox/browsers/unpacked-chromium.ts';
import { type Runtime, readRuntimes } from '../../src/sandbox/runtimes/runtimes.ts';
import { leasedRun } from '../helpers/agent/fake-service/leased-run.ts';
import { Stage } from '../helpers/agent/stage.ts';
import { runtimesDirectory } from '../helpers/scripts/script-stage.ts';
import { type Bench, numberOption, quantile } from './report.ts';

type CheckType = 'BROWSER' | 'MULTI_STEP';

const stamp = (name: string) => `console.log('${name} ' + Date.now());`;
const scripts: Readonly<Record<CheckType, string>> = {
  MULTI_STEP: `import { test, expect } from '@playwright/test';
    test('one request', async ({ request }) => { ${stamp('FIRST')}
      expect((await request.get(process.env.TARGET)).status()).toBe(200); ${stamp('LAST')} });`,
  BROWSER: `import { test } from '@playwright/test';
    test('one page', async ({ page }) => { ${stamp('FIRST')}
      await page.goto(process.env.TARGET); ${stamp('LAST')} });`,
};

interface Times {
  /** From the offer of the run to the script's first line. */
  readonly beforeMs: number;
  /** From its last line to the arrival of the result. */
  readonly afterMs: number;
}

async function runOne(stage: Stage, checkType: CheckType): Promise<Times> {
  const check = { id: crypto.randomUUID(), name: 'bench', checkType, spec: { script: scripts[checkType] } };
  const run = leasedRun('', { check, variables: { TARGET: stage.target.url() } });
  const offeredAt = Date.now();
  stage.service.enqueue(run);
  const result = await stage.service.waitFor('it', () => stage.service.resultOf(run.runId), 60_000);
  const arrivedAt = Date.now();
  if (result.failure) throw new Error(result.failure.message);
  const text = JSON.stringify(result.detail);
  const at = (name: string) => Number(new RegExp(`${name} (\\d+)`).exec(text)?.[1]);
  return { beforeMs: at('FIRST') - offeredAt, afterMs: arrivedAt - at('LAST') };
}

/** The baseline without Picket: `playwright test`, once per run. */
async function runBare(
  runtime: Runtime,
  checkType: CheckType,
  browsers: string,
  target: string,
): Promise<number> {
  const directory = await mkdtemp(join(tmpdir(), 'picket-bench-'));
  try {
    await mkdir(join(directory, 'tests'));
    await symlink(runtime.modulesDirectory, join(directory, 'node_modules'));
    await writeFile(join(directory, 'tests/x.spec.ts'), scripts[checkType]);
    const config = "module.exports = { testDir: 'tests', workers: 1, use: { trace: 'on' } };";
    await writeFile(join(directory, 'playwright.config.js'), config);
    const startedMs = performance.now();
    const cli = join(runtime.modulesDirectory, '@playwright/test/cli.js');
    const child = spawn(process.execPath, [cli, 'test'], {
      cwd: directory,
      // Without the compile cache that commands of a checkout use, because users do not have it.
      env: {
        ...{ ...process.env, NODE_COMPILE_CACHE: undefined },
        ...{ PLAYWRIGHT_BROWSERS_PATH: browsers, TARGET: target },
      },
      stdio: 'ignore',
    });
    const [code] = await once(child, 'exit');
    if (code !== 0) throw new Error(`playwright test ended with ${code}`);
    return performance.now() - startedMs;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** `npm run bench -- scripts [--runs=12] [--pause=4000]` */
const bench: Bench = {
  title: 'Scripts: what the agent adds, and how many a minute',
  async run(bench) {
    const runs = numberOption(bench, 'runs', 12);
    // Warm runs are spaced out, as checks are (at most one run every ten seconds): a warm process has loaded by then.
    const pauseMs = numberOption(bench, 'pause', 4000);
    const runtimes = await readRuntimes(runtimesDirectory);
    const runtime = runtimes.find(runtimes.ids[0] ?? '');
    if (!runtime) throw new Error('no runtime is installed: npm run runtimes:install');
    const folder = await mkdtemp('/var/tmp/picket-bench-scripts-');
    await chmod(folder, 0o711); // sandbox users must traverse it
    const chromiumPath = process.env.CHROMIUM_PATH;
    const unpackedPath = unpackedChromiumPath(runtimesDirectory);
    const browsers = await openBrowsers({
      directory: join(folder, 'browsers'),
      runtimes,
      chromiumPath,
      unpackedPath,
    });
    const rows: string[][] = [];
    const figures: Record<string, string> = {};
    const stage = await Stage.open();
    try {
      const agent = stage.startAgent({
        RUNTIMES_DIR: runtimesDirectory,
        SCRIPTS_DIR: join(folder, 'agent'),
        SPOOL_DIR: folder,
        ALLOW_UNISOLATED_SCRIPTS: 'true',
        LOG_LEVEL: 'info',
      });
      await agent.logged('script sandbox ready', 120_000);
      const types: CheckType[] = 'missing' in browsers ? ['MULTI_STEP'] : ['MULTI_STEP', 'BROWSER'];
      for (const type of types) {
        const cold = await runOne(stage, type);
        await delay(pauseMs * 2);
        const warm: Times[] = [];
        for (let run = 0; run < runs; run += 1) {
          warm.push(await runOne(stage, type));
          await delay(pauseMs);
        }
        const startedMs = performance.now();
        for (let run = 0; run < runs; run += 1) await runOne(stage, type);
        const perMinute = (runs * 60_000) / (performance.now() - startedMs);
        const bare: number[] = [];
        const browsersPath = 'missing' in browsers ? '' : browsers.directory;
        for (let run = 0; run < runs; run += 1) {
          bare.push(await runBare(runtime, type, browsersPath, stage.target.url()));
        }
        const barePerMinute = (runs * 60_000) / bare.reduce((sum, ms) => sum + ms, 0);
        const total = warm.map(({ beforeMs, afterMs }) => beforeMs + afterMs);
        const ms = (values: readonly number[], q: number) => quantile(values, q).toFixed(0);
        const before = warm.map(({ beforeMs }) => beforeMs);
        const after = warm.map(({ afterMs }) => afterMs);
        rows.push([
          type,
          `${ms(before, 0.5)} / ${ms(before, 0.95)}`,
          `${ms(after, 0.5)} / ${ms(after, 0.95)}`,
          `${ms(total, 0.5)} / ${ms(total, 0.95)}`,
          String(cold.beforeMs + cold.afterMs),
          perMinute.toFixed(0),
          barePerMinute.toFixed(0),
        ]);
        const key = type.toLowerCase();
        figures[`${key}_warm_p50_ms`] = ms(total, 0.5);
        figures[`${key}_per_minute_ratio`] = (perMinute / barePerMinute).toFixed(2);
        bench.progress(`${type}: done, load ${loadavg()[0]?.toFixed(1)}`);
      }
    } finally {
      await stage[Symbol.asyncDispose]();
      await delay(1500); // the supervisor of the killed agent is still using the folder
      await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    }
    return {
      columns: [
        'type',
        'to the first line p50 / p95 (ms)',
        'from the last line p50 / p95 (ms)',
        'both p50 / p95 (ms)',
        'first run (ms)',
        'a minute, one at a time',
        'a minute, playwright test',
      ],
      rows,
      notes: [
        'The first line of a browser script comes after the browser, its context and its page were opened. Both sides record traces.',
        `"playwright test" is one process after the other, without sandbox, masking and upload. Load at the end: ${loadavg()[0]?.toFixed(1)}.`,
      ],
      figures,
    };
  },
};
export default bench;
