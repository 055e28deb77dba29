import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../helpers/free-port.ts';
import { answersOk, cpuMsOf, until } from '../../helpers/picket-process.ts';
import { startBlackbox } from './blackbox.ts';
import { type CostStage, type CostTarget, intervalSeconds, proportionalMib } from './cost-stage.ts';

/** Prometheus and blackbox_exporter, as the distribution has them, with their usual configuration for probes. */
export async function startCostPair(targets: readonly CostTarget[]): Promise<CostStage> {
  const resources = new AsyncDisposableStack();
  const blackbox = resources.use(await startBlackbox());
  const folder = await mkdtemp(join(tmpdir(), 'picket-cost-'));
  resources.defer(() => rm(folder, { recursive: true, force: true }));
  const data = join(folder, 'data');
  await writeFile(join(folder, 'prometheus.json'), configuration(targets, blackbox.address));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const child = spawn(
    'prometheus',
    [
      `--config.file=${join(folder, 'prometheus.json')}`,
      `--storage.tsdb.path=${data}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--web.enable-admin-api',
      '--log.level=error',
    ],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  );
  const ended = once(child, 'exit');
  resources.defer(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  await until('Prometheus is ready', () => answersOk(`${url}/-/ready`));
  const pids = { Prometheus: child.pid ?? 0, blackbox_exporter: blackbox.pid };
  const cpuMs = async () => ({
    Prometheus: await cpuMsOf(pids.Prometheus),
    blackbox_exporter: await cpuMsOf(pids.blackbox_exporter),
  });
  const query = async (text: string) => {
    const asked = new URLSearchParams({ query: text, time: String(begun.atMs / 1000 + seconds) });
    const response = await fetch(`${url}/api/v1/query?${asked}`);
    const { data: found } = (await response.json()) as {
      readonly data: { readonly result: readonly { readonly value: readonly [number, string] }[] };
    };
    return Number(found.result[0]?.value[1] ?? Number.NaN);
  };
  let begun = { atMs: 0, bytes: 0, cpu: await cpuMs() };
  /** Length of the window. */
  let seconds = 0;
  return {
    async begin() {
      begun = { atMs: Date.now(), bytes: await sizeOf(data), cpu: await cpuMs() };
    },
    async end() {
      const cpu = await cpuMs();
      const storedBytes = (await sizeOf(data)) - begun.bytes;
      seconds = Math.round((Date.now() - begun.atMs) / 1000);
      const checks = await query(`sum(count_over_time(probe_success[${seconds}s]))`);
      const passed = await query(`sum(sum_over_time(probe_success[${seconds}s]))`);
      const all = await query('sum(count_over_time(probe_success[1d]))');
      // A snapshot holds everything since the start as blocks.
      await fetch(`${url}/api/v1/admin/tsdb/snapshot`, { method: 'POST' });
      const blockBytes = ((await sizeOf(join(data, 'snapshots'))) * checks) / all;
      return {
        checks,
        failed: checks - passed,
        cpuMs: {
          Prometheus: cpu.Prometheus - begun.cpu.Prometheus,
          blackbox_exporter: cpu.blackbox_exporter - begun.cpu.blackbox_exporter,
        },
        storedBytes,
        blockBytes,
      };
    },
    memoryMib: async () => proportionalMib(Object.values(pids)),
    p95Ms: async () =>
      (await query(`quantile_over_time(0.95, probe_duration_seconds{check="17"}[${seconds}s])`)) * 1000,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** JSON is YAML. */
function configuration(targets: readonly CostTarget[], blackboxAddress: string): string {
  const module = targets[0]?.module ?? 'http';
  return JSON.stringify({
    global: { scrape_interval: `${intervalSeconds}s`, scrape_timeout: `${intervalSeconds}s` },
    scrape_configs: [
      {
        job_name: 'checks',
        metrics_path: '/probe',
        params: { module: [module] },
        static_configs: targets.map(({ target }, index) => ({
          targets: [target],
          labels: { check: String(index) },
        })),
        relabel_configs: [
          { source_labels: ['__address__'], target_label: '__param_target' },
          { source_labels: ['__param_target'], target_label: 'instance' },
          { target_label: '__address__', replacement: blackboxAddress },
        ],
      },
    ],
  });
}

async function sizeOf(folder: string): Promise<number> {
  const files = await readdir(folder, { recursive: true, withFileTypes: true });
  const sizes = await Promise.all(
    files
      .filter((file) => file.isFile())
      // Blocks on disk, not the size that a file was reserved with.
      .map(async (file) => (await stat(join(file.parentPath, file.name))).blocks * 512),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
