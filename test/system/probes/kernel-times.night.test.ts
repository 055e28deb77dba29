import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Connection } from '../../../src/probes/connection/connection.ts';
import { ProbeError } from '../../../src/probes/connection/errors.ts';
import { proxyFromUrl } from '../../../src/probes/connection/forward-proxy.ts';
import { createEgressPolicy } from '../../../src/probes/egress/policy.ts';
import { eventTimekeeper, KernelTimekeeper } from '../../../src/probes/kernel-thread/timekeeper.ts';
import { systemResolver } from '../../../src/probes/resolver.ts';
import { SysUnavailable } from '../../../src/probes/sys/libc.ts';
import { probeDialogue } from '../../../src/probes/tcp/dialogue-probe.ts';
import { freePort } from '../../helpers/free-port.ts';
import { createAuthority } from '../../helpers/targets/certificates.ts';
import { probe } from '../../helpers/targets/http-request.ts';
import { measuredByKernel } from '../../helpers/targets/measured-by-kernel.ts';
import { converse } from '../../helpers/targets/tcp-request.ts';
import { keepBusy, startWireTarget } from '../../helpers/targets/wire-target.ts';
import type { WireTargetOptions } from '../../helpers/targets/wire-target-main.ts';

const reason = await whyNoKernel();
/** How long the probing thread is repeatedly blocked. */
const blockMs = 300;

async function whyNoKernel(): Promise<string | undefined> {
  try {
    await (await KernelTimekeeper.open()).close();
    return undefined;
  } catch (thrown) {
    if (!(thrown instanceof SysUnavailable) || process.env.CI === 'true') throw thrown;
    return thrown.message;
  }
}

describe.skipIf(reason)(`kernel times${reason ? ` (${reason})` : ''}`, () => {
  let timekeeper: KernelTimekeeper;
  let identity: { key: string; cert: string };

  beforeAll(async () => {
    timekeeper = await KernelTimekeeper.open();
    identity = await (await createAuthority()).issue();
    // The first request of a process includes loading the parser.
    await using target = await startWireTarget({ kind: 'http' });
    await probe(target.url, { timekeeper });
  });
  afterAll(() => timekeeper.close());

  const servers: readonly (readonly [string, Omit<WireTargetOptions, 'identity'>])[] = [
    ['http', { kind: 'http' }],
    ['TLS 1.3, with its tickets', { kind: 'https' }],
    ['TLS 1.3, asked to say hello again', { kind: 'https', curve: 'P-521' }],
    ['TLS 1.2, with its two flights', { kind: 'https', maxVersion: 'TLSv1.2' }],
    ['HTTP/2', { kind: 'h2' }],
  ];

  it.each(servers)('do not contain delays of a busy thread: %s', async (_name, options) => {
    await using target = await startWireTarget({ ...options, identity });
    using _busy = keepBusy(blockMs);
    const { phases, measurement, error, elapsedMs, wallMs } = await measuredByKernel(() =>
      probe(`${target.url}/hold/20`, { timekeeper, isCertificateChecked: false }),
    );
    expect(error).toBeUndefined();
    expect((phases?.firstByte ?? 0) - (phases?.tls ?? 0)).toBeGreaterThanOrEqual(19);
    expect(measurement.lagMs).toBeGreaterThan(blockMs / 2);
    expect(measurement.overheadMs).toBeGreaterThan(blockMs);
    // The time that this thread was blocked is reported separately, and is not part of any phase.
    expect(elapsedMs + measurement.overheadMs).toBeLessThanOrEqual(wallMs);
  });

  it.each(servers)('would do so with event times: %s', async (_name, options) => {
    await using target = await startWireTarget({ ...options, identity });
    using _busy = keepBusy(blockMs);
    const { phases, measurement } = await probe(`${target.url}/hold/20`, {
      timekeeper: eventTimekeeper,
      isCertificateChecked: false,
    });
    expect(measurement.clock).toBe('event');
    expect(phases?.firstByte).toBeGreaterThan(blockMs);
  });

  it('include the time of a handshake, even if the target responds before this thread continues', async () => {
    await using target = await startWireTarget({ kind: 'https', identity });
    const tookMs: number[] = [];
    for (let round = 0; round < 100; round += 1) {
      const { phases } = await probe(target.url, { timekeeper, isCertificateChecked: false });
      tookMs.push(phases?.tls ?? 0);
    }
    expect(Math.min(...tookMs)).toBeGreaterThan(0);
    // No target signs faster. The send time of the request is only known to some hundredths of a millisecond; a
    // response that seemed to precede its request would shorten one in four of them.
    expect(tookMs.filter((ms) => ms < 0.05).length).toBeLessThan(5);
  });

  it('distinguish the first byte from earlier tickets', async () => {
    await using target = await startWireTarget({ kind: 'https', identity });
    const { phases } = await probe(`${target.url}/hold/100`, { timekeeper, isCertificateChecked: false });
    const waitMs = (phases?.firstByte ?? 0) - (phases?.tls ?? 0);
    expect(waitMs).toBeGreaterThanOrEqual(99);
  });

  it.each(['http', 'h2'] as const)('end a large download with its last byte: %s', async (kind) => {
    await using target = await startWireTarget({ kind, identity });
    const pieces = { count: 40, pauseMs: 5 };
    using _busy = keepBusy(40);
    const { phases, body } = await probe(`${target.url}/parts/${pieces.count}/${pieces.pauseMs}`, {
      timekeeper,
      timeoutMs: 50_000,
      isCertificateChecked: false,
    });
    expect(body.bytes.length).toBe(pieces.count * 65_536);
    expect(phases?.download).toBeGreaterThan((pieces.count - 1) * pieces.pauseMs - 45);
  });

  it('separate the response of a proxy', async () => {
    await using target = await startWireTarget({ kind: 'https', identity });
    await using proxy = await startWireTarget({ kind: 'late-proxy' });
    using _busy = keepBusy(blockMs);
    const via = { proxy: proxyFromUrl(new URL(proxy.url)) };
    const { phases, error, measurement, elapsedMs, wallMs } = await measuredByKernel(() =>
      probe(`${target.url}/hold/20`, { timekeeper, isCertificateChecked: false, ...via }),
    );
    expect(error).toBeUndefined();
    expect(phases?.proxy).toBeGreaterThanOrEqual(49);
    expect(measurement.overheadMs).toBeGreaterThan(blockMs);
    expect(elapsedMs + measurement.overheadMs).toBeLessThanOrEqual(wallMs);
  });

  it('end a conversation over TCP with its last byte', async () => {
    await using target = await startWireTarget({ kind: 'banner' });
    using _busy = keepBusy(blockMs);
    const { phases, measurement, elapsedMs, wallMs } = await measuredByKernel(() =>
      converse({ host: '127.0.0.1', port: target.port }, { timekeeper, data: 'x', idleGapMs: 60_000 }),
    );
    expect(phases?.data).toBeGreaterThanOrEqual(29);
    expect(measurement.lagMs).toBeGreaterThan(blockMs / 2);
    expect(elapsedMs + measurement.lagMs).toBeLessThanOrEqual(wallMs);
  });

  it('begin at the connection if the server speaks first, even if this thread notices it later', async () => {
    await using target = await startWireTarget({ kind: 'greeting' });
    const { hostname, port } = { hostname: '127.0.0.1', port: target.port };
    const means = { resolver: systemResolver, egress: createEgressPolicy(), timekeeper };
    const until = { signal: new AbortController().signal, timeoutMs: 60_000 };
    const line = { kind: 'expect', take: () => 'taken' as const, timeoutMs: 60_000 } as const;
    using _busy = keepBusy(blockMs);

    const tcp = await measuredByKernel(() =>
      converse({ host: hostname, port }, { timekeeper, idleGapMs: 60_000 }),
    );
    // On a busy machine the kernel thread is notified late, too, and reports so.
    const openMs = ({ doubtMs, lagMs }: { doubtMs?: number | undefined; lagMs: number }) =>
      (doubtMs ?? 0) + lagMs;
    expect((tcp.phases?.data ?? 0) + openMs(tcp.measurement)).toBeGreaterThanOrEqual(58);
    expect(tcp.elapsedMs + tcp.measurement.lagMs).toBeLessThanOrEqual(tcp.wallMs);

    const to = {
      hostname,
      port,
      family: 4,
      isSecure: false,
      isCertificateChecked: false,
      proxy: undefined,
    } as const;
    const dialogue = await measuredByKernel(() =>
      probeDialogue({ target: to, steps: [line] }, { ...means, ...until }),
    );
    const { lines, outcomes, phases, measurement } = dialogue;
    for (const ms of [phases.data, lines[0]?.atMs, outcomes[0]?.waitMs]) {
      expect((ms ?? 0) + openMs(measurement)).toBeGreaterThanOrEqual(58);
    }

    const greeted = Promise.withResolvers<Connection>();
    const connection = new Connection({
      ...{ ...to, isSecure: true, clientIdentity: undefined, alpnProtocols: [] },
      upgrade: (socket, { done }) => {
        socket.once('data', () => done(new ProbeError('response-malformed', 'starttls', 'greeted')));
      },
    });
    connection.open(means, () => greeted.resolve(connection));
    const opened = await greeted.promise;
    expect(opened.times.startTlsMs + openMs(opened)).toBeGreaterThanOrEqual(58);
  });

  it('include the time at which a connection was refused', async () => {
    const port = await freePort();
    using _busy = keepBusy(blockMs);
    const { error, measurement, elapsedMs, wallMs } = await measuredByKernel(() =>
      probe(`http://127.0.0.1:${port}/`, { timekeeper }),
    );
    expect(error?.kind).toBe('connection-refused');
    expect(measurement.lagMs).toBeGreaterThan(blockMs / 2);
    expect(elapsedMs + measurement.lagMs).toBeLessThanOrEqual(wallMs);
  });

  it('stay correct when rows are reused', async () => {
    await using target = await startWireTarget({ kind: 'http' });
    for (let round = 0; round < 30; round += 1) {
      const results = await Promise.all(
        Array.from({ length: 100 }, () => probe(`${target.url}/`, { timekeeper })),
      );
      for (const { measurement, phases, elapsedMs } of results) {
        expect(measurement.clock).toBe('kernel');
        expect(phases?.total).toBe(elapsedMs);
      }
    }
  });

  it('become event times while the thread is gone, and kernel times again later', async () => {
    const own = await KernelTimekeeper.open();
    await using target = await startWireTarget({ kind: 'http' });
    expect((await probe(target.url, { timekeeper: own })).measurement.clock).toBe('kernel');
    await own.close();
    const { measurement, error } = await probe(target.url, { timekeeper: own });
    expect(error).toBeUndefined();
    expect(measurement.clock).toBe('event');
  });
});
