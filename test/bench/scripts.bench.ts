import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { openBrowsers } from '../../src/sandbox/browsers/open-browsers.ts';
import { unpackedChromiumPath } from '../../src/sandbox/browsers/unpacked-chromium.ts';
import { type Runtime, readRuntimes } from '../../src/sandbox/runtimes/runtimes.ts';
import { ControlGroup, findControllers } from '../../src/sandbox/supervisor/control-group.ts';
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
  /** Processor time in its sandbox, with that of loading ahead. */
  readonly cpuMs: number;
  readonly peakMemoryBytes: number;
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
  const of = (field: string) => Number(new RegExp(`"${field}":(\\d+)`).exec(text)?.[1]);
  return {
    beforeMs: at('FIRST') - offeredAt,
    afterMs: arrivedAt - at('LAST'),
    cpuMs: of('cpuMs'),
    peakMemoryBytes: of('peakMemoryBytes'),
  };
}

/** From the offer of some runs at once to the arrival of the last result, in milliseconds. */
async function runAtOnce(stage: Stage, checkType: CheckType, count: number): Promise<number> {
  const startedMs = performance.now();
  await Promise.all(Array.from({ length: count }, () => runOne(stage, checkType)));
  return performance.now() - startedMs;
}

/** A group for processes whose usage is measured. */
function benchGroup(): { readonly group: ControlGroup; readonly wrapper: readonly string[] } {
  const group = new ControlGroup(findControllers(), `bench-${crypto.randomUUID()}`);
  const doors = group.doors.map((door) => `echo 0 > ${door}`);
  return { group, wrapper: ['/bin/sh', '-c', [...doors, 'exec "$@"'].join('\n'), 'sh'] };
}

/** A run of the baseline. */
interface BareRun {
  readonly ms: number;
  readonly cpuMs: number;
  readonly peakMemoryBytes: number;
}

/** The baseline without Picket: `playwright test`, once per run. */
async function runBare(
  runtime: Runtime,
  checkType: CheckType,
  browsers: string,
  target: string,
): Promise<BareRun> {
  // Measured as sandboxes are.
  const { group, wrapper } = benchGroup();
  let peakMemoryBytes = 0;
  const watch = setInterval(() => {
    peakMemoryBytes = Math.max(peakMemoryBytes, group.usage().heldMemoryBytes ?? Number.NaN);
  }, 250);
  const directory = await mkdtemp(join(tmpdir(), 'picket-bench-'));
  try {
    await mkdir(join(directory, 'tests'));
    await symlink(runtime.modulesDirectory, join(directory, 'node_modules'));
    await writeFile(join(directory, 'tests/x.spec.ts'), scripts[checkType]);
    const config = "module.exports = { testDir: 'tests', workers: 1, use: { trace: 'on' } };";
    await writeFile(join(directory, 'playwright.config.js'), config);
    const startedMs = performance.now();
    const cli = join(runtime.modulesDirectory, '@playwright/test/cli.js');
    const [command = '', ...args] = [...wrapper, process.execPath, cli, 'test'];
    const child = spawn(command, args, {
      cwd: directory,
      // Without the compile cache that commands of a checkout use and without certificates, because users have neither.
      env: {
        ...{ ...process.env, NODE_COMPILE_CACHE: undefined, NODE_EXTRA_CA_CERTS: undefined },
        ...{ PLAYWRIGHT_BROWSERS_PATH: browsers, TARGET: target },
      },
      stdio: 'ignore',
    });
    const [code] = await once(child, 'exit');
    if (code !== 0) throw new Error(`playwright test ended with ${code}`);
    const ms = performance.now() - startedMs;
    const { cpuMs = Number.NaN } = group.usage();
    return { ms, cpuMs, peakMemoryBytes };
  } finally {
    clearInterval(watch);
    await group.remove();
    await rm(directory, { recursive: true, force: true });
  }
}

const median = <Name extends string>(values: readonly Readonly<Record<Name, number>>[], name: Name) =>
  quantile(
    values.map((value) => value[name]),
    0.5,
  );
const seconds = (ms: number) => (ms / 1000).toFixed(2);
const megabytes = (bytes: number) => (bytes / 1024 ** 2).toFixed(0);

const bench: Bench = {
  usage: '[--runs=12] [--pause=4000] [--at-once=5]',
  title: 'Scripts: what the agent adds, and how many a minute',
  async run(bench) {
    const runs = numberOption(bench, 'runs', 12);
    // Warm runs are spaced out, as checks are (at most one run every ten seconds): a warm process has loaded by then.
    const pauseMs = numberOption(bench, 'pause', 4000);
    const atOnce = numberOption(bench, 'at-once', 5);
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
    // The groups of its sandboxes are below.
    const { group, wrapper } = benchGroup();
    const wholeCpuMs = () => group.usage().cpuMs ?? Number.NaN;
    try {
      const environment = {
        RUNTIMES_DIR: runtimesDirectory,
        SCRIPTS_DIR: join(folder, 'agent'),
        SPOOL_DIR: folder,
        ALLOW_UNISOLATED_SCRIPTS: 'true',
        LOG_LEVEL: 'info',
      };
      const agent = stage.startAgent(environment, [], wrapper);
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
        const browsersPath = 'missing' in browsers ? '' : browsers.directory;
        const own: Times[] = [];
        const bare: BareRun[] = [];
        let ownMs = 0;
        const cpuBeforeMs = wholeCpuMs();
        // In turn, so that other load on the machine affects both alike; four at a time, so that one run prepares the next.
        while (own.length < runs) {
          await delay(2000);
          const startedMs = performance.now();
          const count = Math.min(4, runs - own.length);
          for (let run = 0; run < count; run += 1) own.push(await runOne(stage, type));
          ownMs += performance.now() - startedMs;
          await delay(2000);
          for (let run = 0; run < count; run += 1) {
            bare.push(await runBare(runtime, type, browsersPath, stage.target.url()));
          }
        }
        await delay(pauseMs);
        const cpuMs = (wholeCpuMs() - cpuBeforeMs) / runs;
        const perMinute = (runs * 60_000) / ownMs;
        const barePerMinute = (runs * 60_000) / bare.reduce((sum, { ms }) => sum + ms, 0);
        const last: number[] = [];
        for (let round = 0; round < 3; round += 1) {
          await delay(pauseMs);
          last.push(await runAtOnce(stage, type, atOnce));
        }
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
          `${seconds(cpuMs)} (${seconds(median(own, 'cpuMs'))}) / ${seconds(median(bare, 'cpuMs'))}`,
          `${megabytes(median(own, 'peakMemoryBytes'))} / ${megabytes(median(bare, 'peakMemoryBytes'))}`,
          seconds(quantile(last, 0.5)),
        ]);
        const key = type.toLowerCase();
        figures[`${key}_warm_p50_ms`] = ms(total, 0.5);
        figures[`${key}_per_minute_ratio`] = (perMinute / barePerMinute).toFixed(2);
        figures[`${key}_cpu_s`] = seconds(cpuMs);
        figures[`${key}_sandbox_cpu_s`] = seconds(median(own, 'cpuMs'));
        figures[`${key}_bare_cpu_s`] = seconds(median(bare, 'cpuMs'));
        figures[`${key}_peak_mib`] = megabytes(median(own, 'peakMemoryBytes'));
        figures[`${key}_bare_peak_mib`] = megabytes(median(bare, 'peakMemoryBytes'));
        figures[`${key}_last_of_${atOnce}_s`] = seconds(quantile(last, 0.5));
        bench.progress(`${type}: done, load ${loadavg()[0]?.toFixed(1)}`);
      }
    } finally {
      await stage[Symbol.asyncDispose]();
      await delay(1500); // the supervisor of the killed agent is still using the folder
      await group.remove();
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
        'CPU-seconds a run, whole agent (sandbox) / playwright test',
        'peak MiB, sandbox / playwright test',
        `last of ${atOnce} at once (s)`,
      ],
      rows,
      notes: [
        'The first line of a browser script comes after the browser, its context and its page were opened. Both sides record traces.',
        'CPU-seconds: those of the agent with all its processes, the next run loaded ahead (those of the sandbox alone); those of `playwright test` and its processes. Memory is counted four times a second.',
        `"playwright test" is one process after the other, without sandbox, masking and upload. Load at the end: ${loadavg()[0]?.toFixed(1)}.`,
      ],
      figures,
    };
  },
};
export default bench;
