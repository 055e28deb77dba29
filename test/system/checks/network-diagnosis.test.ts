import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { answerTo, startDnsServer } from '../../helpers/dns/dns-server.ts';
import { closedPort, startTcpTarget } from '../../helpers/targets/tcp-target.ts';
import {
  captureOf,
  type DiagnosedOrder,
  diagnosedRuns,
  remarksOf,
  routeOf,
} from '../../helpers/wire/diagnosed-runs.ts';
import { NetworkLab, whyNoNamespaces } from '../../helpers/wire/network-namespaces.ts';

// Captures need NET_RAW, like the namespaces of other tests.
const reason = whyNoNamespaces();
const secret = 'hunter2-very-secret';

describe.skipIf(reason)(`diagnosis of failed TCP, DNS and ICMP checks${reason ? ` (${reason})` : ''}`, () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'picket-diagnosis-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  async function runOne(
    checkType: NonNullable<DiagnosedOrder['checkType']>,
    request: Readonly<Record<string, unknown>>,
    { lab, ...order }: Partial<DiagnosedOrder> & { readonly lab?: NetworkLab } = {},
  ) {
    const [run] = await diagnosedRuns({ checkType, requests: [request], ...order }, { folder, lab });
    if (!run) throw new Error('no run');
    return run;
  }
  const kept = {
    ...{ pcapDataUrl: 'network.pcap', jobAssets: ['traceroute.txt'] },
    route: { end: expect.any(String), hops: expect.any(Array) },
  };
  const nothing = { pcapDataUrl: null, jobAssets: null, jobLog: null };

  it('keeps the handshake that a port refused, and the route', async () => {
    const port = await closedPort();
    const run = await runOne('TCP', { hostname: '127.0.0.1', port });
    expect(run.failure?.code).toBe('CONNECTION_REFUSED');
    expect(run.detail).toMatchObject(kept);
    expect(captureOf(run).segments.map(({ flags }) => flags)).toEqual(['S', 'R.']);
    expect(routeOf(run)).toContain('the target responded in hop 1');
    expect(remarksOf(run)[0]).toContain('network.pcap has 2 packets; the connection was repeated and failed');
    // The duration of the diagnosis does not count as lateness of the agent.
    expect(run.measurement?.waitedMs).toBeGreaterThan(run.responseTimeMs);
  });

  it('sends the data of a TCP monitor once, and keeps no byte of it', async () => {
    await using target = await startTcpTarget('banner-then-reset');
    const run = await runOne('TCP', { hostname: '127.0.0.1', port: target.port, data: secret });
    expect(run.failure?.code).toBe('CONNECTION_RESET');
    expect(remarksOf(run)[0]).toContain('the connection was repeated and was made');
    const { segments } = captureOf(run);
    expect(segments.length).toBeGreaterThan(2);
    expect(segments.every(({ keptBytes }) => keptBytes === 0)).toBe(true);
    expect(readFileSync(join(run.folder, 'network.pcap')).toString('latin1')).not.toContain(secret);
  });

  it('queries a name server again, and keeps only the head of each message', async () => {
    await using server = await startDnsServer((query) => [answerTo(query, []).subarray(0, 20)]);
    const request = { query: `${secret}.test`, recordType: 'A', nameServer: '127.0.0.1', port: server.port };
    const run = await runOne('DNS', request);
    expect(run.failure?.code).toBe('RESPONSE_MALFORMED');
    expect(run.detail).toMatchObject(kept);
    const { datagrams } = captureOf(run);
    expect(datagrams.map(({ destinationPort }) => destinationPort === server.port)).toEqual([true, false]);
    expect(server.queries).toHaveLength(2);
    for (const { kept: head, payloadBytes } of datagrams) {
      expect(head).toHaveLength(12);
      expect(payloadBytes).toBeGreaterThan(12);
    }
    const id = server.queries[1]?.packet.id;
    expect(datagrams.map(({ kept: head }) => head.readUInt16BE(0))).toEqual([id, id]);
    expect(readFileSync(join(run.folder, 'network.pcap')).toString('latin1')).not.toContain('hunter2');
    expect(remarksOf(run)[0]).toMatch(
      /has 2 packets; the query was repeated and failed again: .* is not a DNS message/,
    );
  });

  it('captures the error of a closed UDP port', async () => {
    const request = { query: 'www.test', recordType: 'A', nameServer: '127.0.0.1', port: await closedPort() };
    const run = await runOne('DNS', request);
    expect(run.failure?.code).toBe('CONNECTION_REFUSED');
    const { datagrams, errors } = captureOf(run);
    expect(datagrams).toHaveLength(1);
    expect(errors).toMatchObject([
      { type: 3, code: 3, quotedPorts: [datagrams[0]?.sourcePort, request.port] },
    ]);
  });

  it('watches a connection to a name server like any other', async () => {
    const request = { query: 'www.test', recordType: 'A', nameServer: '127.0.0.1', protocol: 'TCP' };
    const run = await runOne('DNS', { ...request, port: await closedPort() });
    expect(captureOf(run).segments.map(({ flags }) => flags)).toEqual(['S', 'R.']);
  });

  it('ignores failures that the check expects, and those that are not of the network', async () => {
    const port = await closedPort();
    const rest = { shouldFail: true };
    const refused = await runOne('TCP', { hostname: '127.0.0.1', port }, { rest });
    expect(refused.failure).toBeUndefined();
    expect(refused.detail).toMatchObject(nothing);
    const dns = { query: 'www.test', recordType: 'A', nameServer: '127.0.0.1', port };
    expect((await runOne('DNS', dns, { rest })).detail).toMatchObject({ pcapDataUrl: null, jobAssets: null });
    const pinged = await runOne('ICMP', { hostname: '127.0.0.1', pingCount: 1 }, { rest });
    expect(pinged.failure?.code).toBe('REPLY_UNEXPECTED');
    expect(pinged.detail).toMatchObject(nothing);
  });

  it.each([
    ['10.80.4.1', '10.80.1.2', [8]],
    ['fd80:3::1', 'fd800001000000000000000000000002', [128]],
  ])(
    'sends a few more pings to %s, and captures the errors of routers about them',
    async (hostname, router, types) => {
      using lab = new NetworkLab();
      lab.exec(
        'router',
        'ip6tables -A FORWARD -d fd80:3::/64 -j REJECT --reject-with icmp6-addr-unreachable',
      );
      const run = await runOne(
        'ICMP',
        { hostname, pingCount: 1, packetSize: 400 },
        { lab, timeoutMs: 15_000 },
      );
      expect(run.failure?.code).toBe('HOST_UNREACHABLE');
      expect(run.detail).toMatchObject(kept);
      const { echoes, errors } = captureOf(run);
      // The pings of the traceroute are captured, too.
      const own = echoes.filter(({ payloadBytes }) => payloadBytes === 392);
      expect(own.map(({ type }) => type)).toEqual(types);
      expect(echoes.every(({ keptBytes }) => keptBytes === 0)).toBe(true);
      expect(new Set(errors.map(({ source, quotedBytes }) => `${source} ${quotedBytes}`))).toEqual(
        new Set([`${router} 8`]),
      );
      expect(remarksOf(run)[0]).toMatch(/the pings were repeated and 0 of 1 were answered/);
    },
    20_000,
  );
});
