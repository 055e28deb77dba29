import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TracerouteDetail } from '../../../src/checks/traceroute/detail.ts';
import { analyse } from '../../../src/service/analyses/analyse.ts';
import { evidenceOf, storedRun } from '../../helpers/analyses/real-runs.ts';
import { sampleOf } from '../../helpers/night.ts';
import { diagnosedRuns } from '../../helpers/wire/diagnosed-runs.ts';
import { whyNoNamespaces } from '../../helpers/wire/network-namespaces.ts';
import {
  addressOf,
  addressOf6,
  forwarded,
  RouteLab,
  shapes,
  shapes6,
  twoWays,
  whyNoTraceroute,
} from '../../helpers/wire/route-lab.ts';

const reason = whyNoNamespaces() ?? whyNoTraceroute();
const protocols = ['TCP', 'UDP', 'ICMP'] as const;
type Protocol = (typeof protocols)[number];
const limits = { maxHops: 10, maxUnknownHops: 10, ptrLookup: false };
const waits = ['-q', '3', '-w', '1', '-m', '10', '-N', '10'];
const optionsOf = {
  TCP: ['-T', '-p', '443'],
  UDP: ['-U', '-p', '33434'],
  ICMP: ['-I'],
} as const satisfies Record<Protocol, readonly string[]>;

interface Case {
  readonly protocol: Protocol;
  readonly shape: string;
  readonly address: string;
}

const all: readonly Case[] = protocols.flatMap((protocol) => [
  ...Object.entries(shapes).map(([shape, last]) => ({ protocol, shape, address: addressOf(last) })),
  ...Object.entries(shapes6).map(([shape, last]) => ({ protocol, shape, address: addressOf6(last) })),
  ...Object.entries(forwarded).flatMap(([shape, last]) =>
    [addressOf(last), addressOf6(last)].map((address) => ({
      protocol,
      shape: `forwarded ${shape}`,
      address,
    })),
  ),
]);
const cases = sampleOf(all, 8);

describe.skipIf(reason)(`traceroute monitors${reason ? ` (${reason})` : ''}`, () => {
  let lab: RouteLab;
  let folder: string;
  beforeAll(() => {
    lab = new RouteLab();
    folder = mkdtempSync(join(tmpdir(), 'picket-traceroute-'));
  });
  afterAll(() => {
    lab[Symbol.dispose]();
    rmSync(folder, { recursive: true });
  });

  /** Runs checks at once, in an unprivileged process. */
  async function runAll(requests: readonly Readonly<Record<string, unknown>>[], rest = {}) {
    const order = { checkType: 'TRACEROUTE', requests, rest, isConcurrent: true, timeoutMs: 20_000 } as const;
    const runs = await diagnosedRuns(order, { folder, lab, rights: 'without-capabilities' });
    return runs.map(({ failure, detail, responseTimeMs }) => {
      const { response } = TracerouteDetail.parse(detail);
      if (!response) throw new Error(`no response: ${failure?.message}`);
      return { failure, detail, response, responseTimeMs };
    });
  }

  /** The root cause of a failed run. */
  function causeOf(run: Awaited<ReturnType<typeof runAll>>[number] | undefined): string {
    const failed = storedRun(
      'TRACEROUTE',
      {
        ...{ failure: run?.failure, responseTimeMs: 0, detail: run?.detail, errorMessages: [] },
        ...{ isDegraded: null, overMaxResponseTime: null },
      },
      '2026-01-01T00:00:00.000Z',
    );
    return analyse(evidenceOf(failed)).rootCause;
  }

  it(`finds the same as the distribution's program, ${cases.length} times`, async () => {
    const ours: Awaited<ReturnType<typeof runAll>> = [];
    const theirs: Awaited<ReturnType<RouteLab['traceroute']>>[] = [];
    // One protocol at a time, and the other program first: the host drops packets of larger bursts
    // (net.core.netdev_max_backlog), and the target drops every third packet to one address.
    for (const protocol of protocols) {
      const some = cases.filter((one) => one.protocol === protocol);
      const options = [...waits, ...optionsOf[protocol]];
      theirs.push(...(await Promise.all(some.map(({ address }) => lab.traceroute([...options, address])))));
      ours.push(...(await runAll(some.map(({ address: url }) => ({ ...limits, url, protocol })))));
    }
    const summaries = cases.map((one, index) => {
      const [mine, other] = [ours[index], theirs[index]];
      const hops = mine?.response.hops.map(({ ips }) => [...ips].sort()) ?? [];
      const last = hops.findLastIndex((addresses) => addresses.length > 0);
      const isReachedThere =
        other?.hops.at(-1)?.includes(one.address) && !other.endsInSilence && other.marks.length === 0;
      const name = `${one.protocol} ${one.shape} ${one.address}`;
      return {
        ours: { name, hops: hops.slice(0, last + 1), isReached: mine?.response.destinationReached },
        theirs: { name, hops: other?.hops, isReached: isReachedThere },
      };
    });
    expect(summaries.map(({ ours: mine }) => mine)).toEqual(summaries.map(({ theirs: other }) => other));
  });

  it('gives each shape its failure, which names the last hop that replied', async () => {
    const of = (protocol: Protocol) => ({ ...limits, protocol });
    const runs = await runAll([
      { ...of('TCP'), url: addressOf(shapes.plain) },
      { ...of('TCP'), url: addressOf(shapes.dropped) },
      { ...of('UDP'), url: addressOf(shapes.hostUnreachable) },
      { ...of('ICMP'), url: addressOf(shapes.rejectedByTarget) },
      { ...of('TCP'), url: addressOf(shapes.loop) },
      { ...of('TCP'), url: addressOf(shapes.silentWay) },
      { ...of('TCP'), url: addressOf(shapes.plain), maxHops: 2 },
      { ...of('UDP'), url: addressOf6(shapes6.prohibited) },
    ]);
    const [plain, dropped, unreachable, rejected, loop, silent, short, prohibited] = runs.map(
      ({ failure }) => `${failure?.code ?? 'passes'}: ${failure?.message ?? ''}`,
    );
    expect(plain).toBe('passes: ');
    expect(dropped).toMatch(/^NO_REPLY: .*the last response came from hop 3 \(10\.90\.9\.2\)/);
    expect(unreachable).toMatch(
      /^HOST_UNREACHABLE: .* ends at hop 4 \(10\.90\.9\.2\), which says: destination host unr/,
    );
    expect(rejected).toMatch(
      /^HOST_UNREACHABLE: .* ends at hop 4 \(10\.90\.100\.4\), which says: packet filtered/,
    );
    expect(loop).toMatch(/^NO_REPLY: .*loop between 10\.90\.\d\.\d and 10\.90\.\d\.\d$/);
    expect(silent).toBe('passes: ');
    expect(short).toMatch(/^NO_REPLY: .*not among the first 2 hops; the last response came from hop 2/);
    expect(prohibited).toMatch(/^HOST_UNREACHABLE: .*administratively prohibited/);
  });

  it('counts the hops to the address of the target, even if a router has it and forwards the probes', async () => {
    const answering = protocols.flatMap((protocol) =>
      [addressOf, addressOf6].map((of) => ({ ...limits, protocol, url: of(forwarded.answers) })),
    );
    const silent = { ...limits, url: addressOf(forwarded.silent) };
    const runs = await runAll([
      ...answering,
      silent,
      { ...silent, maxHops: 3 },
      { ...silent, url: addressOf6(forwarded.silent).toUpperCase() },
      { ...limits, url: addressOf(forwarded.rejected) },
    ]);
    for (const [index, { url }] of answering.entries()) {
      const { failure, response } = runs[index] ?? {};
      expect(failure).toBeUndefined();
      // The host behind the router replies, and its latency and loss count.
      expect(response).toMatchObject({
        ...{ destinationReached: true, packetLoss: 0, finalHopLatency: response?.hops[3]?.rtt },
        ...{ totalHops: 3, lastHop: { hopNumber: 3, ip: url } },
      });
      expect(response?.hops.map(({ mainIp }) => mainIp).slice(2)).toEqual([url, url]);
    }
    const messages = runs
      .slice(answering.length)
      .map(({ failure }) => `${failure?.code}: ${failure?.message}`);
    const forwards = 'hop 3 has that address and forwards the probes';
    expect(messages).toEqual([
      `NO_REPLY: 10.90.100.32 does not respond: ${forwards}, and the host behind it is silent`,
      `NO_REPLY: 10.90.100.32 was not reached: ${forwards}, and the host behind it is not among the first 3 hops`,
      `NO_REPLY: FD90:100::32 does not respond: ${forwards}, and the host behind it is silent`,
      `HOST_UNREACHABLE: The path to 10.90.100.33 ends behind hop 3, which has that address and forwards the probes: hop 4 (10.90.100.33) says: packet filtered (type 3, code 13)`,
    ]);
    expect(causeOf(runs[answering.length])).toMatch(
      /^Likely: The address of 10\.90\.100\.32 responds, but the host to which it forwards/,
    );
  });

  it('does not count probes as lost that a router on a longer path to the target replied to', async () => {
    const runs = await runAll(
      protocols.flatMap((protocol) => Array(4).fill({ ...limits, protocol, url: twoWays })),
    );
    for (const { failure, response } of runs) {
      expect(failure).toBeUndefined();
      const { totalHops, lastHop, packetLoss } = response;
      expect(packetLoss).toBe(0);
      expect(lastHop).toEqual({ hopNumber: totalHops, ip: twoWays });
    }
    const ends = runs.map(({ response }) => response.hops.at(-1)?.ips.length);
    expect(ends, 'both ways were taken').toContain(2);
  });

  it('counts losses of the target, but not of routers', async () => {
    const [lossy, silent] = await runAll(
      [addressOf(shapes.lossy), addressOf(shapes.silentHop)].map((url) => ({
        ...limits,
        url,
        protocol: 'ICMP',
        probesPerHop: 4,
        probeTimeoutMs: 500,
      })),
    );
    expect(lossy?.response.packetLoss).toBeGreaterThan(0);
    expect(lossy?.response).toMatchObject({ totalHops: 4, destinationReached: true });
    expect(silent?.response).toMatchObject({ packetLoss: 0, totalHops: 4 });
    expect(silent?.response.hops[1]).toMatchObject({
      mainIp: null,
      received: 0,
      sent: 4,
      lossPercentage: 100,
    });
  });

  it('detects an open port, leaves no connection there, and judges the route', async () => {
    const program = `require('net').createServer((s) => s.on('error', (e) => console.log(e.code)).resume()).listen(443, () => console.log('up'))`;
    const [command = '', ...args] = lab.commandOn('target', [process.execPath, '-e', program]);
    const server = spawn(command, args);
    const lines: string[] = [];
    server.stdout.on('data', (data) => lines.push(...String(data).trim().split('\n')));
    await expect.poll(() => lines).toContain('up');
    const path = (comparison: string, target: string) => ({ source: 'PATH', comparison, target });
    const [run, turned] = await runAll([
      { ...limits, url: addressOf(shapes.plain), assertions: [path('CONTAINS', '10.90.2.2')] },
      { ...limits, url: addressOf(shapes.plain), assertions: [path('NOT_CONTAINS', '10.90.2.2')] },
    ]);
    expect(run?.failure).toBeUndefined();
    expect(run?.response).toMatchObject({ destinationPort: 'open', totalHops: 4, packetLoss: 0 });
    expect(run?.responseTimeMs).toBe(run?.response.finalHopLatency?.avg);
    expect(turned?.failure?.code).toBe('ASSERTION_FAILED');
    await expect.poll(() => lines.filter((line) => line === 'ECONNRESET').length).toBeGreaterThan(2);
    server.kill();
  });

  it('fails by the location if that cannot send', async () => {
    lab.script('agent', 'ip route add unreachable 10.98.0.1/32');
    const [run] = await runAll([{ ...limits, url: '10.98.0.1' }]);
    expect(run?.failure).toMatchObject({ code: 'NETWORK_UNAVAILABLE', owner: 'location' });
    expect(run?.response).toMatchObject({ truncationReason: 'NOT_SENT', packetLoss: null });
  });
});
