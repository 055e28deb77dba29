import { EventEmitter } from 'node:events';
import { systemClock } from '@picket/lib/clock.ts';
import { createLogger } from '@picket/lib/log.ts';
import type { Store } from '@picket/platform/store/store.ts';
import type { FastifyReply } from 'fastify';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { LiveFeed } from './feed.ts';

const accountId = 'account';
let version = 1;
let changes: [string, number][] = [];
let looks = 0;
let turn = 0;

beforeEach(() => {
  [version, changes, looks, turn] = [1, [], 0, 0];
  vi.useFakeTimers();
});
afterEach(() => vi.useRealTimers());

function open() {
  const store = {
    statuses: {
      lastChange: async () => {
        looks += 1;
        return version;
      },
      changesOf: async () => new Map(changes),
    },
    states: { lastTurn: async () => turn, turnsOf: async () => new Map(turn === 0 ? [] : [['one', turn]]) },
  } as unknown as Store;
  return new LiveFeed({ store, clock: systemClock, logger: createLogger('test', 'silent') });
}

/** An open page; returns how often it was notified. */
function page(feed: LiveFeed, checkId: string | null): () => number {
  let notified = 0;
  const raw = Object.assign(new EventEmitter(), {
    writeHead: () => undefined,
    write: (text: string) => {
      if (text.includes('change')) notified += 1;
    },
    end: () => undefined,
    socket: undefined,
  });
  const reply = { hijack: () => undefined, raw } as unknown as FastifyReply;
  feed.add({ accountId, checkId, seen: 1 }, reply);
  return () => notified;
}

it('notifies the page of a check about that check only, and the overview about all', async () => {
  const feed = open();
  const [overview, one, other] = [page(feed, null), page(feed, 'one'), page(feed, 'other')];
  version = 2;
  changes = [
    ['one', 2],
    ['other', 1],
  ];
  await vi.advanceTimersByTimeAsync(2_500);
  expect([overview(), one(), other()]).toEqual([1, 1, 0]);
  await vi.advanceTimersByTimeAsync(20_000);
  expect([overview(), one(), other()]).toEqual([1, 1, 0]);
  feed.close();
});

it('notifies pages of a state that changes with time alone, without an event', async () => {
  const feed = open();
  const [overview, one, other] = [page(feed, null), page(feed, 'one'), page(feed, 'other')];
  turn = 2;
  await vi.advanceTimersByTimeAsync(6_500);
  expect([overview(), one(), other()]).toEqual([1, 1, 0]);
  feed.close();
});

it('makes every page refresh after a minute without news: that is news, too', async () => {
  const feed = open();
  const [overview, one] = [page(feed, null), page(feed, 'one')];
  await vi.advanceTimersByTimeAsync(50_000);
  expect([overview(), one()]).toEqual([0, 0]);
  await vi.advanceTimersByTimeAsync(15_000);
  expect([overview(), one()]).toEqual([1, 1]);
  feed.close();
});

it('queries the version of an account once for all pages that are opened at about the same time', async () => {
  const feed = open();
  await Promise.all(Array.from({ length: 100 }, () => feed.versionOf(accountId)));
  expect(looks).toBe(1);
  await vi.advanceTimersByTimeAsync(600);
  version = 9;
  expect(await feed.versionOf(accountId)).toBe(9);
});
