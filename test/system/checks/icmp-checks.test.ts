import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { IcmpDetail } from '../../../src/checks/icmp/detail.ts';
import { program } from '../../helpers/program.ts';
import { commandWith, IcmpProcess } from '../../helpers/wire/icmp-process.ts';
import { NetworkLab, whyNoNamespaces } from '../../helpers/wire/network-namespaces.ts';

const reason = whyNoNamespaces();

describe.skipIf(reason)(`ICMP monitors${reason ? ` (${reason})` : ''}`, () => {
  let lab: NetworkLab;
  let icmp: IcmpProcess;

  beforeAll(async () => {
    lab = new NetworkLab();
    lab.exec('agent', 'sysctl -qw net.ipv4.ping_group_range=0\t2147483647');
    icmp = await IcmpProcess.start(lab, 'without-capabilities');
    for (const address of ['10.80.2.1', 'fd80:2::1']) await icmp.ping({ address, count: 2, intervalMs: 200 });
  });
  afterAll(async () => {
    await icmp.end();
    lab[Symbol.dispose]();
  });

  const target = { hostname: '10.80.2.1' };

  it('shows each request and the totals', async () => {
    const { detail, responseTimeMs, failure } = await icmp.check({ request: { ...target, pingCount: 4 } });
    expect(failure).toBeUndefined();
    expect(IcmpDetail.parse(detail)).toEqual(detail);
    const { request, response } = detail;
    expect(request).toEqual({ ...target, targetIp: '10.80.2.1', ipFamily: 'IPv4', pingCount: 4 });
    expect(response).toMatchObject({ packetsSent: 4, packetsReceived: 4, packetLoss: 0, packetSize: 64 });
    expect(response.pingResults.map(({ sequence }) => sequence)).toEqual([0, 1, 2, 3]);
    for (const result of response.pingResults) {
      expect(result).toMatchObject({
        success: true,
        type: 0,
        code: 0,
        ttl: 63,
        from: '10.80.2.1',
        error: null,
      });
    }
    const times = response.pingResults.map(({ rtt }) => rtt ?? Number.NaN);
    expect(response.latency).toMatchObject({ min: Math.min(...times), max: Math.max(...times) });
    expect(response.latency?.avg).toBeCloseTo(times.reduce((sum, time) => sum + time) / 4, 2);
    expect(responseTimeMs).toBe(response.latency?.avg);
  });

  it('sends ten requests by default, and for null', async () => {
    const { detail } = await icmp.check({ request: { ...target, pingCount: null, ipFamily: null } });
    expect(detail.response).toMatchObject({ packetsSent: 10, ipFamily: 'IPv4' });
  });

  it.each([
    [[], 0, undefined, false],
    [[3], 10, undefined, true],
    [[3, 7], 20, 'PACKET_LOSS_EXCEEDED', false],
    [[0, 2, 4, 6, 8], 50, 'PACKET_LOSS_EXCEEDED', false],
    [[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 100, 'NO_REPLY', false],
  ])(
    'of ten with %j lost: loss %i, failure %s, degraded %s',
    async (places, packetLoss, code, isDegraded) => {
      lab.drop(places);
      const outcome = await icmp.check({ request: target });
      lab.restore();
      expect(outcome.detail.response.packetLoss).toBe(packetLoss);
      expect(outcome.failure?.code).toBe(code);
      expect(outcome.isDegraded).toBe(isDegraded);
    },
  );

  it('fails without any reply even if any loss is allowed', async () => {
    lab.drop([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    const limits = { degradedPacketLossThreshold: null, maxPacketLossThreshold: null };
    const outcome = await icmp.check({ request: { ...target, pingCount: 2 }, ...limits });
    const welcome = await icmp.check({ request: { ...target, pingCount: 2 }, shouldFail: true });
    lab.restore();
    expect(outcome.failure).toMatchObject({ code: 'NO_REPLY', owner: 'target' });
    expect(outcome.responseTimeMs).toBe(0);
    expect(outcome.detail.response.latency).toBeNull();
    expect(welcome.failure).toBeUndefined();
  });

  it.each([
    ['10.80.3.1', 'destination host unreachable (type 3, code 1) from 10.80.1.2'],
    ['10.80.4.1', 'packet filtered (type 3, code 13) from 10.80.1.2'],
    ['fd80:4::1', 'destination unreachable: administratively prohibited (type 1, code 1) from fd80:1::2'],
  ])('names the router that replied for %s', async (hostname, words) => {
    const { failure, detail } = await icmp.check({ request: { hostname, pingCount: 3 } });
    expect(failure).toMatchObject({ code: 'HOST_UNREACHABLE', owner: 'target' });
    expect(failure?.message).toContain(`3 × ${words}`);
    expect(detail.response.pingResults[0]).toMatchObject({ success: false, ttl: null });
  });

  it.each(['10.99.0.1', 'fd99::1'])('blames the location if it has no route to %s', async (hostname) => {
    const { failure, detail } = await icmp.check({ request: { hostname, pingCount: 2 } });
    expect(failure).toMatchObject({ code: 'NETWORK_UNAVAILABLE', owner: 'location' });
    expect(failure?.message).toContain('ENETUNREACH');
    expect(detail.response).toMatchObject({ packetsSent: 0, packetLoss: null });
    const inverted = await icmp.check({ request: { hostname, pingCount: 2 }, shouldFail: true });
    expect(inverted.failure?.owner).toBe('location');
  });

  it('counts packets dropped by its own firewall as lost, like ping, and blames no target for it', async () => {
    const drop = (rule: string) =>
      lab.exec('agent', `iptables ${rule} OUTPUT -p icmp -d 10.80.2.1 ${half} -j DROP`);
    const half = '-m statistic --mode nth --every 2 --packet 0';
    drop('-A');
    const tolerant = { degradedPacketLossThreshold: null, maxPacketLossThreshold: null };
    const passed = await icmp.check({ request: target, ...tolerant });
    const own = await icmp.check({ request: target });
    lab.exec('target', 'sysctl -qw net.ipv4.icmp_echo_ignore_all=1');
    const dead = await icmp.check({ request: target });
    lab.exec('target', 'sysctl -qw net.ipv4.icmp_echo_ignore_all=0');
    drop('-D');
    expect(passed.failure).toBeUndefined();
    for (const { detail } of [passed, own]) {
      expect(detail.response).toMatchObject({ packetsSent: 10, packetsReceived: 5, packetLoss: 50 });
    }
    expect(own.failure).toMatchObject({ code: 'NETWORK_UNAVAILABLE', owner: 'location' });
    expect(own.failure?.message).toContain('EPERM');
    expect(dead.failure).toMatchObject({ code: 'NO_REPLY', owner: 'target' });
    expect(dead.failure?.message).toContain('5 × not sent: EPERM');
  });

  it('compares latency and the document in assertions, also with shouldFail', async () => {
    const assertions = [
      { source: 'LATENCY', property: 'max', comparison: 'LESS_THAN', target: '1000' },
      { source: 'LATENCY', property: 'stdDev', comparison: 'GREATER_THAN', target: '1000' },
      { source: 'JSON_RESPONSE', property: '$.packetLoss', comparison: 'EQUALS', target: '0' },
      { source: 'JSON_RESPONSE', property: '$.pingResults[*].ttl', comparison: 'GREATER_THAN', target: '60' },
    ];
    const outcome = await icmp.check({ request: { ...target, pingCount: 2, assertions } });
    expect(outcome.detail.assertions.map(({ error }) => error === null)).toEqual([true, false, true, true]);
    expect(outcome.failure?.code).toBe('ASSERTION_FAILED');
    const silent = await icmp.check({
      request: { hostname: '10.80.3.1', pingCount: 1, assertions: assertions.slice(0, 1) },
      shouldFail: true,
    });
    expect(silent.failure?.code).toBe('ASSERTION_FAILED');
    expect(silent.detail.assertions[0]?.error).toContain('no echo request was answered');
  });

  it.each([
    ['10.80.2.1', 'frag needed and df set (type 3, code 4), MTU 1400', '10.80.1.2'],
    ['fd80:2::1', 'packet too big (type 2, code 0), MTU 1400', 'fd80:1::2'],
  ])('detects whether packets of a size reach %s unfragmented', async (hostname, error, from) => {
    // The MTU of the link to the target is 1400 bytes, including the IP header.
    const headerBytes = hostname.includes(':') ? 40 : 20;
    const ping = (packetSize: number, dontFragment: boolean) =>
      icmp.check({ request: { hostname, pingCount: 2, packetSize, dontFragment } });
    const fits = await ping(1400 - headerBytes, true);
    expect(fits.failure).toBeUndefined();
    expect(fits.detail.response).toMatchObject({ packetSize: 1400 - headerBytes, packetsReceived: 2 });
    const tooLarge = await ping(1401 - headerBytes, true);
    expect(tooLarge.failure).toMatchObject({ code: 'HOST_UNREACHABLE', owner: 'target' });
    // Each one probes the path: the kernel does not refuse the second because of the first.
    for (const result of tooLarge.detail.response.pingResults) expect(result).toMatchObject({ error, from });
    const inPieces = await ping(1401 - headerBytes, false);
    expect(inPieces.failure).toBeUndefined();
    expect(inPieces.detail.response).toMatchObject({ packetsReceived: 2, packetLoss: 0 });
    const tooLargeForUs = await ping(1501 - headerBytes, true);
    expect(tooLargeForUs.failure).toMatchObject({ code: 'NETWORK_UNAVAILABLE', owner: 'location' });
    expect(tooLargeForUs.failure?.message).toContain('exceed the MTU of this location without fragmentation');
  });

  it('loses no request to a path with a small MTU if it may fragment', async () => {
    lab.exec('agent', 'ip route flush cache');
    const request = { hostname: '10.80.2.1', pingCount: 1, packetSize: 1400 };
    expect((await icmp.check({ request })).detail.response).toMatchObject({ packetsReceived: 1 });
  });

  it('stops at its limit and reports its progress', async () => {
    const outcome = await icmp.check({ request: { ...target, pingCount: 50 } }, 150);
    expect(outcome.failure).toMatchObject({ code: 'RESPONSE_TIMEOUT', owner: 'target' });
    expect(outcome.failure?.message).toMatch(/with \d+ of 50 requests done/);
  });

  it('fails by the location if pings are not allowed there, without packet loss', () => {
    const folder = mkdtempSync(join(tmpdir(), 'picket-icmp-'));
    const file = join(folder, 'ping.yaml');
    writeFileSync(file, 'checkType: ICMP\nrequest:\n  hostname: 10.80.2.1\n  pingCount: 1\n');
    const [command = '', ...words] = commandWith(lab, 'without-capabilities', [program, 'run', file]);
    const open = spawnSync(command, words);
    lab.exec('agent', 'sysctl -qw net.ipv4.ping_group_range=1\t0');
    const closed = spawnSync(command, words);
    rmSync(folder, { recursive: true });
    expect(String(open.stdout)).toContain('PASSED');
    expect(open.status).toBe(0);
    expect(String(closed.stdout)).toContain('ICMP_UNAVAILABLE (the location, not the target)');
    expect(String(closed.stdout)).toContain('net.ipv4.ping_group_range');
    expect(closed.status).not.toBe(0);
  });

  it('uses IPv4 for names if IPv6 is disabled, and says so', async () => {
    lab.exec('agent', 'sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.lo.disable_ipv6=1');
    const named = await icmp.check({ request: { hostname: 'localhost', pingCount: 1, ipFamily: 'IPv6' } });
    expect(named.failure).toBeUndefined();
    expect(named.detail.response).toMatchObject({ ipFamily: 'IPv4', resolvedIp: '127.0.0.1' });
    expect(named.detail.jobLog?.request[0]?.msg).toContain('IPv6 is disabled');
    const literal = await icmp.check({ request: { hostname: 'fd80:2::1', pingCount: 1 } });
    expect(literal.failure?.owner).toBe('location');
  });
});
