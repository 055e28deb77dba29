import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { HttpProbeResult } from '../../../src/probes/http/probe.ts';
import { NetworkLab, whyNoNamespaces } from '../../helpers/wire/network-namespaces.ts';

const reason = whyNoNamespaces();
const program = new URL('../../helpers/wire/wire-probe-main.ts', import.meta.url).pathname;
const serverScript =
  "require('node:http').createServer((q, a) => a.end('x')).listen(8080, () => console.log('listening'))";

type Answer = Pick<HttpProbeResult, 'phases' | 'elapsedMs' | 'measurement'> & { readonly error?: string };

/** The next line of a program's output. */
async function nextLine(lines: AsyncIterator<string>): Promise<string> {
  const { value, done } = await lines.next();
  if (done) throw new Error('the process has ended');
  return value;
}

describe.skipIf(reason)(`connecting over a separate network${reason ? ` (${reason})` : ''}`, () => {
  let lab: NetworkLab;
  const children: ChildProcess[] = [];
  let input: NodeJS.WritableStream;
  let answers: AsyncIterator<string>;

  function start(host: 'agent' | 'target', words: readonly string[]) {
    const [command = '', ...rest] = lab.commandOn(host, [process.execPath, ...words]);
    const child = spawn(command, rest, { stdio: ['pipe', 'pipe', 'inherit'] });
    children.push(child);
    return { input: child.stdin, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() };
  }

  async function probed(url: string): Promise<Answer> {
    input.write(`${url}\n`);
    return JSON.parse(await nextLine(answers)) as Answer;
  }

  beforeAll(async () => {
    lab = new NetworkLab();
    const server = start('target', ['-e', serverScript]);
    await nextLine(server.lines);
    const prober = start('agent', [program]);
    input = prober.input;
    answers = prober.lines;
    // Resolves the neighbours, and loads the parser.
    await probed('http://10.80.2.1:8080/');
  });
  afterAll(async () => {
    for (const child of children) child.kill('SIGKILL');
    lab?.[Symbol.dispose]();
  });

  it('takes as long as the round trip', async () => {
    const { phases, measurement } = await probed('http://10.80.2.1:8080/');
    expect(measurement.clock).toBe('kernel');
    expect(phases?.tcp).toBeGreaterThan(0);
  });

  it('shows a lost SYN, which the round trip alone would hide', async () => {
    const match = 'INPUT -p tcp --syn --dport 8080';
    lab.exec('target', `iptables -A ${match} -m statistic --mode nth --every 2 --packet 0 -j DROP`);
    const { phases, error } = await probed('http://10.80.2.1:8080/');
    lab.restore();
    expect(error).toBeUndefined();
    // The kernel retransmits a SYN after a second.
    expect(phases?.tcp).toBeGreaterThanOrEqual(990);
  });

  it('reports how long a refusal took', async () => {
    const { error, elapsedMs, measurement } = await probed('http://10.80.2.1:8081/');
    expect(error).toBe('connection-refused');
    expect(measurement.clock).toBe('kernel');
    expect(elapsedMs).toBeGreaterThan(0);
  });

  it.each([
    ['IPv4', 'http://10.80.4.1:8080/'],
    ['IPv6', 'http://[fd80:4::1]:8080/'],
  ])(
    'attributes the reply of a firewall on the path to the path, not to this host: %s',
    async (_family, url) => {
      expect((await probed(url)).error).toBe('host-unreachable');
    },
  );

  it('attributes packets that this host itself blocks to this host', async () => {
    lab.exec('agent', 'ip -6 route add prohibit fd80:5::/64');
    lab.exec('agent', 'ip route add prohibit 10.80.5.0/24');
    for (const url of ['http://[fd80:5::1]:8080/', 'http://10.80.5.1:8080/']) {
      expect((await probed(url)).error, url).toBe('network-unavailable');
    }
  });
});
