import { expect, it } from 'vitest';
import type { TcpInfo } from '../sys/tcp-info.ts';
import { KernelWatch, type WatchRow } from './kernel-watch.ts';
import { MonotonicOffset, monotonicMs } from './monotonic-clock.ts';
import type { Edge } from './watch-table.ts';

/** A watch of a connection whose arrivals are recorded only while a waiter exists. */
function lateWatch(note: (nowMs: number) => Edge | undefined): KernelWatch {
  const edges: Edge[] = [];
  return new KernelWatch({
    startedMs: performance.now() - 100,
    descriptor: -1,
    row: {
      answeredAtMs: () => undefined,
      edgeCount: () => edges.length,
      edges: () => edges,
      awaitEdge: (_knownCount, timeoutMs) => {
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

/** A watch of a connection for which only the kernel has data. */
function unnotedWatch(known: Partial<TcpInfo>, startedMs: number, edges: readonly Edge[] = []): KernelWatch {
  const row = {
    edges: () => edges,
    edgeCount: () => edges.length,
    standstillEndedAtMs: () => 0,
    waitBeganAtMs: () => 0,
    isUp: () => false,
  };
  return new KernelWatch({
    startedMs,
    descriptor: -1,
    row: row as unknown as WatchRow,
    info: { read: () => true, stepMs: 4, receivedBytes: 700, ...known } as TcpInfo,
    offset: new MonotonicOffset(),
  });
}

it("an unrecorded arrival has the time of the kernel's count", () => {
  const eventMs = performance.now();
  const watch = unnotedWatch({ sinceDataReceivedMs: 5000 }, eventMs - 60_000);
  const firstMs = watch.arrivalAfter(0, 700, eventMs);
  const lateMs = performance.now() - eventMs;
  expect(firstMs - eventMs).toBeGreaterThanOrEqual(-5004);
  expect(firstMs - eventMs).toBeLessThanOrEqual(lateMs - 4996);
  expect(watch.arrivalOf(700, performance.now())).toBe(firstMs);
  expect(watch.doubtMs).toBeGreaterThanOrEqual(4);
  expect(watch.doubtMs).toBeLessThanOrEqual(4 + lateMs);
});

it('an arrival keeps its first time when it is recorded later', () => {
  const eventMs = performance.now();
  const edges: Edge[] = [];
  const watch = unnotedWatch({ sinceDataReceivedMs: 5000 }, eventMs - 60_000, edges);
  const firstMs = watch.arrivalAfter(0, 700, eventMs);
  edges.push({ atMs: monotonicMs(), receivedBytes: 700, sinceSentMs: 0, doubtMs: 4000 });
  expect(watch.arrivalOf(700, performance.now())).toBe(firstMs);
});

it('an arrival is not before its request, however roughly it is known', () => {
  const eventMs = performance.now();
  const watch = unnotedWatch({ sinceDataReceivedMs: 0 }, eventMs - 60_000);
  watch.written({ beforeMs: eventMs - 1, afterMs: eventMs - 0.9 });
  expect(watch.arrivalAfter(0, 700, eventMs)).toBeGreaterThanOrEqual(eventMs - 0.9);
});

it.each([
  ['the kernel knows of later data', { receivedBytes: 1400, sinceDataReceivedMs: 0 }, 700],
  ['more was read than comes at once', { receivedBytes: 70_000, sinceDataReceivedMs: 0 }, 70_000],
])('an unrecorded arrival is unknown if %s', (_what, known, readBytes) => {
  const eventMs = performance.now();
  const watch = unnotedWatch(known, eventMs - 60_000);
  expect(watch.arrivalAfter(0, readBytes, eventMs)).toBe(eventMs);
  expect(watch.doubtMs).toBe(60_000);
});

it.each<[string, (nowMs: number) => Edge | undefined]>([
  ['late', (nowMs) => ({ atMs: nowMs, receivedBytes: 700, sinceSentMs: 0, doubtMs: 8 })],
  ['not in time', () => undefined],
])(
  'the first and the last byte of one read have the same arrival, although it was recorded %s',
  (_what, note) => {
    const watch = lateWatch(note);
    const eventMs = performance.now();
    const firstMs = watch.arrivalAfter(0, 700, eventMs);
    expect(firstMs).toBeLessThanOrEqual(eventMs);
    // The response to the first request was awaited.
    expect(watch.arrivalOf(700, performance.now())).toBe(firstMs);
  },
);

it('an arrival that is recorded during the search is not waited for', () => {
  const edges: Edge[] = [];
  const waitedFrom: number[] = [];
  const watch = new KernelWatch({
    startedMs: performance.now() - 100,
    descriptor: -1,
    row: {
      edgeCount: () => edges.length,
      edges: () => {
        const seen = [...edges];
        if (edges.length === 0)
          edges.push({ atMs: monotonicMs(), receivedBytes: 700, sinceSentMs: 0, doubtMs: 0 });
        return seen;
      },
      awaitEdge: (knownCount: number) => void waitedFrom.push(knownCount),
      standstillEndedAtMs: () => 0,
      waitBeganAtMs: () => monotonicMs(),
      isUp: () => true,
    } as unknown as WatchRow,
    info: { read: () => false } as unknown as TcpInfo,
    offset: new MonotonicOffset(),
  });
  watch.arrivalOf(700, performance.now());
  // The first edge has already been recorded, so the wait for it ends at once.
  expect(waitedFrom).toEqual([0]);
  expect(watch.doubtMs).toBe(0);
});

it('data that is read later arrived later', () => {
  const bytes = [700, 1400];
  const watch = lateWatch((nowMs) => ({
    ...{ atMs: nowMs, receivedBytes: bytes.shift() ?? 0, sinceSentMs: 0, doubtMs: 0 },
  }));
  const firstMs = watch.arrivalAfter(0, 700, performance.now());
  expect(watch.arrivalOf(1400, performance.now())).toBeGreaterThan(firstMs);
});

it('a handshake is timed from the data sent before its response, not from the start of an interrupted write', () => {
  const eventMs = performance.now();
  const edges: Edge[] = [];
  const watch = unnotedWatch({ sinceDataSentMs: 5000, unconfirmedCount: 1 }, eventMs - 60_000, edges);
  const [beforeMs, afterMs] = [eventMs - 30_000, eventMs - 10];
  const sentMs = watch.written({
    beforeMs,
    afterMs,
    interruption: () => ({ waitedMs: 29_980, turnCount: 3 }),
  });
  const answeredMs = sentMs - 2;
  edges.push({ atMs: answeredMs, receivedBytes: 700, sinceSentMs: 0, doubtMs: 0 });
  const tlsMs = watch.exchangeMs({ atMs: sentMs, earliestMs: beforeMs + 0.4 }, 700, eventMs);
  expect(tlsMs).toBeGreaterThan(0);
  // The kernel's ticks leave 8 ms, plus the duration of the call; the write began 25 s before that.
  expect(tlsMs).toBeLessThan(20_000);
  expect(watch.doubtMs).toBeLessThan(20_000);
});
