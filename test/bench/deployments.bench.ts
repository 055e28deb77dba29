import { setTimeout as delay } from 'node:timers/promises';
import { cpuMsOf, type RunningService, startServiceProcess } from '../helpers/picket-process.ts';
import { findPostgres, startPostgres } from '../helpers/service/postgres.ts';
import { mixedProject } from './parts/mixed-project.ts';
import {
  type Bench,
  type BenchReport,
  type BenchRun,
  bothEngines,
  choicesOption,
  numberOption,
} from './report.ts';

const longestMs = 20_000;

interface Deployed {
  readonly changes: number;
  /** From the request to the end of the deployment, and the part of it until the response. */
  readonly wholeMs: number;
  readonly answerMs: number;
  readonly cpuMs: number;
}

const bench: Bench = {
  usage: '[--resources=500] [--engine=sqlite|postgres]',
  title: 'A project of 500 resources: deployed, deployed again, changed and destroyed',
  async run(run): Promise<BenchReport> {
    const count = numberOption(run, 'resources', 500);
    const engines = choicesOption(run, 'engine', bothEngines);
    const rows: string[][] = [];
    const figures: Record<string, string | number> = { resources: count };
    const measure = async (engine: string, environment: Readonly<Record<string, string>>) => {
      await using service = await startServiceProcess({ PAGES: 'off', ...environment });
      for (const [what, done] of await deployAll(run, service, count)) {
        const { changes, wholeMs, answerMs, cpuMs } = done;
        rows.push([engine, what, `${changes}`, seconds(wholeMs), seconds(answerMs), seconds(cpuMs)]);
        figures[`${engine}_${what.replaceAll(' ', '_')}_s`] = seconds(wholeMs);
      }
    };
    if (engines.includes('sqlite')) await measure('SQLite', {});
    if (engines.includes('postgres') && findPostgres() !== null) {
      const server = await startPostgres({ isDurable: true });
      try {
        await measure('PostgreSQL', { DATABASE_URL: await server.createDatabase() });
      } finally {
        await server.stop();
      }
    }
    return {
      columns: ['engine', 'what', 'changes', 'whole (s)', 'until 202 (s)', 'CPU of the service (s)'],
      rows,
      notes: [
        `${count} resources of nine kinds, half of them checks of four types. Whole: from sending the request to the deployment being over; asked for: at most ${longestMs / 1000} s. Until the 202 every payload is judged, and nothing written. Service and database share the cores.`,
      ],
      figures,
    };
  },
};
export default bench;

async function deployAll(
  run: BenchRun,
  service: RunningService,
  count: number,
): Promise<(readonly [string, Deployed])[]> {
  const deploy = (version: number) =>
    followed(service, 'POST', '/v1/projects/deploy?scheduleOnDeploy=false', mixedProject(count, version));
  const steps = [
    ['create', count, () => deploy(1)],
    ['nothing new', 0, () => deploy(1)],
    ['change a tenth', count / 10, () => deploy(2)],
    ['destroy', count, () => followed(service, 'DELETE', '/v1/projects/bench')],
  ] as const;
  const done: (readonly [string, Deployed])[] = [];
  for (const [what, expected, step] of steps) {
    const deployed = await step();
    run.progress(`${what}: ${deployed.changes} changes in ${seconds(deployed.wholeMs)} s`);
    if (deployed.changes !== expected) throw new Error(`${what}: ${deployed.changes} changes`);
    done.push([what, deployed]);
  }
  return done;
}

interface Deployment {
  readonly id: string;
  readonly status: string;
  readonly endedAt: string | null;
  readonly error: { readonly message: string } | null;
  readonly result: { readonly diff: readonly unknown[] } | null;
}

async function followed(
  service: RunningService,
  method: string,
  path: string,
  body?: unknown,
): Promise<Deployed> {
  const cpuBefore = await cpuMsOf(service.process.pid);
  const startedAt = performance.now();
  const { id } = await service.api<Deployment>(method, path, body);
  const answerMs = performance.now() - startedAt;
  for (;;) {
    const one = await service.api<Deployment>('GET', `/v1/projects/bench/deployments/${id}`);
    if (one.endedAt === null) {
      await delay(20);
      continue;
    }
    if (one.status !== 'SUCCEEDED') throw new Error(one.error?.message ?? one.status);
    return {
      changes: one.result?.diff.length ?? 0,
      wholeMs: performance.now() - startedAt,
      answerMs,
      cpuMs: (await cpuMsOf(service.process.pid)) - cpuBefore,
    };
  }
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(2);
}
