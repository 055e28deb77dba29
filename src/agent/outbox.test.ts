import { describe, expect, it } from 'vitest';
import { Outbox } from './outbox.ts';
import { Scrubber } from './scrubber.ts';
import type { FinishedRun } from './worker-message.ts';

const scrubber = new Scrubber([]);
const limits = { maxCount: 3, maxSize: 100 };

/** A report of a given size. */
function report(runId: string, size: number): FinishedRun {
  return {
    runId,
    leaseNumber: 1,
    resultId: runId,
    envelopeJson: scrubber.text(''),
    detailJson: scrubber.text('x'.repeat(size)),
    facts: {
      checkType: 'URL',
      verdict: 'passed',
      isAborted: false,
      startedAtMs: 0,
      startDelayMs: 0,
      agentLagMs: 0,
      isTimingDoubtful: false,
      durationMs: 0,
      unmaskedNames: [],
    },
  };
}

describe('Outbox', () => {
  const dropped: string[] = [];
  const create = (maxSize: number) => {
    dropped.length = 0;
    return new Outbox({ maxSize, onDropped: ({ runId }) => dropped.push(runId) });
  };
  const idsOf = (runs: readonly FinishedRun[]) => runs.map(({ runId }) => runId);

  it('gives the oldest first, within the limits of a batch', () => {
    const outbox = create(1000);
    for (const [id, size] of [
      ['a', 40],
      ['b', 40],
      ['c', 40],
      ['d', 500],
      ['e', 1],
      ['f', 1],
      ['g', 1],
      ['h', 1],
    ] as const) {
      outbox.add(report(id, size));
    }
    expect(idsOf(outbox.take(limits))).toEqual(['a', 'b']);
    expect(idsOf(outbox.take(limits))).toEqual(['c']);
    // Larger than any batch: it goes alone.
    expect(idsOf(outbox.take(limits))).toEqual(['d']);
    expect(idsOf(outbox.take(limits))).toEqual(['e', 'f', 'g']);
    expect([outbox.count, outbox.size]).toEqual([1, 1]);
    expect(outbox.take(limits)).toHaveLength(1);
    expect(outbox.take(limits)).toEqual([]);
    expect(outbox.size).toBe(0);
  });

  it('knows when a batch is full, by count or by size', () => {
    const outbox = create(1000);
    outbox.add(report('a', 10));
    expect(outbox.fills(limits)).toBe(false);
    outbox.add(report('b', 90));
    expect(outbox.fills(limits)).toBe(true);
  });

  it('puts back in front, in order', () => {
    const outbox = create(1000);
    outbox.add(report('a', 1));
    outbox.add(report('b', 1));
    const taken = outbox.take(limits);
    outbox.add(report('c', 1));
    outbox.putBack(taken);
    expect(idsOf(outbox.take(limits))).toEqual(['a', 'b', 'c']);
  });

  it('drops the oldest when it is full, and tells', () => {
    const outbox = create(100);
    outbox.add(report('a', 60));
    outbox.add(report('b', 30));
    expect(dropped).toEqual([]);
    outbox.add(report('c', 50));
    expect(dropped).toEqual(['a']);
    const taken = outbox.take({ maxCount: 1, maxSize: 100 });
    outbox.add(report('d', 40));
    outbox.putBack(taken);
    expect(dropped).toEqual(['a', 'b']);
    expect([outbox.count, outbox.size]).toEqual([2, 90]);
  });
});
