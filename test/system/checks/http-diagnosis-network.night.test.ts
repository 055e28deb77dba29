import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  captureOf,
  type DiagnosedOrder,
  diagnosedRuns,
  remarksOf,
  routeOf,
} from '../../helpers/wire/diagnosed-runs.ts';
import type { Rights } from '../../helpers/wire/icmp-process.ts';
import { NetworkLab, whyNoNamespaces } from '../../helpers/wire/network-namespaces.ts';

const reason = whyNoNamespaces();

/** Accepts connections, and resets each one once it receives data. */
const resetter = `
  const server = require('node:net').createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.once('data', () => socket.resetAndDestroy());
  });
  server.listen(8080, '::', () => console.log('ready'));
`;

describe.skipIf(reason)(`diagnosis across routers${reason ? ` (${reason})` : ''}`, () => {
  let lab: NetworkLab;
  let target: ReturnType<typeof spawn>;
  let folder: string;

  beforeAll(async () => {
    lab = new NetworkLab();
    const [command = '', ...words] = lab.commandOn('target', [process.execPath, '--eval', resetter]);
    target = spawn(command, words, { stdio: ['ignore', 'pipe', 'inherit'] });
    if (target.stdout) await once(target.stdout, 'data');
  });
  afterAll(async () => {
    const exit = once(target, 'exit');
    target.kill('SIGKILL');
    await exit;
    lab[Symbol.dispose]();
  });
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'picket-diagnosis-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const allowPing = (isAllowed: boolean) =>
    lab.exec('agent', `sysctl -qw net.ipv4.ping_group_range=${isAllowed ? '0\t2147483647' : '1\t0'}`);
  const runOne = async (url: string, rest: { readonly rights?: Rights } & Partial<DiagnosedOrder> = {}) => {
    const { rights, ...order } = rest;
    const isIpv6 = url.includes('[');
    const requests = [{ url, ...(isIpv6 && { ipFamily: 'IPv6' }) }];
    const [run] = await diagnosedRuns({ requests, ...order }, { folder, lab, ...(rights && { rights }) });
    if (!run) throw new Error('no run');
    return run;
  };

  it.each([
    ['http://10.80.2.1:8080/', '10.80.1.2', '10.80.2.1', 'reset'],
    ['http://[fd80:2::1]:8080/', 'fd80:1::2', 'fd80:2::1', 'reset'],
    ['http://10.80.2.1:81/', '10.80.1.2', '10.80.2.1', 'refused'],
  ])('shows the route to %s', async (url, router, address, kind) => {
    const run = await runOne(url);
    expect(run.failure?.code).toBe(kind === 'reset' ? 'CONNECTION_RESET' : 'CONNECTION_REFUSED');
    const times = '( +\\d+\\.\\d{3} ms){3}$';
    expect(routeOf(run)).toMatch(new RegExp(`^ 1 {2}${router}${times}`, 'm'));
    expect(routeOf(run)).toMatch(new RegExp(`^ 2 {2}${address}${times}`, 'm'));
    expect(routeOf(run)).toContain('the target responded in hop 2');
    const { segments } = captureOf(run);
    expect(segments.map(({ flags }) => flags).join(' ')).toMatch(
      kind === 'reset' ? /^S S\. .* R/ : /^S R\.$/,
    );
  });

  it('captures the errors of routers about that connection, and names their senders', async () => {
    const run = await runOne('http://10.80.4.1:8080/');
    expect(run.failure?.code).toBe('HOST_UNREACHABLE');
    const { segments, errors } = captureOf(run);
    expect(errors).toContainEqual(
      expect.objectContaining({ source: '10.80.1.2', type: 3, code: 13, quotedBytes: 8 }),
    );
    expect(segments.map(({ sourcePort }) => sourcePort)).toContain(errors[0]?.quotedPorts[0]);
    expect(routeOf(run)).toMatch(/^ 2 {2}10\.80\.1\.2 .*packet filtered \(type 3, code 13\)$/m);
    expect(routeOf(run)).toContain('the last hop reports that there is no route');
  });

  it('captures them over IPv6 too', async () => {
    lab.exec('router', 'ip6tables -A FORWARD -d fd80:3::/64 -j REJECT --reject-with icmp6-addr-unreachable');
    const run = await runOne('http://[fd80:3::1]:8080/');
    expect(run.failure?.code).toBe('HOST_UNREACHABLE');
    expect(captureOf(run).errors[0]).toMatchObject({ type: 1, code: 3, quotedBytes: 8 });
    expect(routeOf(run)).toMatch(/^ 2 {2}fd80:1::2 .*address unreachable/m);
  });

  it('shows where the silence begins', async () => {
    lab.exec('target', 'iptables -A INPUT -p tcp --dport 82 -j DROP');
    lab.exec('target', 'iptables -A INPUT -p icmp -j DROP');
    try {
      const run = await runOne('http://10.80.2.1:82/', { timeoutMs: 10_000 });
      expect(run.failure?.code).toBe('CONNECTION_TIMEOUT');
      expect(
        captureOf(run)
          .segments.map(({ flags }) => flags)
          .join(''),
      ).toMatch(/^S+$/);
      expect(routeOf(run)).toMatch(/^ 1 {2}10\.80\.1\.2 /m);
      expect(routeOf(run)).not.toMatch(/^ 2 /m);
      expect(routeOf(run)).toContain('no response from behind the last hop');
    } finally {
      lab.exec('target', 'iptables -F INPUT');
    }
  }, 180_000);

  it('ends the traceroute with the time limit of the run', async () => {
    lab.exec('target', 'iptables -A INPUT -p icmp -j DROP');
    try {
      const run = await runOne('http://10.80.2.1:81/', { timeoutMs: 1700 });
      expect(run.failure?.code).toBe('CONNECTION_REFUSED');
      expect(routeOf(run)).toMatch(/^ 2 {2}\* .*no reply$/m);
      expect(routeOf(run)).toContain('the time limit was reached');
    } finally {
      lab.exec('target', 'iptables -F INPUT');
    }
  });

  it('finds the route without privileges, and explains in a line why there is no capture', async () => {
    allowPing(true);
    const run = await runOne('http://10.80.2.1:8080/', { rights: 'without-capabilities' });
    expect(run.failure?.code).toBe('CONNECTION_RESET');
    expect(run.detail).toMatchObject({ pcapDataUrl: null, jobAssets: ['traceroute.txt'] });
    expect(remarksOf(run)).toEqual([
      'Diagnosis: no packet capture: the agent lacks the capability NET_RAW (socket EPERM)',
      'Diagnosis: traceroute.txt: the target responded in hop 2',
    ]);
    expect(routeOf(run)).toContain('ICMP datagram sockets');
  });

  it('explains in one line each what is missing if nothing is allowed', async () => {
    allowPing(false);
    const run = await runOne('http://10.80.2.1:8080/', { rights: 'without-capabilities' });
    expect(run.detail).toMatchObject({ pcapDataUrl: null, jobAssets: null });
    expect(remarksOf(run)).toEqual([
      expect.stringContaining('no packet capture: the agent lacks the capability NET_RAW'),
      expect.stringMatching(/no traceroute: ICMP is unavailable on this host: .*ping_group_range/),
    ]);
  });
});
