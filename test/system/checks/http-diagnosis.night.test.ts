import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createAuthority } from '../../helpers/targets/certificates.ts';
import { startFilteredTarget } from '../../helpers/targets/filtered-target.ts';
import { startHostileTarget, startSilentTarget } from '../../helpers/targets/hostile-target.ts';
import { startHttpsTarget, startHttpTarget } from '../../helpers/targets/http-target.ts';
import { listen } from '../../helpers/targets/listening.ts';
import { startProxyTarget } from '../../helpers/targets/proxy-target.ts';
import { closedPort } from '../../helpers/targets/tcp-target.ts';
import {
  captureOf,
  type DiagnosedOrder,
  diagnosedRuns,
  remarksOf,
  routeOf,
} from '../../helpers/wire/diagnosed-runs.ts';
import { whyNoNamespaces } from '../../helpers/wire/network-namespaces.ts';

// Captures need NET_RAW, like the namespaces of other tests.
const reason = whyNoNamespaces();
const secret = 'hunter2-very-secret';

describe.skipIf(reason)(`diagnosis of a failed HTTP check${reason ? ` (${reason})` : ''}`, () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'picket-diagnosis-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const runAll = (order: DiagnosedOrder) => diagnosedRuns(order, { folder });
  const runOne = async (request: Readonly<Record<string, unknown>>, rest: Partial<DiagnosedOrder> = {}) => {
    const [run] = await runAll({ requests: [request], ...rest });
    if (!run) throw new Error('no run');
    return run;
  };

  it('keeps the refused handshake, and the route', async () => {
    const port = await closedPort();
    const run = await runOne({ url: `http://127.0.0.1:${port}/` });
    expect(run.failure?.code).toBe('CONNECTION_REFUSED');
    expect(run.detail).toMatchObject({ pcapDataUrl: 'network.pcap', jobAssets: ['traceroute.txt'] });
    expect(
      captureOf(run).segments.map(({ flags, destinationPort }) => [flags, destinationPort === port]),
    ).toEqual([
      ['S', true],
      ['R.', false],
    ]);
    expect(routeOf(run)).toMatch(/^ 1 {2}127\.0\.0\.1( +\d+\.\d{3} ms){3}$/m);
    expect(remarksOf(run)).toEqual([
      expect.stringMatching(
        /network\.pcap has 2 packets; the request was repeated and failed again: connect ECONNREFUSED/,
      ),
      'Diagnosis: traceroute.txt: the target responded in hop 1',
    ]);
  });

  it('speaks IPv6', async () => {
    const port = await closedPort();
    const run = await runOne({ url: `http://[::1]:${port}/`, ipFamily: 'IPv6' });
    expect(captureOf(run).segments.map(({ flags }) => flags)).toEqual(['S', 'R.']);
    expect(routeOf(run)).toContain(' 1  ::1 ');
  });

  it('keeps no byte of plain text data, only its length', async () => {
    await using target = await startHostileTarget('reset-inside-body');
    const run = await runOne({
      url: `${target.url}/path-${secret}?token=${secret}`,
      headers: [{ key: 'Authorization', value: `Bearer ${secret}` }],
    });
    expect(run.failure?.code).toBe('CONNECTION_RESET');
    const { segments } = captureOf(run);
    const sent = segments.filter(
      ({ destinationPort, payloadBytes }) => destinationPort === target.port && payloadBytes > 0,
    );
    const received = segments.filter(
      ({ sourcePort, payloadBytes }) => sourcePort === target.port && payloadBytes > 0,
    );
    expect(sent[0]?.payloadBytes).toBeGreaterThan(3 * secret.length);
    expect(received[0]?.payloadBytes).toBeGreaterThan(0);
    expect(segments.every(({ keptBytes }) => keptBytes === 0)).toBe(true);
    const file = readFileSync(join(run.folder, 'network.pcap')).toString('latin1');
    for (const text of [secret, 'Bearer', 'GET', 'HTTP/1.1', 'only this']) expect(file).not.toContain(text);
    expect(segments.at(-1)?.flags).toContain('R');
  });

  it('keeps the start of each TLS record, and no more', async () => {
    const authority = await createAuthority();
    await using target = await startHttpsTarget({ identity: await authority.issue() });
    const run = await runOne({ url: `${target.url}/${secret}` });
    expect(run.failure?.code).toBe('TLS_CERTIFICATE_INVALID');
    const { segments } = captureOf(run);
    expect(Math.max(...segments.map(({ keptBytes }) => keptBytes))).toBe(96);
    expect(Math.max(...segments.map(({ payloadBytes }) => payloadBytes))).toBeGreaterThan(300);
    // The request was never sent, and the diagnosis does not send it either.
    expect(target.requests).toEqual([]);
  });

  it('is read by tcpdump', async (test) => {
    if (spawnSync('tcpdump', ['--version']).error) return test.skip('tcpdump is not installed');
    await using target = await startHostileTarget('reset-after-request');
    const run = await runOne({ url: target.url });
    const { stdout, status } = spawnSync('tcpdump', ['-nr', join(run.folder, 'network.pcap')], {
      encoding: 'utf8',
    });
    expect(status).toBe(0);
    const lines = stdout.trim().split('\n');
    expect(lines).toHaveLength(captureOf(run).segments.length);
    expect(lines[0]).toMatch(new RegExp(`> 127\\.0\\.0\\.1\\.${target.port}: Flags \\[S\\]`));
  });

  it('contains that connection only, while others to the same target continue', async () => {
    await using target = await startHttpTarget({
      routes: { broken: (_request, reply) => (reply as unknown as { destroy(): void }).destroy() },
    });
    const others = Array.from({ length: 20 }, (_, index) => ({ url: `${target.url}/delay/${index * 10}` }));
    const runs = await runAll({
      requests: [...others, { url: `${target.url}/broken` }, ...others],
      isConcurrent: true,
    });
    const broken = runs[20];
    if (!broken) throw new Error('no run');
    const { segments } = captureOf(broken);
    const localPorts = segments.map(({ sourcePort, destinationPort }) =>
      sourcePort === target.port ? destinationPort : sourcePort,
    );
    expect(new Set(localPorts).size).toBe(1);
    expect(segments.length).toBeGreaterThan(4);
    expect(runs.filter(({ failure }) => failure)).toHaveLength(1);
  });

  it.each(['POST', 'PUT', 'DELETE', 'PATCH'])('does not send a %s twice', async (method) => {
    await using target = await startHttpTarget({
      routes: { broken: (_request, reply) => (reply as unknown as { destroy(): void }).destroy() },
    });
    const run = await runOne({ url: `${target.url}/broken`, method });
    expect(run.failure?.code).toBe('CONNECTION_RESET');
    expect(target.requests.map((request) => request.method)).toEqual([method]);
    expect(target.connectionCount()).toBe(2);
    expect(remarksOf(run)[0]).toContain('the connection was repeated and was made');
  });

  it('sends a GET twice, to the address that failed, redirects included', async () => {
    await using broken = await startHostileTarget('reset-after-request');
    await using target = await startHttpTarget();
    const run = await runOne({ url: `${target.url}/redirect-to?url=${encodeURIComponent(broken.url)}` });
    expect(run.failure?.code).toBe('CONNECTION_RESET');
    expect(target.requests).toHaveLength(2);
    const ports = captureOf(run).segments.flatMap(({ sourcePort, destinationPort }) => [
      sourcePort,
      destinationPort,
    ]);
    expect(ports).toContain(broken.port);
    expect(ports).not.toContain(target.port);
  });

  it('starts before the time of a hanging request is over', async () => {
    await using silent = await startSilentTarget();
    const run = await runOne({ url: silent.url, method: 'POST' }, { timeoutMs: 5000 });
    expect(run.failure?.code).toBe('RESPONSE_TIMEOUT');
    expect(silent.connectionCount()).toBe(2);
    expect(captureOf(run).segments.filter(({ flags }) => flags === 'S')).toHaveLength(1);
    expect(remarksOf(run)[0]).toContain('the connection was repeated and was made');
    expect(routeOf(run)).toContain('the target responded in hop 1');
  });

  it('shows the silence of a port that drops packets', async () => {
    await using filtered = await startFilteredTarget();
    const run = await runOne({ url: `http://127.0.0.1:${filtered.port}/` }, { timeoutMs: 5000 });
    expect(run.failure?.code).toBe('CONNECTION_TIMEOUT');
    const { segments } = captureOf(run);
    expect(new Set(segments.map(({ flags, destinationPort }) => `${flags} ${destinationPort}`))).toEqual(
      new Set([`S ${filtered.port}`]),
    );
  });

  it('discards its findings if a slow target responds after all', async () => {
    await using target = await startHttpTarget();
    const run = await runOne({ url: `${target.url}/delay/2500` }, { timeoutMs: 4000 });
    expect(run.failure).toBeUndefined();
    expect(run.detail).toMatchObject({ pcapDataUrl: null, jobAssets: null, jobLog: null });
  });

  it.each([
    ['steadily', 8, /has 2000 packets, the maximum/],
    ['as fast as it can', 500, /has \d+ packets/],
  ])(
    'stays within its limits when the peer floods %s',
    async (_name, piecesAtOnce, remark) => {
      const server = createServer({ noDelay: true }, (socket) => {
        socket.once('data', () => {
          socket.write('HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n');
          let left = 8000;
          const timer = setInterval(() => {
            for (let count = 0; count < piecesAtOnce && left > 0; count += 1, left -= 1) socket.write('x');
            if (left === 0) socket.resetAndDestroy();
          }, 3);
          socket.on('close', () => clearInterval(timer));
        });
      });
      await using target = await listen(server, { scheme: 'http' });
      const run = await runOne({ url: target.url }, { timeoutMs: 20_000 });
      expect(remarksOf(run)[0]).toMatch(remark);
      expect(captureOf(run).segments.length).toBeLessThanOrEqual(2000);
      expect(readFileSync(join(run.folder, 'network.pcap')).length).toBeLessThan(1024 * 1024);
    },
    25_000,
  );

  it('is limited if everything fails', async () => {
    const ports = await Promise.all(Array.from({ length: 9 }, () => closedPort()));
    const [first = 0] = ports;
    const urls = [first, first, ...ports].map((port) => ({ url: `http://127.0.0.1:${port}/` }));
    const runs = await runAll({ requests: urls });
    expect(runs.map(({ detail }) => detail.pcapDataUrl !== null)).toEqual([
      ...[true, true, false],
      ...[true, true, true, true],
      ...[false, false, false, false],
    ]);
    expect(remarksOf(runs[2] ?? never())).toEqual([
      'Diagnosis: no packet capture and no traceroute: there were 2 of this target in the last minute',
    ]);
    expect(remarksOf(runs[7] ?? never())).toEqual([
      'Diagnosis: no packet capture and no traceroute: there were 6 in the last minute',
    ]);
    const storm = Array.from({ length: 100 }, () => ({ url: `http://127.0.0.1:${first}/` }));
    const stormy = await runAll({ requests: storm, isConcurrent: true, timeoutMs: 60_000 });
    expect(stormy.filter(({ detail }) => detail.pcapDataUrl !== null)).toHaveLength(1);
    const outcomes = stormy.map((run) => [run.failure?.code, remarksOf(run).length > 0]);
    expect(outcomes).toEqual(outcomes.map(() => ['CONNECTION_REFUSED', true]));
  });

  it('explains in a line why it has no findings', async () => {
    const run = await runOne({ url: 'http://nothing.invalid/' });
    expect(run.failure?.code).toBe('NAME_NOT_FOUND');
    expect(remarksOf(run)).toEqual([
      'Diagnosis: no packet capture and no traceroute: the name has no address to connect to',
    ]);
    await using proxy = await startProxyTarget({});
    const proxied = await runOne(
      { url: `https://127.0.0.1:${await closedPort()}/` },
      { proxyUrl: proxy.url },
    );
    if (proxied.failure?.owner === 'target') {
      expect(remarksOf(proxied)).toEqual([
        'Diagnosis: no packet capture and no traceroute: the connection goes through a proxy',
      ]);
    }
    expect(proxied.detail.pcapDataUrl).toBeNull();
  });

  it('ignores failures that are not of the network, and forbidden targets', async () => {
    await using target = await startHttpTarget();
    const runs = await runAll({
      requests: [
        { url: `${target.url}/status/500` },
        { url: 'http://169.254.169.254/' },
        { url: '{{NOTHING}}' },
      ],
    });
    expect(runs.map(({ failure }) => failure?.code)).toEqual([
      'STATUS_UNEXPECTED',
      'EGRESS_DENIED',
      'URL_INVALID',
    ]);
    for (const { detail } of runs)
      expect(detail).toMatchObject({ pcapDataUrl: null, jobAssets: null, jobLog: null });
    expect(target.requests).toHaveLength(1);
  });

  it('does nothing if the evidence is not kept', async () => {
    await using broken = await startHostileTarget('reset-after-request');
    const run = await runOne({ url: broken.url }, { hasSink: false });
    expect(run.detail).toMatchObject({ pcapDataUrl: null, jobAssets: null, jobLog: null });
    expect(broken.connectionCount()).toBe(1);
  });

  it('skips steps without enough time', async () => {
    const run = await runOne({ url: `http://127.0.0.1:${await closedPort()}/` }, { timeoutMs: 900 });
    expect(remarksOf(run)).toEqual([
      'Diagnosis: no packet capture and no traceroute: too little time of the run is left',
    ]);
  });
});

function never(): never {
  throw new Error('there is no such run');
}
