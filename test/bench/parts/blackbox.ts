import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm, writeFile } from 'node:fs/promises';
import { Agent, get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../helpers/free-port.ts';
import { answersOk } from '../../helpers/picket-process.ts';

/** The peer: Debian's prometheus-blackbox-exporter. */
export interface Blackbox extends AsyncDisposable {
  readonly pid: number;
  /** Host and port of its API. */
  readonly address: string;
  /**
   * One probe through its API.
   *
   * @returns its metrics by name with labels, such as `probe_success` and
   * `probe_http_duration_seconds{phase="connect"}`.
   */
  probe(module: 'http' | 'tcp' | 'dns' | 'icmp', target: string): Promise<ReadonlyMap<string, number>>;
}

const configuration = (dnsName: string) => `
modules:
  http:
    prober: http
    timeout: 10s
    http: { preferred_ip_protocol: ip4, tls_config: { insecure_skip_verify: true } }
  tcp:
    prober: tcp
    timeout: 5s
    tcp: { preferred_ip_protocol: ip4 }
  dns:
    prober: dns
    timeout: 5s
    dns: { preferred_ip_protocol: ip4, query_name: "${dnsName}", query_type: A }
  icmp:
    prober: icmp
    timeout: 5s
    icmp: { preferred_ip_protocol: ip4 }
`;

/** @param dnsName the name that its DNS module queries. */
export async function startBlackbox(dnsName = 'www.bench.test'): Promise<Blackbox> {
  const path = join(tmpdir(), `picket-bench-${crypto.randomUUID()}.yml`);
  await writeFile(path, configuration(dnsName));
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const child = spawn(
    'prometheus-blackbox-exporter',
    [`--config.file=${path}`, `--web.listen-address=127.0.0.1:${port}`, '--log.level=error'],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  );
  const ended = once(child, 'exit');
  while (!(await answersOk(`${origin}/-/healthy`))) {
    if (child.exitCode !== null) throw new Error('blackbox_exporter ended');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const agent = new Agent({ keepAlive: true });
  return {
    pid: child.pid ?? 0,
    address: `127.0.0.1:${port}`,
    async probe(module, target) {
      const query = new URLSearchParams({ module, target });
      return parseMetrics(await textOf(`${origin}/probe?${query}`, agent));
    },
    async [Symbol.asyncDispose]() {
      agent.destroy();
      child.kill('SIGKILL');
      await ended;
      await rm(path, { force: true });
    },
  };
}

function textOf(url: string, agent: Agent): Promise<string> {
  return new Promise((resolve, reject) => {
    get(url, { agent }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part) => {
        text += part;
      });
      response.on('end', () => resolve(text));
      response.on('error', reject);
    }).on('error', reject);
  });
}

function parseMetrics(text: string): ReadonlyMap<string, number> {
  const metrics = new Map<string, number>();
  for (const line of text.split('\n')) {
    const space = line.lastIndexOf(' ');
    if (line !== '' && !line.startsWith('#'))
      metrics.set(line.slice(0, space), Number(line.slice(space + 1)));
  }
  return metrics;
}
