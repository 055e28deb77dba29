import { execFile, spawn, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { freePort } from '../../helpers/free-port.ts';
import { type PicketProcess, startPicket, until } from '../../helpers/picket-process.ts';
import { temporaryFolder } from '../../helpers/service/service.ts';
import { startServiceProcess } from '../../helpers/service/service-process.ts';
import { startHttpTarget } from '../../helpers/targets/http-target.ts';
import { blocksOf, root } from '../docs/command-blocks.ts';

const run = promisify(execFile);
const key = 'bootstrap-key-of-the-tests';
const isThere = (program: string) => spawnSync(program, ['--version']).error === undefined;
const absent = ['prometheus', 'promtool'].filter((program) => !isThere(program));
if (absent.length > 0 && process.env.CI === 'true')
  throw new Error(`${absent.join(' and ')} must be there in CI`);

const ends: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

/** A real Prometheus with the document's scrape configuration, against a service. */
async function startPrometheus(serviceUrl: string): Promise<string> {
  const folder = temporaryFolder();
  ends.push(() => folder.remove());
  const keyFile = join(folder.path, 'picket.key');
  writeFileSync(keyFile, key);
  const block = blocksOf('docs/how-to/prometheus.md').find(({ language }) => language === 'yaml');
  const config = parse(
    (block?.text ?? '')
      .replaceAll('/etc/prometheus/picket.key', keyFile)
      .replaceAll('picket.example:8080', new URL(serviceUrl).host)
      .replaceAll('scrape_interval: 30s', 'scrape_interval: 1s'),
  );
  const rules = readFileSync(join(root, 'deploy/prometheus/checks.yaml'), 'utf8');
  writeFileSync(join(folder.path, 'checks.yaml'), rules.replace('interval: 1m', 'interval: 1s'));
  const file = join(folder.path, 'prometheus.yaml');
  const all = { global: { evaluation_interval: '1s' }, rule_files: ['checks.yaml'], ...config };
  writeFileSync(file, stringify(all));
  await run('promtool', ['check', 'config', file]);
  const port = await freePort();
  spawnPrometheus(port, file, folder.path);
  return `http://127.0.0.1:${port}`;
}

function spawnPrometheus(port: number, config: string, folder: string, ...more: string[]): void {
  const child = spawn(
    'prometheus',
    [
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      ...more,
    ],
    { stdio: 'ignore' },
  );
  const ended = new Promise((resolve) => child.once('close', resolve));
  ends.push(async () => {
    child.kill('SIGTERM');
    await ended;
  });
}

/** The document's settings for writing to a Prometheus on a port. */
function writeSettings(port: number): Record<string, string> {
  const block = blocksOf('docs/how-to/prometheus.md').find(({ text }) => text.includes('REMOTE_WRITE_URL'));
  const { services } = parse(block?.text ?? '') as {
    services: { service: { environment: Record<string, string> } };
  };
  const { REMOTE_WRITE_URL: url = '', ...others } = services.service.environment;
  expect(Object.keys(others)).toEqual(['REMOTE_WRITE_HEADERS', 'REMOTE_WRITE_INTERVAL_SECONDS']);
  return {
    REMOTE_WRITE_URL: url.replace('prometheus:9090', `127.0.0.1:${port}`),
    REMOTE_WRITE_HEADERS: (others['REMOTE_WRITE_HEADERS'] ?? '').replace('…', 'token'),
    REMOTE_WRITE_INTERVAL_SECONDS: '1',
  };
}

interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [number, string];
  /** For range queries. */
  readonly values?: readonly (readonly [seconds: number, value: string])[];
}

async function query(prometheusUrl: string, expression: string): Promise<readonly Sample[]> {
  try {
    const answer = await fetch(`${prometheusUrl}/api/v1/query?query=${encodeURIComponent(expression)}`);
    const body = (await answer.json()) as { data?: { result: readonly Sample[] } };
    return body.data?.result ?? [];
  } catch {
    // It is still starting.
    return [];
  }
}

describe.skipIf(absent.length > 0)('Prometheus', () => {
  it('scrapes checks as the document says, evaluates the rules, and finds nothing to correct', async () => {
    const processes: PicketProcess[] = [];
    ends.push(() => Promise.all(processes.map((each) => each.kill('SIGKILL'))));
    const folder = temporaryFolder();
    ends.push(() => folder.remove());
    const service = await startServiceProcess({ BOOTSTRAP_API_KEY: key, DATA_DIR: folder.path }, (process) =>
      processes.push(process),
    );
    const target = await startHttpTarget();
    ends.push(() => target.close());
    const location = await service.call('POST', '/v1/private-locations', { name: 'Lab', slugName: 'lab' });
    const prometheusUrl = await startPrometheus(service.url);
    await until(
      'the counting begins',
      async () => (await query(prometheusUrl, 'picket_check_metrics_cut')).length > 0,
    );
    const ids: string[] = [];
    for (const [name, url] of [
      ['shop', target.url],
      ['gone', 'http://127.0.0.1:1/'],
    ]) {
      const made = await service.call('POST', '/v1/checks/url', {
        ...{ name, frequency: 0, frequencyOffset: 10, privateLocations: ['lab'], tags: ['env:prod'] },
        ...{ retryStrategy: null, doubleCheck: false, request: { url } },
      });
      expect(made.status).toBe(201);
      ids.push(made.body.id);
    }
    const agent = startPicket(['agent'], {
      ...{ API_KEY: location.body.keys[0].rawKey, SERVICE_URL: service.url, CHECK_TYPES: 'URL' },
      ...{ AGENT_HEALTH_PORT: '0', SPOOL_DIR: join(folder.path, 'spool') },
    });
    processes.push(agent);
    const [shop = '', gone = ''] = ids;
    const has = (expression: string, value: (samples: readonly Sample[]) => boolean) =>
      until(expression, async () => value(await query(prometheusUrl, expression)), { process: agent });
    await has(`picket_check_up{check="${shop}"}`, ([one]) => one?.value[1] === '1');
    await has(`picket_check_up{check="${gone}"}`, ([one]) => one?.value[1] === '0');
    // Counters begin at 0, so that the first slot is visible; rates and rules have data.
    await has(
      `increase(picket_check_runs_total{check="${shop}",outcome="passed"}[5m]) > 0`,
      (all) => all.length > 0,
    );
    await has(
      `picket_check_up == 0 and on (check) picket_check_info{tag_env="prod"}`,
      ([one]) => one?.metric.name === 'gone',
    );
    await has('picket:check_availability:ratio_1h', (all) => all.length === 2);
    await has('picket:check_response:p95_1h{name="shop"} > 0', (all) => all.length === 1);
    await has('ALERTS{alertname="PicketCheckFails"}', ([one]) => one?.metric.name === 'gone');
    // The aliases have the labels that dashboards for blackbox_exporter use.
    await has('probe_success{job="picket-probes",instance="shop"}', ([one]) => one?.value[1] === '1');
    await has('probe_http_status_code{instance="shop"}', ([one]) => one?.value[1] === '200');
    await has('sum by (phase) (probe_http_duration_seconds{instance="shop"})', (all) => all.length === 4);
    const rules = await fetch(`${prometheusUrl}/api/v1/rules`);
    const { data } = (await rules.json()) as { data: { groups: { rules: { health: string }[] }[] } };
    expect(new Set(data.groups.flatMap((group) => group.rules.map(({ health }) => health)))).toEqual(
      new Set(['ok']),
    );
    for (const names of ['', '?phases=buckets', '?names=blackbox']) {
      const answer = await fetch(`${service.url}/metrics/checks${names}`, {
        headers: { authorization: `Bearer ${key}` },
      });
      const { status, stderr, stdout } = spawnSync('promtool', ['check', 'metrics'], {
        input: await answer.text(),
        encoding: 'utf8',
      });
      expect([status, stdout, stderr]).toEqual([0, '', '']);
    }
  }, 180_000);

  it('receives writes, including those that it missed while it was down', async () => {
    const processes: PicketProcess[] = [];
    ends.push(() => Promise.all(processes.map((each) => each.kill('SIGKILL'))));
    const folder = temporaryFolder();
    ends.push(() => folder.remove());
    const port = await freePort();
    const prometheusUrl = `http://127.0.0.1:${port}`;
    const service = await startServiceProcess(
      {
        ...{ BOOTSTRAP_API_KEY: key, DATA_DIR: folder.path, METRICS_TOKEN: 'metrics-token-of-the-test' },
        ...writeSettings(port),
      },
      (process) => processes.push(process),
    );
    const made = await service.call('POST', '/v1/checks/heartbeat', {
      ...{ name: 'Brötchen "früh"', tags: ['env:prod'] },
      heartbeat: { period: 1, periodUnit: 'days', grace: 1, graceUnit: 'days' },
    });
    expect(made.status).toBe(201);
    const isAway = () =>
      service.process.output().includes('the remote-write receiver is unavailable; samples wait');
    await until('the receiver is missed', isAway, { process: service.process });
    const beganMs = Date.now();
    const config = join(folder.path, 'prometheus.yaml');
    writeFileSync(config, '{}');
    spawnPrometheus(port, config, folder.path, '--web.enable-remote-write-receiver');
    const info = 'picket_check_info{tag_env="prod",type="HEARTBEAT"}';
    await until('it is written to', async () => (await query(prometheusUrl, info)).length > 0);
    const [one] = await query(prometheusUrl, info);
    expect(one?.metric).toMatchObject({ name: 'Brötchen "früh"', check: made.body.id });
    const [series] = await query(prometheusUrl, 'picket_check_metrics_cut[5m]');
    const [[firstSeconds] = [Number.NaN]] = series?.values ?? [];
    expect(firstSeconds * 1000).toBeLessThan(beganMs);
    await until('it is known again', () => service.process.output().includes('accepts samples again'));
    const metrics = await fetch(`${service.url}/metrics`, {
      headers: { authorization: 'Bearer metrics-token-of-the-test' },
    });
    const text = await metrics.text();
    expect(text).toMatch(/picket_remote_write_samples_total\{outcome="sent"\} [1-9]/);
    expect(text).not.toMatch(/picket_remote_write_samples_total\{outcome="(refused|dropped)"/);
  }, 60_000);

  it('accepts the rules of the repository', async () => {
    for (const { text } of blocksOf('docs/how-to/prometheus.md').filter((block) =>
      block.text.includes('promtool'),
    )) {
      const { stdout } = await run('sh', ['-c', text], { cwd: root });
      expect(stdout).toContain('SUCCESS');
    }
    await run('promtool', ['check', 'rules', join(root, 'deploy/prometheus/rules.yaml')]);
  });
});
