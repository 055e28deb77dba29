import type { Clock } from '@picket/lib/clock.ts';
import type { Logger } from '@picket/lib/log.ts';
import { LruMap } from '@picket/lib/lru.ts';
import type { HandlerDeps } from '@picket/platform/feature/handler.ts';
import type { Store } from '@picket/platform/store/store.ts';
import type { FastifyReply } from 'fastify';

/** Interval of polling the database for changes, for all readers of an account together. */
const lookMs = 2_000;
/** Minimum pause between notifications: constant changes are unreadable, and 200 readers must not slow the service. */
const restMs = 5_000;
/** Missing events are also news: a page refreshes after this time even without a change. */
const longestRestMs = 60_000;
/** Interval of keep-alive lines, so that proxies do not close an idle connection. */
const keepAliveMs = 20_000;
/** Browsers then reconnect, and are authenticated again. */
const longestMs = 10 * 60_000;
/** Polling interval for changes by time alone, for all readers of an account together. */
const turnKeptMs = lookMs;
/** Reading the version of an account scans all of its statuses: pages opened at about the same time share it. */
const versionKeptMs = 500;
const keptVersions = 1_000;

/** Request header in which a refreshing page reports the version of its notification. */
export const newsHeader = 'x-picket-news';

/** Subscription of an open page. */
export interface Followed {
  readonly accountId: string;
  /** One check of the account; null: all of them. */
  readonly checkId: string | null;
  /** Version of the statuses that the page shows: later changes are news. */
  readonly seen: number;
}

interface Reader extends Followed {
  readonly reply: FastifyReply;
  readonly since: number;
  seen: number;
  /** When the page was notified or opened. */
  notifiedAt: number;
  lastSent: number;
}

/**
 * Notifies open pages of changes by server-sent events. An event has no details: the page requests itself again with
 * its reader's permissions. The page of a check is notified of that check only.
 */
export class LiveFeed {
  readonly #store: Store;
  readonly #logger: Logger;
  readonly #readers = new Set<Reader>();
  readonly #versions = new LruMap<string, { readonly at: number; readonly version: Promise<number> }>(
    keptVersions,
  );
  readonly #turns = new LruMap<string, { readonly at: number; readonly turn: Promise<number> }>(keptVersions);
  readonly #clock: Pick<Clock, 'wallMs'>;
  #timer: NodeJS.Timeout | undefined;

  constructor({ store, clock, logger }: Pick<HandlerDeps, 'store' | 'clock' | 'logger'>) {
    this.#store = store;
    this.#clock = clock;
    this.#logger = logger;
  }

  /** Returns the version of an account's statuses, at most half a second old. */
  async versionOf(accountId: string): Promise<number> {
    const now = performance.now();
    const known = this.#versions.get(accountId);
    if (known && now - known.at < versionKeptMs) return known.version;
    const version = Promise.all([this.#store.statuses.lastChange(accountId), this.#turnOf(accountId)]).then(
      (changes) => Math.max(...changes),
    );
    this.#versions.set(accountId, { at: now, version });
    version.catch(() => this.#versions.delete(accountId));
    return version;
  }

  /** Returns the last state change of an account by time alone, since no event reports a run that did not happen. */
  async #turnOf(accountId: string): Promise<number> {
    const at = performance.now();
    const known = this.#turns.get(accountId);
    if (known && at - known.at < turnKeptMs) return known.turn;
    const turn = this.#store.states.lastTurn(accountId, this.#clock.wallMs());
    this.#turns.set(accountId, { at, turn });
    turn.catch(() => this.#turns.delete(accountId));
    return turn;
  }

  /** Keeps the connection of a request open and sends events to it. */
  add(followed: Followed, reply: FastifyReply): void {
    reply.hijack();
    reply.raw.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      // Buffering proxies would hold events back.
      'x-accel-buffering': 'no',
    });
    reply.raw.write('retry: 5000\n\n');
    reply.raw.socket?.setTimeout(0);
    const now = performance.now();
    const reader: Reader = { ...followed, reply, since: now, notifiedAt: now - restMs, lastSent: now };
    this.#readers.add(reader);
    reply.raw.once('close', () => this.#readers.delete(reader));
    this.#timer ??= setInterval(() => void this.#look(), lookMs).unref();
  }

  /** Ends all connections, so that a closing service need not wait for them. */
  close(): void {
    clearInterval(this.#timer);
    for (const { reply } of this.#readers) reply.raw.end();
    this.#readers.clear();
  }

  async #look(): Promise<void> {
    const accounts = Map.groupBy(this.#readers, ({ accountId }) => accountId);
    if (accounts.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      return;
    }
    for (const [accountId, readers] of accounts) {
      try {
        const version = readers.some(({ checkId }) => checkId === null) ? await this.versionOf(accountId) : 0;
        const checkIds = new Set(readers.flatMap(({ checkId }) => checkId ?? []));
        const changes = await this.#changesOf(accountId, [...checkIds]);
        for (const reader of readers) this.#tell(reader, version, changes);
      } catch (thrown) {
        this.#logger.debug({ err: thrown, accountId }, 'live pages wait for the database');
      }
    }
  }

  async #changesOf(accountId: string, checkIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
    if (checkIds.length === 0) return new Map();
    const changes = await this.#store.statuses.changesOf(accountId, checkIds);
    const turns = await this.#store.states.turnsOf(accountId, checkIds, this.#clock.wallMs());
    return new Map(checkIds.map((id) => [id, Math.max(changes.get(id) ?? 0, turns.get(id) ?? 0)]));
  }

  #tell(reader: Reader, version: number, changes: ReadonlyMap<string, number>): void {
    const now = performance.now();
    const { checkId, seen } = reader;
    const { raw } = reader.reply;
    const changed = checkId === null ? version : Math.max(seen, changes.get(checkId) ?? 0);
    const restedMs = now - reader.notifiedAt;
    if (now - reader.since > longestMs) raw.end();
    else if ((changed !== seen && restedMs >= restMs) || restedMs >= longestRestMs) {
      reader.seen = changed;
      reader.notifiedAt = now;
      reader.lastSent = now;
      raw.write(`event: change\ndata: ${changed}\n\n`);
    } else if (now - reader.lastSent > keepAliveMs) {
      reader.lastSent = now;
      raw.write(':\n\n');
    }
  }
}
