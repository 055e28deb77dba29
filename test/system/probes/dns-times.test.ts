import { getEventListeners } from 'node:events';
import { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { HostResolver } from '../../../src/probes/dns/host/host-resolver.ts';
import { queryDns } from '../../../src/probes/dns/query.ts';
import { eventTimekeeper, KernelTimekeeper } from '../../../src/probes/kernel-thread/timekeeper.ts';
import type { LookupTimes } from '../../../src/probes/resolver.ts';
import { SysUnavailable } from '../../../src/probes/sys/libc.ts';
import { queryControls } from '../../helpers/dns/controls.ts';
import { startDnsServer } from '../../helpers/dns/dns-server.ts';
import { createHostFiles } from '../../helpers/dns/host-files.ts';
import { measuredByKernel } from '../../helpers/targets/measured-by-kernel.ts';
import { keepBusy } from '../../helpers/targets/wire-target.ts';

const question = { name: 'kept.example', type: 'A' } as const;
const blockMs = 300;

const reason = await (async () => {
  try {
    await (await KernelTimekeeper.open()).close();
    return undefined;
  } catch (thrown) {
    if (!(thrown instanceof SysUnavailable) || process.env.CI === 'true') throw thrown;
    return thrown.message;
  }
})();

/** A server in its own thread that replies after 20 ms. A plain timer might fire early. */
async function startSlowServer(): Promise<{ port: number; worker: Worker }> {
  const worker = new Worker(
    `const { parentPort } = require('node:worker_threads');
     const socket = require('node:dgram').createSocket('udp4');
     socket.on('message', (bytes, { port, address }) => {
       const dueMs = performance.now() + 20;
       const answer = () => {
         if (performance.now() < dueMs) return setTimeout(answer, 1);
         bytes[2] |= 0x80;
         socket.send(bytes, port, address);
       };
       answer();
     });
     socket.bind(0, '127.0.0.1', () => parentPort.postMessage(socket.address().port));`,
    { eval: true },
  );
  const port = await new Promise<number>((resolve) => worker.once('message', resolve));
  return { port, worker };
}

describe.skipIf(reason)(`times of DNS queries${reason ? ` (${reason})` : ''}`, () => {
  let slow: Awaited<ReturnType<typeof startSlowServer>>;
  let timekeeper: KernelTimekeeper;
  const server = () => ({ hostname: '127.0.0.1', address: '127.0.0.1', family: 4 as const, port: slow.port });

  beforeAll(async () => {
    slow = await startSlowServer();
    timekeeper = await KernelTimekeeper.open();
    await queryDns(question, server(), { protocol: 'UDP' }, queryControls());
  });
  afterAll(async () => {
    await timekeeper.close();
    await slow.worker.terminate();
  });

  it('do not contain delays of a busy thread', async () => {
    using _busy = keepBusy(blockMs);
    const controls = { ...queryControls(), timekeeper };
    const { elapsedMs, measurement, wallMs } = await measuredByKernel(() =>
      queryDns(question, server(), { protocol: 'UDP' }, controls),
    );
    expect(elapsedMs).toBeGreaterThanOrEqual(19);
    expect(measurement.lagMs).toBeGreaterThan(blockMs / 2);
    expect(elapsedMs + measurement.lagMs).toBeLessThanOrEqual(wallMs);
  });

  it('would do so by the events', async () => {
    using _busy = keepBusy(blockMs);
    const controls = { ...queryControls(), timekeeper: eventTimekeeper };
    const { elapsedMs, measurement } = await queryDns(question, server(), { protocol: 'UDP' }, controls);
    expect(elapsedMs).toBeGreaterThan(blockMs / 2);
    expect(measurement.clock).toBe('event');
  });
});

describe('a lookup of our resolver', () => {
  it('reports how long its servers took', async () => {
    const slow = await startSlowServer();
    using files = createHostFiles(`nameserver [127.0.0.1]:${slow.port}`);
    const measured: LookupTimes[] = [];
    const onMeasured = (times: LookupTimes) => measured.push(times);
    const resolver = new HostResolver(files);
    await expect(resolver.resolve('kept.example', 4, { onMeasured })).rejects.toThrow('kept.example');
    await expect(resolver.resolve('127.0.0.1', 4, { onMeasured })).resolves.toHaveLength(1);
    await slow.worker.terminate();
    // The timestamp of a query is taken after it was sent, which may be late on a busy host.
    expect(measured[0]?.elapsedMs).toBeGreaterThan(5);
    expect(measured[1]?.elapsedMs).toBe(0);
  });

  it('sends no further queries once it is stopped', async () => {
    const silent = await startDnsServer(() => []);
    using files = createHostFiles(`nameserver ${silent.nameserver}\noptions timeout:5 attempts:3`);
    // Only the server's own socket is left.
    const openSockets = () => process.getActiveResourcesInfo().filter((name) => name === 'UDPWrap').length;
    const stop = new AbortController();
    const lookup = new HostResolver(files).resolve('silent.example', 'any', { signal: stop.signal });
    await silent.received(2);
    stop.abort();
    await expect(lookup).rejects.toMatchObject({ kind: 'unavailable', code: 'ECANCELED' });
    await vi.waitFor(() => expect(openSockets()).toBe(1));
    expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
    expect(silent.queries).toHaveLength(2);
    await silent.close();
  });
});
