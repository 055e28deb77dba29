import type { AppError } from '@picket/lib/errors.ts';
import type { FairQueue } from '@picket/lib/turns/fair-queue.ts';
import type pg from 'pg';
import type { Dialect } from './engine/dialect.ts';
import type { StorageFigures } from './engine/disk/free-space.ts';
import type { Signals } from './engine/signals.ts';
import type { Repositories } from './repositories.ts';

/** What is stored: one repository for each kind of thing. Inside a transaction they act within it. */

export interface Store extends Repositories {
  readonly signals: Signals;
  /** Which engine it is, for logs and diagnosis. */
  readonly engine: Dialect['name'];
  /**
   * All or nothing. The callback awaits nothing but calls of the repositories it is given: on SQLite every
   * other query of the process waits for it. It may be called again: a transaction that was rolled back in
   * favour of another one is tried a few times before it counts as STORE_UNAVAILABLE.
   */
  transaction<T>(work: (repositories: Repositories) => Promise<T>): Promise<T>;
  /**
   * The same for work that takes long: on SQLite others read and write while it pauses, and see nothing of it before
   * its end. It begins anew when what it changes, or `version`, has changed in a pause, so it may be called again.
   */
  longTransaction<T>(
    work: (repositories: Repositories, pause: () => Promise<void>) => Promise<T>,
    version: (repositories: Repositories) => Promise<unknown>,
  ): Promise<T>;
  /** One statement, tried again as transactions are where it lost to another one. */
  retrying<T>(work: (repositories: Repositories) => Promise<T>): Promise<T>;
  /** Whether this process is the one that does what only one may. One of several on PostgreSQL; always true on SQLite. */
  isLeader(): Promise<boolean>;
  /**
   * A transaction in which nobody else is the leader: undefined, and nothing done, when this process is not
   * any more. For what only the leader may write, however long it was stopped since it asked.
   */
  leaderTransaction<T>(work: (repositories: Repositories) => Promise<T>): Promise<T | undefined>;
  /**
   * A transaction in which nobody else schedules the checks of some parts: undefined, and nothing done, when
   * this process has none. On SQLite it has all. The first one makes this process one of those that share the
   * schedule, until it leaves.
   */
  scheduleTransaction<T>(
    work: (repositories: Repositories, parts: readonly number[]) => Promise<T>,
  ): Promise<T | undefined>;
  /** Gives the parts of the schedule to the other processes; this one starts no such transaction any more. */
  leaveSchedule(): Promise<void>;
  /** For reads that may be some seconds old: of a replica while there is one and it keeps up. */
  readonly readers: Repositories;
  /** Whether `readers` are those of a replica now; undefined where none is configured. */
  isReplicaUsed(): boolean | undefined;
  /** Whether signals go over NATS now; undefined where none is configured. */
  isNatsConnected(): boolean | undefined;
  /** How many parts of the schedule no living process has. */
  unheldScheduleParts(): Promise<number>;
  /** How much waits for a connection to the database. */
  readonly turns?: Pick<FairQueue, 'figures'>;
  /** Throws STORE_UNAVAILABLE or STORAGE_FULL when the database does not answer, or stores nothing. */
  ping(): Promise<void>;
  /** Why nothing can be stored at the moment, found out by writing; undefined when it can. */
  writeProblem(): Promise<AppError | undefined>;
  /** What this process knows of the disk its database is on. */
  storage(): Promise<StorageFigures>;
  /** The time by the database's own clock, in epoch milliseconds. Absent on SQLite, which has none. */
  readonly readClockMs?: () => Promise<number>;
  /**
   * A connection besides the pool's, whose statements may take as long as they do. Absent on SQLite, which has one
   * for all.
   */
  readonly withOwnConnection?: <T>(work: (client: pg.Client) => Promise<T>) => Promise<T>;
  close(): Promise<void>;
}

/** Where the data are. */
export interface StorePlace {
  /** PostgreSQL when given. */
  readonly databaseUrl?: string | undefined;
  /** The database itself, where a pooler in transaction mode is at `databaseUrl`. */
  readonly directUrl?: string | undefined;
  /** A streaming replica of it. */
  readonly replicaUrl?: string | undefined;
  /** Path of the SQLite database when there is no databaseUrl. */
  readonly path: string;
}
