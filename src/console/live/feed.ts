import type { Clock } from '@picket/lib/clock.ts';
import type { Logger } from '@picket/lib/log.ts';
import { LruMap } from '@picket/lib/lru.ts';
import type { HandlerDeps } from '@picket/platform/feature/handler.ts';
import type { Store } from '@picket/platform/store/store.ts';
import type { FastifyReply } from 'fastify';

/** How often the database is asked whether anything changed, for all readers of an account together. */
const lookMs = 2_000;
/** A page that changes all the time is read by nobody, and 200 readers must not slow the service. */
const restMs = 5_000;
/** What does not happen is news as well: a page looks again after this time, whatever came in. */
const longestRestMs = 60_000;
/** A line that keeps proxies from ending a connection on which nothing happens. */
const keepAliveMs = 20_000;
/** Then browsers connect anew, and are asked again who they are. */
const longestMs = 10 * 60_000;
/** What turns by time alone is looked for as often, for all readers of an account together. */
const turnKeptMs = lookMs;
/** Looking for the version of an account reads all of its statuses: pages that are opened share one look. */
const versionKeptMs = 500;
const keptVersions = 1_000;

/** In it a page that asks for itself again says of which version it was notified. */
export const newsHeader = 'x-picket-news';

/** What an open page follows. */
export interface Followed {
  readonly accountId: string;
  /** One check of the account; null: all of them. */
  readonly checkId: string | null;
  /** The version of the statuses that the page was made of: what changed since then is news. */
  readonly seen: number;
}

interface Reader extends Followed {
  readonly reply: FastifyReply;
  readonly since: number;
  seen: number;
  /** When the page was notified, or was opened. */
  notifiedAt: number;
  lastSent: number;
}

/**
 * Tells open pages, by server-sent events, that there is something new. An event says nothing of what is new:
 * the page asks for itself again, as its reader may see it. The page of a check hears of that check only.
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

  /** The version of the statuses of an account, at most half a second old. */
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

  /** When a state of an account turned last by time alone: no event reports a run that did not happen. */
  async #turnOf(accountId: string): Promise<number> {
    const at = performance.now();
    const known = this.#turns.get(accountId);
    if (known && at - known.at < turnKeptMs) return known.turn;
    const turn = this.#store.states.lastTurn(accountId, this.#clock.wallMs());
    this.#turns.set(accountId, { at, turn });
    turn.catch(() => this.#turns.delete(accountId));
    return turn;
  }

  /** Keeps the connection of a request open and reports what happens. */
  add(followed: Followed, reply: FastifyReply): void {
    reply.hijack();
    reply.raw.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      // Proxies that collect answers before they pass them on would hold events back.
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

  /** Ends all connections, so that a service that closes need not wait for them. */
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
