import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it } from 'vitest';
import { IcmpUnavailable, type PingTrain } from '../../../src/probes/icmp/backend.ts';
import type { EchoAnswer } from '../../../src/probes/icmp/echo/answers.ts';
import { EchoEngine } from '../../../src/probes/icmp/echo/engine.ts';
import { KernelBackend } from '../../../src/probes/icmp/kernel-backend.ts';
import { type Libc, loadLibc } from '../../../src/probes/sys/libc.ts';
import { SO_TIMESTAMPNS, SOCK_DGRAM } from '../../../src/probes/sys/linux.ts';

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

  it('starts no thread, and leaves nothing behind when it is closed', async () => {
    const before = { descriptors: openDescriptors(), threads: threads() };
    backend = await KernelBackend.open();
    expect(threads()).toBe(before.threads);
    await backend.ping(here, never);
    await backend.close();
    expect({ descriptors: openDescriptors(), threads: threads() }).toEqual(before);
  });

  it('can be closed while requests are open: they reject', async () => {
    backend = await KernelBackend.open();
    const pinging = backend.ping({ ...here, count: 1 }, never);
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

  it('returns what it has when its time is over', async () => {
    backend = await KernelBackend.open();
    const answers = await backend.ping({ ...here, count: 50, intervalMs: 500, timeoutMs: 50 }, never);
    expect(answers.map(({ kind }) => kind)).toEqual(['reply']);
  });

  it('rejects a train that it breaks under, and no other', async () => {
    backend = await KernelBackend.open();
    const impossible = { ...here, count: 1, dataBytes: -100 };
    const [broken, whole] = await Promise.allSettled([
      backend.ping(impossible, never),
      backend.ping(here, never),
    ]);
    expect(broken).toMatchObject({ status: 'rejected', reason: expect.any(RangeError) });
    expect(whole).toMatchObject({ status: 'fulfilled', value: { length: 5 } });
  });

  it('keeps a process alive while pings are open, and no longer', async () => {
    const module = new URL('../../../src/probes/icmp/kernel-backend.ts', import.meta.url).href;
    const train = JSON.stringify({ ...here, count: 2, intervalMs: 100 });
    const script = `import('${module}')
      .then(({ KernelBackend }) => KernelBackend.open())
      .then((backend) => backend.ping(${train}, new AbortController().signal))
      .then((answers) => console.log(answers.length));`;
    const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [line] = await once(child.stdout, 'data');
    expect(String(line)).toBe('2\n');
    expect(await once(child, 'exit')).toEqual([0, null]);
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

  /** Blocks this thread. Sleeping instead of busy: the kernel, which replies, may need this core. */
  const block = (pauseMs: number) => {
    const startMs = performance.now();
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMs);
    return performance.now() - startMs;
  };
  const three = { ...here, scopeId: 0, count: 3, intervalMs: 0 };
  const times = (answers: readonly EchoAnswer[]) =>
    answers.map((answer) => (answer.kind === 'reply' ? answer.rttMs : Number.POSITIVE_INFINITY));

  /** Sends three requests with a C library that differs in one function. */
  async function pingWith(change: (libc: Libc) => Partial<Libc>, meanwhile?: () => void) {
    const libc = await loadLibc();
    const engine = new EchoEngine({ ...libc, ...change(libc) });
    try {
      const pinging = engine.ping(three, never);
      meanwhile?.();
      return { roundTripsMs: times(await pinging), isStamped: engine.isStamped };
    } finally {
      engine.close();
    }
  }

  it('counts every reply that arrived in time, however late its own thread is', async () => {
    let pauseMs = 0;
    const { roundTripsMs } = await pingWith(
      () => ({}),
      () => {
        pauseMs = block(three.replyTimeoutMs + 100);
      },
    );
    expect(roundTripsMs).toHaveLength(3);
    for (const timeMs of roundTripsMs) expect(timeMs).toBeLessThan(pauseMs);
  });

  it('begins a round trip when the request leaves, not when this thread requests it', async () => {
    let shortestPauseMs = Number.POSITIVE_INFINITY;
    const { roundTripsMs } = await pingWith((libc) => ({
      sendto: (...call) => {
        shortestPauseMs = Math.min(shortestPauseMs, block(300));
        return libc.sendto(...call);
      },
    }));
    expect(roundTripsMs).toHaveLength(3);
    for (const timeMs of roundTripsMs) expect(timeMs).toBeLessThan(shortestPauseMs);
  });

  it('measures round trips, not its own delay, when the clock of timestamps is set meanwhile', async () => {
    const hourS = 3600;
    let reads = 0;
    let pauseMs = 0;
    const { roundTripsMs } = await pingWith(
      (libc) => ({
        clockGettime: (clock, time) => {
          const result = libc.clockGettime(clock, time);
          reads += 1;
          // An hour ahead while the requests are sent; then someone sets it right.
          if (reads <= three.count) time.writeUInt32LE(time.readUInt32LE(0) + hourS, 0);
          return result;
        },
      }),
      () => {
        pauseMs = block(200);
      },
    );
    expect(roundTripsMs).toHaveLength(3);
    for (const timeMs of roundTripsMs) expect(timeMs).toBeLessThan(pauseMs);
  });

  it('says that its times are those of events where the kernel has none', async () => {
    const { roundTripsMs, isStamped } = await pingWith((libc) => ({
      setsockopt: (descriptor, level, option, value, sizeBytes) =>
        option === SO_TIMESTAMPNS ? -1 : libc.setsockopt(descriptor, level, option, value, sizeBytes),
    }));
    expect(roundTripsMs.filter(Number.isFinite)).toHaveLength(3);
    expect(isStamped).toBe(false);
  });

  it.each(['127.0.0.1', '::1'])(
    'loses no reply because other processes ping from %s, in a raw socket',
    async (address) => {
      const libc = await loadLibc();
      const onlyRaw: Libc = {
        ...libc,
        socket: (domain, type, protocol) =>
          (type & 0xf) === SOCK_DGRAM ? -1 : libc.socket(domain, type, protocol),
      };
      const engines = [new EchoEngine(onlyRaw), new EchoEngine(onlyRaw)] as const;
      try {
        const [engine, other] = engines;
        const train = { ...three, address };
        await engine.ping(train, never);
        // Far more than a buffer holds, sooner than the engine would read its own.
        await other.ping({ ...train, count: 1000, dataBytes: 8192 }, never);
        expect((await engine.ping(train, never)).map(({ kind }) => kind)).toEqual([
          'reply',
          'reply',
          'reply',
        ]);
      } finally {
        for (const engine of engines) engine.close();
      }
    },
  );

  it('reads replies of any size before they fill its buffer', async () => {
    backend = await KernelBackend.open();
    const large = { ...here, count: 20, intervalMs: 0, dataBytes: 65_499 };
    const trains = await Promise.all([backend.ping(large, never), backend.ping(large, never)]);
    const lost = trains.flat().filter(({ kind }) => kind !== 'reply');
    // A busy host drops some packets, on the loopback device too.
    expect(lost.length).toBeLessThanOrEqual(2);
  });
});
