import { afterEach, describe, expect, it, vi } from 'vitest';
import { WorkBudget } from './work-budget.ts';

afterEach(() => vi.restoreAllMocks());

/** Mocks the CPU time that the kernel reports since the last call. */
const say = (usedMs: number) =>
  vi
    .spyOn(process, 'threadCpuUsage')
    .mockImplementation((since) => ({ user: since ? usedMs * 1000 : 0, system: 0 }));

const endless = () => {
  for (;;);
};

describe('processor time of a run', () => {
  it('is used up by stopped work, however coarse the clock is', () => {
    const budget = new WorkBudget({ steps: 0, cpuMs: 50 });
    say(45);
    expect(() => budget.timed(endless)).toThrow('took longer than 50 ms');
    expect(() => budget.timed(endless)).toThrow('took longer than 1 ms');
  });

  it('is not used up by waiting for a turn: the rest is enough for short work', () => {
    const budget = new WorkBudget({ steps: 0, cpuMs: 1 });
    say(0);
    const waits = () => {
      const endMs = performance.now() + 30;
      while (performance.now() < endMs);
      return 'done';
    };
    expect(budget.timed(waits)).toBe('done');
  });
});
