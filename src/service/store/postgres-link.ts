import { randomUUID } from 'node:crypto';
import { type Kysely, sql } from 'kysely';
import pg from 'pg';
import { backoffDelayMs } from '../../lib/backoff.ts';
import { toError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import { advisoryLocks } from './dialect.ts';
import { LocalSignals, type Signal, type Signals } from './signals.ts';
import type { Tables } from './tables.ts';

const channel = 'picket';

/**
 * One dedicated connection to PostgreSQL: it listens for signals of other service processes and holds the advisory
 * lock that makes this process the scheduler. When it breaks, leadership is gone with it and it is opened again.
 */
export class PostgresLink implements Signals {
  readonly #config: pg.ClientConfig;
  readonly #db: Kysely<Tables>;
  readonly #logger: Logger;
  readonly #local = new LocalSignals();
  /** Tells this process's own notifications from those of others. */
  readonly #origin = randomUUID();
  #client: pg.Client | undefined;
  #isLeader = false;
  #isClosed = false;
  #reopening: NodeJS.Timeout | undefined;
  #failures = 0;

  constructor(config: pg.ClientConfig, db: Kysely<Tables>, logger: Logger) {
    this.#config = config;
    this.#db = db;
    this.#logger = logger;
  }

  async open(): Promise<void> {
    const client = new pg.Client(this.#config);
    client.on('error', (error) => this.#lost(client, error));
    client.on('end', () => this.#lost(client, new Error('the connection ended')));
    client.on('notification', (message) => this.#heard(message.payload));
    await client.connect();
    await client.query(`listen ${channel}`);
    if (this.#isClosed) {
      await client.end();
      return;
    }
    this.#client = client;
    this.#failures = 0;
  }

  /** Whether this process holds the scheduler's lock; takes it when it is free. */
  async isLeader(): Promise<boolean> {
    const client = this.#client;
    if (!client) return false;
    if (this.#isLeader) return true;
    const answer = await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1) as locked', [
      advisoryLocks.scheduler,
    ]);
    // The connection may have been lost meanwhile, and the lock with it.
    if (client !== this.#client) return false;
    this.#isLeader = answer.rows[0]?.locked === true;
    if (this.#isLeader) this.#logger.info('this process schedules now');
    return this.#isLeader;
  }

  send(signals: readonly Signal[]): void {
    this.#local.send(signals);
    if (signals.length === 0 || this.#isClosed) return;
    // PostgreSQL caps a payload at 8,000 bytes.
    for (let start = 0; start < signals.length; start += 25) {
      const payload = JSON.stringify({ origin: this.#origin, signals: signals.slice(start, start + 25) });
      sql`select pg_notify(${channel}, ${payload})`.execute(this.#db).catch((thrown: unknown) => {
        // Others look by themselves now and then, so a lost signal costs them seconds at most.
        this.#logger.debug({ reason: toError(thrown).message }, 'a signal to other processes was lost');
      });
    }
  }

  subscribe(listener: (signal: Signal) => void): () => void {
    return this.#local.subscribe(listener);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#reopening);
    const client = this.#client;
    this.#client = undefined;
    this.#isLeader = false;
    if (client) await client.end();
  }

  #heard(payload: string | undefined): void {
    if (payload === undefined) return;
    const message = JSON.parse(payload) as { origin: string; signals: Signal[] };
    if (message.origin !== this.#origin) this.#local.send(message.signals);
  }

  #lost(client: pg.Client, error: Error): void {
    if (client !== this.#client || this.#isClosed) return;
    this.#client = undefined;
    this.#isLeader = false;
    this.#logger.warn({ reason: error.message }, 'the connection for notifications broke; opening it again');
    client.end().catch(() => undefined);
    this.#reopenLater();
  }

  #reopenLater(): void {
    const delayMs = 100 + backoffDelayMs(this.#failures, { baseMs: 200, capMs: 3_000 });
    this.#failures += 1;
    this.#reopening = setTimeout(() => {
      this.open().then(
        () => this.#local.send([{ kind: 'look' }]),
        (thrown: unknown) => {
          this.#logger.debug({ reason: toError(thrown).message }, 'the database does not answer yet');
          if (!this.#isClosed) this.#reopenLater();
        },
      );
    }, delayMs);
  }
}
