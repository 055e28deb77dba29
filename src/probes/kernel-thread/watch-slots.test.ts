import { describe, expect, it } from 'vitest';
import { WatchSlots } from './watch-slots.ts';

const edge = (number: number) => ({ atMs: number, receivedBytes: number, sinceSentMs: 0 });

describe('the slots of watched sockets', () => {
  it('keep arrivals that brought something', () => {
    const slots = new WatchSlots();
    slots.begin(7, 3);
    for (const number of [1, 2, 2, 1, 3]) slots.addEdge(7, edge(number));
    expect(slots.edges(7)).toEqual([edge(1), edge(2), edge(3)]);
    expect(slots.edges(8)).toEqual([]);
  });

  it('keep the first and the last of many', () => {
    const slots = new WatchSlots();
    slots.begin(0, 3);
    for (let number = 1; number <= 1000; number += 1) slots.addEdge(0, edge(number));
    const numbers = slots.edges(0).map(({ atMs }) => atMs);
    expect(numbers.slice(0, 24)).toEqual(Array.from({ length: 24 }, (_, index) => index + 1));
    expect(numbers.slice(24)).toEqual([993, 994, 995, 996, 997, 998, 999, 1000]);
  });

  it('are empty for the next socket, whose generation is another', () => {
    const slots = new WatchSlots();
    const first = slots.begin(5, 3);
    slots.addAnswer(5, 1);
    slots.addEdge(5, edge(2));
    slots.end(5);
    expect(slots.isCurrent(5, first)).toBe(false);
    const second = slots.begin(5, 4);
    expect(slots.isCurrent(5, second)).toBe(true);
    expect(slots.answeredAtMs(5)).toBeUndefined();
    expect(slots.edges(5)).toEqual([]);
    expect(slots.descriptorOf(5)).toBe(4);
  });

  it('tell of the first answer only', () => {
    const slots = new WatchSlots();
    slots.begin(1, 3);
    slots.addAnswer(1, 10);
    slots.addAnswer(1, 20);
    expect(slots.answeredAtMs(1)).toBe(10);
  });

  it('are the same memory for both threads', () => {
    const here = new WatchSlots();
    const there = new WatchSlots(here.memory);
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
