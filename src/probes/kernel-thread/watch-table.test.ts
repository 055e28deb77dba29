import { describe, expect, it } from 'vitest';
import { WatchTable } from './watch-table.ts';

const edge = (number: number) => ({ atMs: number, receivedBytes: number, sinceSentMs: 0, doubtMs: 0 });

describe('the rows of watched sockets', () => {
  it('keep arrivals that brought data', () => {
    const rows = new WatchTable();
    rows.begin(7, 3);
    for (const number of [1, 2, 2, 1, 3]) rows.addEdge(7, edge(number));
    expect(rows.edges(7)).toEqual([edge(1), edge(2), edge(3)]);
    expect(rows.edges(8)).toEqual([]);
  });

  it('keep the first and the last of many', () => {
    const rows = new WatchTable();
    rows.begin(0, 3);
    for (let number = 1; number <= 1000; number += 1) rows.addEdge(0, edge(number));
    const numbers = rows.edges(0).map(({ atMs }) => atMs);
    expect(numbers.slice(0, 24)).toEqual(Array.from({ length: 24 }, (_, index) => index + 1));
    expect(numbers.slice(24)).toEqual([993, 994, 995, 996, 997, 998, 999, 1000]);
  });

  it('are empty for the next socket, which has another generation', () => {
    const rows = new WatchTable();
    const first = rows.begin(5, 3);
    rows.addAnswer(5, 1);
    rows.addEdge(5, edge(2));
    rows.end(5);
    expect(rows.isCurrent(5, first)).toBe(false);
    const second = rows.begin(5, 4);
    expect(rows.isCurrent(5, second)).toBe(true);
    expect(rows.answeredAtMs(5)).toBeUndefined();
    expect(rows.edges(5)).toEqual([]);
    expect(rows.descriptorOf(5)).toBe(4);
  });

  it('report the first reply only', () => {
    const rows = new WatchTable();
    rows.begin(1, 3);
    rows.addAnswer(1, 10);
    rows.addAnswer(1, 20);
    expect(rows.answeredAtMs(1)).toBe(10);
  });

  it('do not wait for edges that were recorded after the count', () => {
    const rows = new WatchTable();
    rows.begin(3, 9);
    const knownCount = rows.edgeCount(3);
    rows.addEdge(3, edge(1));
    // If it waited, the test would time out.
    rows.awaitEdge(3, knownCount, 600_000);
    expect(rows.edgeCount(3)).toBe(1);
  });

  it('are shared memory of both threads', () => {
    const here = new WatchTable();
    const there = new WatchTable(here.memory);
    here.begin(2, 9);
    there.addEdge(2, edge(1));
    expect(here.edges(2)).toEqual([edge(1)]);
    expect(here.addWatched()).toBe(false);
    there.setAwake(true);
    expect(here.addWatched()).toBe(true);
    here.removeWatched();
    here.removeWatched();
    expect(there.isAnyWatched).toBe(false);
  });
});
