import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { IcmpUnavailable } from '../../../src/probes/icmp/backend.ts';
import { KernelBackend } from '../../../src/probes/icmp/kernel-backend.ts';
import { KernelTimekeeper } from '../../../src/probes/kernel-thread/timekeeper.ts';
import { SysUnavailable } from '../../../src/probes/sys/libc.ts';
import { probe } from '../../helpers/targets/http-request.ts';
import { type HttpTarget, startHttpTarget } from '../../helpers/targets/http-target.ts';

const reason = await (async () => {
  try {
    await (await KernelTimekeeper.open()).close();
    await (await KernelBackend.open()).close();
    return undefined;
  } catch (thrown) {
    const isMissing = thrown instanceof SysUnavailable || thrown instanceof IcmpUnavailable;
    if (!isMissing || process.env.CI === 'true') throw thrown;
    return thrown.message;
  }
})();

const openDescriptors = () => readdirSync('/proc/self/fd').length;
const threads = () => readdirSync('/proc/self/task');
const never = new AbortController().signal;
const train = { address: '127.0.0.1', family: 4, intervalMs: 5, replyTimeoutMs: 1000 } as const;

/** CPU time a thread of this process has used, in clock ticks of 10 ms. */
function ticksOf(thread: string): number {
  const fields = readFileSync(`/proc/self/task/${thread}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return Number(fields[11]) + Number(fields[12]);
}

/** Voluntary context switches of a thread: each iteration of a loop makes one. */
function roundsOf(thread: string): number {
  const status = readFileSync(`/proc/self/task/${thread}/status`, 'utf8');
  return Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(status)?.[1]);
}

describe.skipIf(reason)(`the kernel thread${reason ? ` (${reason})` : ''}`, () => {
  let target: HttpTarget;
  beforeEach(async () => {
    target = await startHttpTarget();
    await probe(target.url);
  });
  afterEach(() => target.close());

  it('is shared by pings and sockets, and ends with the last of its users', async () => {
    const before = { descriptors: openDescriptors(), threads: threads().length };
    const timekeeper = await KernelTimekeeper.open();
    const oneThread = threads().length;
    const backend = await KernelBackend.open();
    expect(threads().length).toBe(oneThread);
    await backend.close();
    expect((await probe(target.url, { timekeeper })).measurement.clock).toBe('kernel');
    await timekeeper.close();
    await expect.poll(() => threads().length).toBe(before.threads);
    // The target may have closed some of its own meanwhile.
    await expect.poll(openDescriptors).toBeLessThanOrEqual(before.descriptors);
  });

  it('is replaced when it breaks; running probes continue with event times', async () => {
    const timekeeper = await KernelTimekeeper.open();
    const backend = await KernelBackend.open();
    const waiting = probe(`${target.url}/delay/300`, { timekeeper });
    const impossible = { ...train, count: 1, dataBytes: -100 };
    await expect(backend.ping(impossible, never)).rejects.toThrow('the ICMP engine ended unexpectedly');
    const broken = await waiting;
    expect(broken.error).toBeUndefined();
    expect(broken.measurement.clock).toBe('event');
    // An event may be late, which shortens the measured wait.
    expect(broken.phases?.firstByte).toBeGreaterThanOrEqual(200);
    // The first probe starts another thread, which may not be ready in time.
    await probe(target.url, { timekeeper });
    await backend.ping({ ...train, count: 1, dataBytes: 56 }, never);
    await expect
      .poll(async () => (await probe(`${target.url}/delay/50`, { timekeeper })).measurement.clock)
      .toBe('kernel');
    await backend.close();
    await timekeeper.close();
  });

  it('sleeps while idle, and wakes for the next socket', async () => {
    const known = new Set(threads());
    const timekeeper = await KernelTimekeeper.open();
    await probe(target.url, { timekeeper });
    const added = threads().filter((thread) => !known.has(thread));
    // It lingers for a second, with ten iterations per second.
    await delay(1500);
    const before = added.map((thread) => ({ ticks: ticksOf(thread), rounds: roundsOf(thread) }));
    await delay(1000);
    for (const [index, thread] of added.entries()) {
      expect(ticksOf(thread) - (before[index]?.ticks ?? 0)).toBeLessThanOrEqual(1);
      expect(roundsOf(thread) - (before[index]?.rounds ?? 0)).toBeLessThan(5);
    }
    await expect
      .poll(async () => (await probe(`${target.url}/delay/50`, { timekeeper })).measurement.clock)
      .toBe('kernel');
    await timekeeper.close();
  });

  it('does not keep a process alive', async () => {
    const module = new URL('../../../src/probes/kernel-thread/timekeeper.ts', import.meta.url).href;
    const script = `import('${module}').then(({ openTimekeeper }) => openTimekeeper()).then(() => console.log('open'))`;
    const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [line] = await once(child.stdout, 'data');
    expect(String(line)).toBe('open\n');
    const [code] = await once(child, 'exit');
    expect(code).toBe(0);
  });
});
