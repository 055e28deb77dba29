import type { AppError } from '@picket/lib/errors.ts';
import type { FairQueue } from '@picket/lib/turns/fair-queue.ts';
import type pg from 'pg';
import type { Dialect } from './engine/dialect.ts';
import type { StorageFigures } from './engine/disk/free-space.ts';
import type { Signals } from './engine/signals.ts';
import type { Repositories } from './repositories.ts';

/** One repository per kind of resource. Inside a transaction they act within it. */

export interface Store extends Repositories {
  readonly signals: Signals;
  /** Name of the engine, for logs and diagnosis. */
  readonly engine: Dialect['name'];
  /**
   * Runs an atomic transaction. The callback awaits only calls of the given repositories: on SQLite every other query
   * of the process waits for it. It may be called again: a transaction that was rolled back in favour of another one is
   * retried a few times before it fails with STORE_UNAVAILABLE.
   */
  transaction<T>(work: (repositories: Repositories) => Promise<T>): Promise<T>;
  /**
   * The same for long work: on SQLite others read and write while it pauses, and see nothing of it before its end. It
   * restarts when the rows that it changes, or `version`, have changed in a pause, so it may be called again.
   */
  longTransaction<T>(
    work: (repositories: Repositories, pause: () => Promise<void>) => Promise<T>,
    version: (repositories: Repositories) => Promise<unknown>,
  ): Promise<T>;
  /** Runs one statement, retried like a transaction after a conflict. */
  retrying<T>(work: (repositories: Repositories) => Promise<T>): Promise<T>;
  /** Whether this process is the leader: one of several on PostgreSQL; always true on SQLite. */
  isLeader(): Promise<boolean>;
  /**
   * Runs a transaction during which no other process can become leader; undefined, without any change, if this process
   * no longer leads. For writes reserved to the leader, however long the process was stopped since its last check.
   */
  leaderTransaction<T>(work: (repositories: Repositories) => Promise<T>): Promise<T | undefined>;
  /**
   * Runs a transaction during which no other process schedules the given parts; undefined, without any change, if this
   * process has no parts. On SQLite it has all. The first call makes this process share the schedule until it leaves.
   */
  scheduleTransaction<T>(
    work: (repositories: Repositories, parts: readonly number[]) => Promise<T>,
  ): Promise<T | undefined>;
  /** Releases the parts of the schedule to the other processes; this one starts no further such transactions. */
  leaveSchedule(): Promise<void>;
  /** For reads that may be some seconds old: a replica while it is available and current, else the primary. */
  readonly readers: Repositories;
  /** Whether `readers` use a replica now; undefined if none is configured. */
  isReplicaUsed(): boolean | undefined;
  /** Whether signals use NATS now; undefined if it is not configured. */
  isNatsConnected(): boolean | undefined;
  /** Number of parts of the schedule without a living holder. */
  unheldScheduleParts(): Promise<number>;
  /** Queue for connections to the database. */
  readonly turns?: Pick<FairQueue, 'figures'>;
  /** Throws STORE_UNAVAILABLE or STORAGE_FULL when the database does not respond, or refuses writes. */
  ping(): Promise<void>;
  /** Returns the reason why the store refuses writes, determined by writing; undefined if it accepts them. */
  writeProblem(): Promise<AppError | undefined>;
  /** Figures of the disk that holds the database, as known to this process. */
  storage(): Promise<StorageFigures>;
  /** Reads the database's own clock, in epoch milliseconds. Absent on SQLite, which has none. */
  readonly readClockMs?: () => Promise<number>;
  /** Runs work on a separate connection, whose statements may take any time. Absent on SQLite, which has only one. */
  readonly withOwnConnection?: <T>(work: (client: pg.Client) => Promise<T>) => Promise<T>;
  close(): Promise<void>;
}

/** Location of the data. */
export interface StorePlace {
  /** URL of PostgreSQL, if used. */
  readonly databaseUrl?: string | undefined;
  /** URL of the database itself, if `databaseUrl` is a pooler in transaction mode. */
  readonly directUrl?: string | undefined;
  /** URL of a streaming replica. */
  readonly replicaUrl?: string | undefined;
  /** Path of the SQLite database if there is no databaseUrl. */
  readonly path: string;
}
