import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { backoffDelayMs } from '@picket/lib/clock.ts';
import { errorCodeOf, toError } from '@picket/lib/errors.ts';
import type { Logger } from '@picket/lib/log.ts';
import { type Kysely, sql } from 'kysely';
import type pg from 'pg';
import type { Tables } from '../tables.ts';
import { poolerError } from './disk/open-errors.ts';
import { isReadTimeout } from './foreign-texts.ts';
import type { PostgresHosts } from './postgres/postgres-hosts.ts';
import { ScheduleParts } from './schedule-parts.ts';
import { LocalSignals, merged, type Relay, readMessage, type Signal, type Signals } from './signals.ts';

const channel = 'picket';
/** PostgreSQL caps a payload at 8,000 bytes. */
const signalsPerPayload = 25;
/** Backlog limit for a slow database: beyond it, a single `look` signal replaces the backlog. */
const mostOutgoing = 250;

/** SQLSTATE of a lock timeout. */
const lockNotAvailable = '55P03';

/** Leadership expires if it is not renewed for this long, by the database's clock. */
const leadershipMs = 6_000;
const renewEveryMs = 2_000;
/** Maximum wait of a takeover for a leader that stalls in the middle of a transaction. */
const lockTimeoutMs = 1_000;
/** Our own notification arrives within milliseconds, if at all. */
const proofMs = 5_000;

/** Uses the database's time: the clocks of service processes may differ. */
const takeLeadership = `
  insert into leaderships as present (name, holder, backend_pid, held_until)
  values ('scheduler', $1, pg_backend_pid(), clock_timestamp() + $2 * interval '1 millisecond')
  on conflict (name) do update
    set holder = excluded.holder, backend_pid = excluded.backend_pid, held_until = excluded.held_until
    where present.holder = excluded.holder
      or present.held_until <= clock_timestamp()
      or not exists (select 1 from pg_stat_activity where pid = present.backend_pid)
  returning holder`;

export interface LinkOptions {
  readonly hosts: PostgresHosts;
  readonly db: Kysely<Tables>;
  readonly logger: Logger;
  /** Place of the database for error messages. */
  readonly place: string;
  /** Carries signals to other processes if available; else the database does. */
  readonly relay?: Relay | undefined;
}

/**
 * One dedicated connection to PostgreSQL: it listens for signals of other service processes, and maintains the rows
 * that make this process the leader and assign its parts of the schedule.
 *
 * No leader → leading: the row is free, or its holder was silent for `leadershipMs` (a stopped or isolated process), or
 * the holder's connection is gone (a dead process: its successor need not wait). Leading → leading: the row is renewed
 * every two seconds. Leading → not leading: the time passes without a response, or another process holds the row. A
 * stopped process learns of none of this before it resumes; so writes reserved to the leader run under
 * `lockLeadership`, which locks the row until the end of the transaction.
 */
export class PostgresLink implements Signals {
  readonly #hosts: PostgresHosts;
  readonly #db: Kysely<Tables>;
  readonly #logger: Logger;
  readonly #place: string;
  readonly #relay: Relay | undefined;
  readonly #local = new LocalSignals();
  /** Distinguishes this process's own notifications from those of others. */
  readonly #origin = randomUUID();
  readonly #parts: ScheduleParts;
  #client: pg.Client | undefined;
  /** Until when this process certainly leads, on its monotonic clock. */
  #leadsUntilMs = 0;
  #asking: Promise<boolean> | undefined;
  #renewing: NodeJS.Timeout | undefined;
  #isClosed = false;
  #last: Promise<unknown> = Promise.resolve();
  /** Signals not yet sent to other processes. */
  #outgoing: readonly Signal[] = [];
  #isNotifying = false;
  #reopening: NodeJS.Timeout | undefined;
  #failures = 0;
  /** Called for notifications of this process itself. */
  #heardOwn: (() => void) | undefined;

  constructor({ hosts, db, logger, place, relay }: LinkOptions) {
    this.#hosts = hosts;
    this.#place = place;
    this.#db = db;
    this.#logger = logger;
    this.#relay = relay;
    this.#parts = new ScheduleParts({ holder: this.#origin, heldMs: leadershipMs, logger });
  }

  async open(): Promise<void> {
    const client = await this.#hosts.connect({ query_timeout: leadershipMs }, (made) => {
      made.on('error', (error) => this.#lost(made, error));
      made.on('end', () => this.#lost(made, new Error('the connection ended')));
      made.on('notification', ({ payload }) => payload !== undefined && this.receive(payload));
    });
    try {
      await client.query(`listen ${channel}; set lock_timeout = ${lockTimeoutMs}`);
      await this.#proveSession(client);
      if (!this.#isClosed) await this.#parts.share(client);
    } catch (thrown) {
      await client.end().catch(() => undefined);
      throw thrown;
    }
    if (this.#isClosed) {
      await client.end();
      return;
    }
    this.#client = client;
    this.#failures = 0;
    this.#renewing ??= setInterval(() => this.#renew(), renewEveryMs);
  }

  /**
   * A pooler that assigns each transaction another server connection accepts LISTEN, but delivers no notifications.
   *
   * @throws AppError CONFIG_INVALID.
   */
  async #proveSession(client: pg.Client): Promise<void> {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    // A pooler reports its own process ID, not the server's. A session-mode pooler is acceptable.
    if (rows[0]?.pid === (client as { processID?: number }).processID) return;
    const heard = Promise.withResolvers<true>();
    this.#heardOwn = () => heard.resolve(true);
    const timer = new AbortController();
    try {
      const payload = JSON.stringify({ origin: this.#origin, signals: [] });
      await sql`select pg_notify(${channel}, ${payload})`.execute(this.#db);
      const late = sleep(proofMs, false, { signal: timer.signal }).catch(() => false);
      if (await Promise.race([heard.promise, late])) return;
    } finally {
      this.#heardOwn = undefined;
      timer.abort();
    }
    throw poolerError(this.#place);
  }

  /** A connection handles one query at a time: leadership and the parts of the schedule share it. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    // The caller gets the error; the next work is independent of it.
    this.#last = done.catch(() => undefined);
    return done;
  }

  /** Whether this process is the leader; takes over leadership if it is free. */
  async isLeader(): Promise<boolean> {
    if (performance.now() < this.#leadsUntilMs) return true;
    return await this.#leadership();
  }

  /** Whether this process leads. Locks the row, so that no other process becomes leader before the transaction ends. */
  async lockLeadership(transaction: Kysely<Tables>): Promise<boolean> {
    const { rows } = await sql`select holder from leaderships
      where name = 'scheduler' and holder = ${this.#origin} for share`.execute(transaction);
    return rows.length === 1;
  }

  /** Shares one query among concurrent callers, as when a process starts. */
  #leadership(): Promise<boolean> {
    this.#asking ??= this.#askForLeadership().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async #askForLeadership(): Promise<boolean> {
    const client = this.#client;
    if (!client) return false;
    const wasLeading = this.#leadsUntilMs > 0;
    const askedAtMs = performance.now();
    let isHeld: boolean;
    try {
      const { rows } = await this.#inTurn(() => client.query(takeLeadership, [this.#origin, leadershipMs]));
      isHeld = rows.length === 1;
    } catch (thrown) {
      // The holder is in the middle of a transaction; it may be this process. Nothing has changed.
      if (errorCodeOf(thrown) === lockNotAvailable) return performance.now() < this.#leadsUntilMs;
      const error = toError(thrown);
      // The connection died silently, so its LISTEN receives nothing either.
      if (isReadTimeout(error.message)) this.#lost(client, error);
      throw error;
    }
    // The connection may have been lost meanwhile, and with it this process's sign of life.
    if (client !== this.#client) return false;
    this.#leadsUntilMs = isHeld ? askedAtMs + leadershipMs : 0;
    if (isHeld && !wasLeading) this.#logger.info('became leader');
    if (!isHeld && wasLeading) this.#logger.warn('lost leadership to another process');
    return isHeld;
  }

  /** Returns this process's parts of the schedule, locked until the end of the transaction. */
  lockParts(transaction: Kysely<Tables>): Promise<readonly number[]> {
    return this.#parts.lock(transaction);
  }

  /** Begins scheduling in this process. */
  joinSchedule(): Promise<void> {
    return this.#inTurn(() => this.#parts.join(this.#client));
  }

  /** Ends scheduling in this process. */
  async leaveSchedule(): Promise<void> {
    try {
      await this.#inTurn(() => this.#parts.leave(this.#client));
    } catch (thrown) {
      // The end of the connection does the same, later.
      this.#logger.debug({ reason: toError(thrown).message }, 'failed to release parts of the schedule');
    }
  }

  #renew(): void {
    this.#shareSchedule().catch((thrown: unknown) => {
      this.#logger.debug({ reason: toError(thrown).message }, 'failed to share the schedule');
    });
    if (this.#leadsUntilMs === 0) return;
    this.#leadership().catch((thrown: unknown) => {
      this.#logger.debug({ reason: toError(thrown).message }, 'failed to renew leadership');
    });
  }

  async #shareSchedule(): Promise<void> {
    const client = this.#client;
    if (!client) return;
    try {
      // Slots of the acquired parts may be due: their former holder may have been gone for seconds.
      const hasMore = await this.#inTurn(() => this.#parts.share(client));
      if (hasMore) this.#local.send([{ kind: 'schedule' }]);
    } catch (thrown) {
      const error = toError(thrown);
      if (isReadTimeout(error.message)) this.#lost(client, error);
      throw error;
    }
  }

  send(signals: readonly Signal[]): void {
    this.#local.send(signals);
    if (signals.length === 0 || this.#isClosed) return;
    this.#outgoing = merged([...this.#outgoing, ...signals]);
    if (this.#outgoing.length > mostOutgoing) this.#outgoing = [{ kind: 'look' }];
    if (!this.#isNotifying) void this.#notify();
  }

  /**
   * Notifies other processes, after the transactions that the signals are about; batches signals that arrive meanwhile
   * with the next statement. Notifications of all processes are serialized by one lock of the database, held until the
   * commit is done, so these transactions do not wait for the disk.
   */
  async #notify(): Promise<void> {
    this.#isNotifying = true;
    while (this.#outgoing.length > 0) {
      const signals = this.#outgoing;
      this.#outgoing = [];
      const payloads: string[] = [];
      for (let start = 0; start < signals.length; start += signalsPerPayload) {
        const some = signals.slice(start, start + signalsPerPayload);
        payloads.push(JSON.stringify({ origin: this.#origin, signals: some }));
      }
      try {
        if (await this.#relay?.carry(payloads)) continue;
        await sql`select set_config('synchronous_commit', 'off', true), pg_notify(${channel}, payload)
          from unnest(${payloads}::text[]) as payload`.execute(this.#db);
      } catch (thrown) {
        // Other processes also poll now and then, so a lost signal costs them seconds at most.
        this.#logger.debug({ reason: toError(thrown).message }, 'failed to notify other processes');
      }
    }
    this.#isNotifying = false;
  }

  subscribe(listener: (signal: Signal) => void): () => void {
    return this.#local.subscribe(listener);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#reopening);
    clearInterval(this.#renewing);
    const client = this.#client;
    this.#client = undefined;
    this.#leadsUntilMs = 0;
    // The end of the connection releases leadership.
    if (client) await client.end();
  }

  /** Receives a message of any process, including this one. */
  receive(payload: string): void {
    const message = readMessage(payload);
    if (message?.origin === this.#origin) this.#heardOwn?.();
    else if (message) this.#local.send(message.signals);
  }

  /** Wakes all listeners, since signals may have been missed. */
  missed(): void {
    this.#local.send([{ kind: 'look' }]);
  }

  #lost(client: pg.Client, error: Error): void {
    if (client !== this.#client || this.#isClosed) return;
    this.#client = undefined;
    this.#leadsUntilMs = 0;
    this.#logger.warn({ reason: error.message }, 'notification connection lost; reconnecting');
    client.end().catch(() => undefined);
    this.#reopenLater();
  }

  #reopenLater(): void {
    const delayMs = 100 + backoffDelayMs(this.#failures, { baseMs: 200, capMs: 3_000 });
    this.#failures += 1;
    this.#reopening = setTimeout(() => {
      this.open().then(
        () => this.missed(),
        (thrown: unknown) => {
          this.#logger.debug(
            { reason: toError(thrown).message },
            'failed to reconnect to the database; retrying',
          );
          if (!this.#isClosed) this.#reopenLater();
        },
      );
    }, delayMs);
  }
}
