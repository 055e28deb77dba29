import { expect, it } from 'vitest';
import type { TcpInfo } from '../sys/tcp-info.ts';
import { KernelWatch } from './kernel-watch.ts';
import { MonotonicOffset, monotonicMs } from './monotonic-clock.ts';
import type { Edge } from './watch-table.ts';

/** A watch of a connection whose arrivals are noted only while they are waited for. */
function lateWatch(note: (nowMs: number) => Edge | undefined): KernelWatch {
  const edges: Edge[] = [];
  return new KernelWatch({
    startedMs: performance.now() - 100,
    descriptor: -1,
    row: {
      answeredAtMs: () => undefined,
      edges: () => edges,
      awaitEdge: (timeoutMs) => {
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Math.min(timeoutMs, 8));
        const edge = note(monotonicMs());
        if (edge) edges.push(edge);
      },
      standstillEndedAtMs: () => 0,
      waitBeganAtMs: () => monotonicMs(),
      isUp: () => true,
      release: () => undefined,
    },
    info: { read: () => false } as unknown as TcpInfo,
    offset: new MonotonicOffset(),
  });
}

it.each<[string, (nowMs: number) => Edge | undefined]>([
  ['late', (nowMs) => ({ atMs: nowMs, receivedBytes: 700, sinceSentMs: 0, doubtMs: 8 })],
  ['not in time', () => undefined],
])('the first and the last byte of one read arrived together, though it was noted %s', (_what, note) => {
  const watch = lateWatch(note);
  const eventMs = performance.now();
  const firstMs = watch.arrivalAfter(0, 700, eventMs);
  expect(firstMs).toBeLessThanOrEqual(eventMs);
  // The answer to the first question was waited for.
  expect(watch.arrivalOf(700, performance.now())).toBe(firstMs);
});

it('what is read later arrived later', () => {
  const bytes = [700, 1400];
  const watch = lateWatch((nowMs) => ({
    ...{ atMs: nowMs, receivedBytes: bytes.shift() ?? 0, sinceSentMs: 0, doubtMs: 0 },
  }));
  const firstMs = watch.arrivalAfter(0, 700, performance.now());
  expect(watch.arrivalOf(1400, performance.now())).toBeGreaterThan(firstMs);
});
