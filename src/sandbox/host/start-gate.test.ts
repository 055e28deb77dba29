import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { StartGate } from './start-gate.ts';

describe('the gate of starts', () => {
  beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
  afterEach(() => vi.useRealTimers());

  const { signal } = new AbortController();

  it('lets the next run start when one has ended, in the order of their arrival', async () => {
    const gate = new StartGate({ count: 2, maxStartMs: 1000 });
    const started: string[] = [];
    const enter = async (name: string) => {
      const end = await gate.enter(signal);
      started.push(name);
      return end;
    };
    const [first] = await Promise.all([enter('first'), enter('second')]);
    const third = enter('third');
    const fourth = enter('fourth');
    await Promise.resolve();
    expect(gate.isFull).toBe(true);
    expect(started).toEqual(['first', 'second']);
    first?.();
    first?.();
    await third;
    expect(started).toEqual(['first', 'second', 'third']);
    vi.advanceTimersByTime(1000);
    await fourth;
    expect(gate.isFull).toBe(false);
  });

  it('forgets a run that stops waiting', async () => {
    const gate = new StartGate({ count: 1, maxStartMs: 1000 });
    const end = await gate.enter(signal);
    const stop = new AbortController();
    const stopped = gate.enter(stop.signal);
    const next = gate.enter(signal);
    stop.abort(new Error('stopped'));
    await expect(stopped).rejects.toThrow('stopped');
    end();
    await next;
    await expect(gate.enter(stop.signal)).rejects.toThrow('stopped');
  });
});
