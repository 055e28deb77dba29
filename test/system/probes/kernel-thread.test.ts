import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { KernelThread } from '../../../src/probes/kernel-thread/kernel-thread.ts';
import { KernelTimekeeper } from '../../../src/probes/kernel-thread/timekeeper.ts';
import { loadLibc, SysUnavailable } from '../../../src/probes/sys/libc.ts';
import { probe } from '../../helpers/targets/http-request.ts';
import { type HttpTarget, startHttpTarget } from '../../helpers/targets/http-target.ts';

const reason = await (async () => {
  try {
    await (await KernelTimekeeper.open()).close();
    return undefined;
  } catch (thrown) {
    if (!(thrown instanceof SysUnavailable) || process.env.CI === 'true') throw thrown;
    return thrown.message;
  }
})();

const openDescriptors = () => readdirSync('/proc/self/fd').length;
const threads = () => readdirSync('/proc/self/task');

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

  it('is shared, and ends with the last of its users', async () => {
    const before = { descriptors: openDescriptors(), threads: threads().length };
    const timekeeper = await KernelTimekeeper.open();
    const oneThread = threads().length;
    const other = KernelThread.use(await loadLibc());
    expect(threads().length).toBe(oneThread);
    await other.release();
    // The first probe wakes it.
    await expect.poll(async () => (await probe(target.url, { timekeeper })).measurement.clock).toBe('kernel');
    await timekeeper.close();
    await expect.poll(() => threads().length).toBe(before.threads);
    // The target may have closed some of its own meanwhile.
    await expect.poll(openDescriptors).toBeLessThanOrEqual(before.descriptors);
  });

  it('is replaced when it has ended; running probes continue with event times', async () => {
    const timekeeper = await KernelTimekeeper.open();
    const thread = KernelThread.use(await loadLibc());
    const waiting = probe(`${target.url}/delay/300`, { timekeeper });
    thread.post({ type: 'end' });
    await expect.poll(() => thread.isEnded).toBe(true);
    await thread.release();
    const broken = await waiting;
    expect(broken.error).toBeUndefined();
    expect(broken.measurement.clock).toBe('event');
    // An event may be late, which shortens the measured wait.
    expect(broken.phases?.firstByte).toBeGreaterThanOrEqual(200);
    // The first probe starts another thread, which may not be ready in time.
    await probe(target.url, { timekeeper });
    await expect
      .poll(async () => (await probe(`${target.url}/delay/50`, { timekeeper })).measurement.clock)
      .toBe('kernel');
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
