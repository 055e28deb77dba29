import type { FastifyReply } from 'fastify';
import type { Logger } from '../../../lib/log.ts';
import type { Store } from '../../store.ts';

/** How often the database is asked whether anything changed, for all readers of an account together. */
const lookMs = 2_000;
/** A page that changes all the time is read by nobody, and 200 readers must not slow the service. */
const restMs = 5_000;
/** A line that keeps proxies from ending a connection on which nothing happens. */
const keepAliveMs = 20_000;
/** Then browsers connect anew, and are asked again who they are. */
const longestMs = 10 * 60_000;

interface Reader {
  readonly accountId: string;
  readonly reply: FastifyReply;
  readonly since: number;
  lastSent: number;
  /** The version of the account's statuses that it shows. */
  seen: number;
}

/**
 * Tells open pages, by server-sent events, that there is something new. An event says nothing of what is new:
 * the page asks for itself again, as its reader may see it.
 */
export class LiveFeed {
  readonly #store: Store;
  readonly #logger: Logger;
  readonly #readers = new Set<Reader>();
  #timer: NodeJS.Timeout | undefined;

  constructor({ store, logger }: { readonly store: Store; readonly logger: Logger }) {
    this.#store = store;
    this.#logger = logger;
  }

  /**
   * Keeps the connection of a request open and reports what happens in an account.
   *
   * @param seen the version that its page was made of: what changed since then is news.
   */
  add(accountId: string, seen: number, reply: FastifyReply): void {
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
    const reader: Reader = { accountId, reply, since: now, lastSent: now - restMs, seen };
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
    const accounts = new Set([...this.#readers].map(({ accountId }) => accountId));
    if (accounts.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      return;
    }
    for (const accountId of accounts) {
      try {
        const version = await this.#store.statuses.lastChange(accountId);
        this.#tell(accountId, version);
      } catch (thrown) {
        this.#logger.debug({ err: thrown, accountId }, 'live pages wait for the database');
      }
    }
  }

  #tell(accountId: string, version: number): void {
    const now = performance.now();
    for (const reader of this.#readers) {
      if (reader.accountId !== accountId) continue;
      const { raw } = reader.reply;
      const quietMs = now - reader.lastSent;
      if (now - reader.since > longestMs) raw.end();
      else if (version !== reader.seen && quietMs >= restMs) {
        reader.seen = version;
        reader.lastSent = now;
        raw.write('event: change\ndata:\n\n');
      } else if (quietMs > keepAliveMs) {
        reader.lastSent = now;
        raw.write(':\n\n');
      }
    }
  }
}
