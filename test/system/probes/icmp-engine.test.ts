import { readdirSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it } from 'vitest';
import { IcmpUnavailable, type PingTrain } from '../../../src/probes/icmp/backend.ts';
import { KernelBackend } from '../../../src/probes/icmp/kernel-backend.ts';
import { EchoEngine } from '../../../src/probes/kernel-thread/echo/engine.ts';
import type { FromEngine } from '../../../src/probes/kernel-thread/echo/messages.ts';
import { loadLibc } from '../../../src/probes/sys/libc.ts';

const reason = await whyNoSockets();
const here: PingTrain = {
  address: '127.0.0.1',
  family: 4,
  count: 5,
  intervalMs: 5,
  replyTimeoutMs: 1000,
  dataBytes: 56,
};
const never = new AbortController().signal;

async function whyNoSockets(): Promise<string | undefined> {
  try {
    await (await KernelBackend.open()).close();
    return undefined;
  } catch (thrown) {
    if (!(thrown instanceof IcmpUnavailable) || process.env.CI === 'true') throw thrown;
    return thrown.message;
  }
}

const openDescriptors = () => readdirSync('/proc/self/fd').length;
const threads = () => readdirSync('/proc/self/task').length;

describe.skipIf(reason)(`the ICMP engine${reason ? ` (${reason})` : ''}`, () => {
  let backend: KernelBackend | undefined;

  afterEach(async () => {
    await backend?.close();
    backend = undefined;
  });

  it('leaves nothing behind when it is closed', async () => {
    const before = { descriptors: openDescriptors(), threads: threads() };
    backend = await KernelBackend.open();
    expect(threads()).toBeGreaterThan(before.threads);
    await backend.ping(here, never);
    await backend.close();
    expect({ descriptors: openDescriptors(), threads: threads() }).toEqual(before);
  });

  it('can be closed while requests are open: they reject', async () => {
    backend = await KernelBackend.open();
    const pinging = backend.ping({ ...here, count: 1, address: '127.0.0.1' }, never);
    const long = backend.ping({ ...here, count: 50, intervalMs: 500 }, never);
    await pinging;
    const outcome = expect(long).rejects.toThrow('ICMP engine');
    await backend.close();
    await outcome;
  });

  it('serves two backends of a thread: opening or closing one costs the other no reply', async () => {
    backend = await KernelBackend.open();
    const long = backend.ping({ ...here, count: 6, intervalMs: 50 }, never);
    const other = await KernelBackend.open();
    // Different lengths reveal a reply that was delivered to the wrong one.
    const both = Promise.all([
      other.ping({ ...here, count: 2 }, never),
      backend.ping({ ...here, count: 3 }, never),
    ]);
    expect((await both).map((answers) => answers.length)).toEqual([2, 3]);
    const left = other.ping({ ...here, count: 50, intervalMs: 500 }, never);
    const outcome = expect(left).rejects.toThrow('ICMP engine');
    await other.close();
    await outcome;
    expect((await long).map(({ kind }) => kind)).toEqual(Array.from({ length: 6 }, () => 'reply'));
    expect(await backend.ping(here, never)).toHaveLength(here.count);
  });

  it('ends with its thread in the middle of a train', async () => {
    const before = { descriptors: openDescriptors(), threads: threads() };
    const worker = new Worker(
      `const { parentPort, workerData } = require('node:worker_threads');
       import(workerData.module).then(async ({ KernelBackend }) => {
         const backend = await KernelBackend.open();
         backend.ping(workerData.train, new AbortController().signal);
         backend.ping({ ...workerData.train, count: 1 }, new AbortController().signal)
           .then(() => parentPort.postMessage('pinging'));
       });`,
      {
        eval: true,
        workerData: {
          module: new URL('../../../src/probes/icmp/kernel-backend.ts', import.meta.url).href,
          train: { ...here, count: 50, intervalMs: 500 },
        },
      },
    );
    await new Promise((resolve) => worker.once('message', resolve));
    await worker.terminate();
    await expect
      .poll(() => ({ descriptors: openDescriptors(), threads: threads() }), { timeout: 90_000 })
      .toEqual(before);
  });

  it('returns what it has when it is stopped', async () => {
    backend = await KernelBackend.open();
    const stop = new AbortController();
    const pinging = backend.ping({ ...here, count: 50, intervalMs: 500 }, stop.signal);
    await backend.ping({ ...here, count: 1 }, never);
    stop.abort();
    expect((await pinging).map(({ kind }) => kind)).toEqual(['reply']);
    expect(await backend.ping(here, AbortSignal.abort())).toEqual([]);
  });

  it('rejects the runs that it breaks under, and serves the next one', async () => {
    backend = await KernelBackend.open();
    const impossible = { ...here, count: 1, dataBytes: -100 };
    await expect(backend.ping(impossible, never)).rejects.toThrow('the ICMP engine ended unexpectedly');
    expect(await backend.ping(here, never)).toHaveLength(5);
  });

  it('measures kernel times, however busy the calling thread is', async () => {
    backend = await KernelBackend.open();
    let isDone = false;
    let shortestPauseMs = Number.POSITIVE_INFINITY;
    const busy = (async () => {
      while (!isDone) {
        const startMs = performance.now();
        while (performance.now() < startMs + 60);
        shortestPauseMs = Math.min(shortestPauseMs, performance.now() - startMs);
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    const answers = await backend.ping({ ...here, count: 11, intervalMs: 10 }, never);
    isDone = true;
    await busy;
    const times = answers.flatMap((answer) => (answer.kind === 'reply' ? [answer.rttMs] : []));
    // Times taken in this thread would include its pauses; loopback replies within the send call.
    expect(Math.min(...times)).toBeLessThan(shortestPauseMs);
  });

  it('says of an interface that does not exist that nothing was sent', async () => {
    backend = await KernelBackend.open();
    const answers = await backend.ping({ ...here, address: 'fe80::1%nowhere', family: 6, count: 2 }, never);
    expect(answers).toEqual([
      { kind: 'unsent', sequence: 0, errno: 'ENODEV' },
      { kind: 'unsent', sequence: 1, errno: 'ENODEV' },
    ]);
  });

  it('counts every reply that arrived in time, however late its own thread is', async () => {
    const said: FromEngine[] = [];
    const engine = new EchoEngine(
      await loadLibc(),
      (message) => said.push(message),
      () => undefined,
    );
    const spec = {
      id: 1,
      ...here,
      scopeId: 0,
      count: 3,
      intervalMs: 0,
      replyTimeoutMs: 1000,
      ttl: undefined,
    };
    engine.handle({ type: 'open' });
    engine.handle({ type: 'train', spec });
    engine.advance();
    const startMs = performance.now();
    // Sleeping instead of busy: the kernel's own thread, which replies, may need this core.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1100);
    const pauseMs = performance.now() - startMs;
    engine.advance();
    engine.close();
    const [, answered] = said;
    if (answered?.type !== 'answers') throw new Error('the train is not over');
    const [train] = answered.trains;
    expect(train?.answers.map(({ kind }) => kind)).toEqual(['reply', 'reply', 'reply']);
    for (const answer of train?.answers ?? [])
      expect(answer.kind === 'reply' && answer.rttMs).toBeLessThan(pauseMs);
  });

  it('begins a round trip when the request leaves, not when this thread requests it', async () => {
    const libc = await loadLibc();
    let shortestPauseMs = Number.POSITIVE_INFINITY;
    const slow: typeof libc = {
      ...libc,
      sendto: (...call) => {
        const startMs = performance.now();
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
        shortestPauseMs = Math.min(shortestPauseMs, performance.now() - startMs);
        return libc.sendto(...call);
      },
    };
    const said: FromEngine[] = [];
    const engine = new EchoEngine(
      slow,
      (message) => said.push(message),
      () => undefined,
    );
    engine.handle({ type: 'open' });
    engine.handle({
      type: 'train',
      spec: { id: 1, ...here, scopeId: 0, count: 3, intervalMs: 0, ttl: undefined },
    });
    engine.advance();
    // Loopback replies within the send call, so that all replies have arrived.
    engine.receive(4, { errors: false });
    engine.advance();
    engine.close();
    const answered = said.find((message) => message.type === 'answers');
    const answers = answered?.trains[0]?.answers ?? [];
    expect(answers.map(({ kind }) => kind)).toEqual(['reply', 'reply', 'reply']);
    for (const answer of answers)
      expect(answer.kind === 'reply' && answer.rttMs).toBeLessThan(shortestPauseMs);
  });
});
