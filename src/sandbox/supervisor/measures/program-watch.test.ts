import { describe, expect, it, vi } from 'vitest';
import { ProgramWatch } from './program-watch.ts';

describe('the watch over programs', () => {
  it('measures those that run, lists processes once a round, and has a timer only meanwhile', () => {
    vi.useFakeTimers();
    try {
      const watch = new ProgramWatch();
      expect(vi.getTimerCount()).toBe(0);
      const lists: unknown[] = [];
      const program = () => ({ measure: (list: () => readonly unknown[]) => void lists.push(list()) });
      const [first, second] = [program(), program()];
      watch.add(first);
      watch.add(second);
      expect(vi.getTimerCount()).toBe(1);
      vi.advanceTimersToNextTimer();
      expect(lists).toHaveLength(2);
      expect(lists[0]).toBe(lists[1]);
      watch.remove(first);
      vi.advanceTimersToNextTimer();
      expect(lists).toHaveLength(3);
      watch.remove(second);
      expect(vi.getTimerCount()).toBe(0);
      watch.add(first);
      expect(vi.getTimerCount()).toBe(1);
      watch.remove(first);
    } finally {
      vi.useRealTimers();
    }
  });
});
