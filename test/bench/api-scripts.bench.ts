import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readRuntimes } from '../../src/sandbox/runtimes/runtimes.ts';
import { leasedRun } from '../helpers/agent/fake-service/leased-run.ts';
import { Stage } from '../helpers/agent/stage.ts';
import { runtimesDirectory } from '../helpers/scripts/script-stage.ts';
import { type Bench, numberOption, quantile } from './report.ts';

const setup =
  "process.env.TOKEN = 'token'; request.headers['X-Time'] = String(Date.now()); console.log('set up');";
const teardown = "console.log('status', response.statusCode);";

/** The scripts of each kind of run. */
const kinds = {
  'no scripts': {},
  setup: { setup },
  'setup and teardown': { setup, teardown },
} as const satisfies Record<string, { readonly setup?: string; readonly teardown?: string }>;
type Kind = keyof typeof kinds;

/** From the lease of the run to the arrival of its result, in milliseconds. */
async function runOne(stage: Stage, kind: Kind): Promise<number> {
  const { setup: first, teardown: last }: { setup?: string; teardown?: string } = kinds[kind];
  const phase = (script: string | undefined) => (script ? [{ name: 'script of the check', script }] : []);
  const spec = {
    request: { url: stage.target.url(), headers: [{ key: 'Authorization', value: 'Bearer {{TOKEN}}' }] },
  };
  const check = { id: crypto.randomUUID(), name: 'bench', checkType: 'API', spec };
  const run = leasedRun('', { check, lifecycle: { setup: phase(first), teardown: phase(last) } });
  const offeredMs = performance.now();
  stage.service.enqueue(run);
  const result = await stage.service.waitFor('it', () => stage.service.resultOf(run.runId), 60_000);
  if (result.failure) throw new Error(result.failure.message);
  return performance.now() - offeredMs;
}

const bench: Bench = {
  usage: '[--runs=40] [--pause=400]',
  title: 'API checks: what setup and teardown scripts add',
  async run(bench) {
    const runs = numberOption(bench, 'runs', 40);
    // Runs are spaced out, as checks are: used processes are replaced by then.
    const pauseMs = numberOption(bench, 'pause', 400);
    if ((await readRuntimes(runtimesDirectory)).ids.length === 0) {
      throw new Error('no runtime is installed: npm run runtimes:install');
    }
    const folder = await mkdtemp('/var/tmp/picket-bench-api-scripts-');
    await chmod(folder, 0o711); // sandbox users must traverse it
    const stage = await Stage.open();
    const times: Record<Kind, number[]> = { 'no scripts': [], setup: [], 'setup and teardown': [] };
    const perMinute: Partial<Record<Kind, number>> = {};
    const names = Object.keys(kinds) as Kind[];
    try {
      const agent = stage.startAgent({
        RUNTIMES_DIR: runtimesDirectory,
        SCRIPTS_DIR: join(folder, 'agent'),
        SPOOL_DIR: folder,
        ALLOW_UNISOLATED_SCRIPTS: 'true',
        LOG_LEVEL: 'info',
      });
      await agent.logged('script sandbox ready', 120_000);
      await delay(5000); // other warm processes are still being started
      for (const kind of names) await runOne(stage, kind);
      await delay(3 * pauseMs);
      for (let round = 0; round < runs; round += 1) {
        // In turn, so that other load on the machine affects all kinds alike.
        for (const kind of names) {
          times[kind].push(await runOne(stage, kind));
          await delay(pauseMs);
        }
      }
      bench.progress(`one by one: done, load ${loadavg()[0]?.toFixed(1)}`);
      for (const kind of names) {
        const startedMs = performance.now();
        let left = runs;
        const worker = async () => {
          while (left > 0) {
            left -= 1;
            await runOne(stage, kind);
          }
        };
        await Promise.all(Array.from({ length: 4 }, worker));
        perMinute[kind] = (runs * 60_000) / (performance.now() - startedMs);
      }
    } finally {
      await stage[Symbol.asyncDispose]();
      await delay(1500); // the supervisor of the killed agent is still using the folder
      await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    }
    const bare = times['no scripts'];
    const ms = (values: readonly number[], q: number) => quantile(values, q).toFixed(1);
    const added = (kind: Kind, q: number) => (quantile(times[kind], q) - quantile(bare, q)).toFixed(1);
    return {
      columns: [
        'scripts',
        'lease to result p50 / p95 (ms)',
        'added p50 / p95 (ms)',
        'a minute, four at a time',
      ],
      rows: names.map((kind) => [
        kind,
        `${ms(times[kind], 0.5)} / ${ms(times[kind], 0.95)}`,
        kind === 'no scripts' ? '–' : `${added(kind, 0.5)} / ${added(kind, 0.95)}`,
        (perMinute[kind] ?? 0).toFixed(0),
      ]),
      notes: [
        `${runs} runs of each, in turn, ${pauseMs} ms apart; the scripts set a variable and a header and write a line.`,
        `Load at the end: ${loadavg()[0]?.toFixed(1)}.`,
      ],
      figures: {
        setup_added_p50_ms: added('setup', 0.5),
        setup_added_p95_ms: added('setup', 0.95),
        setup_and_teardown_added_p50_ms: added('setup and teardown', 0.5),
      },
    };
  },
};
export default bench;
