import { constants, type DatabaseSync, type Session } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FairQueue } from '@picket/lib/turns/fair-queue.ts';
import {
  type DatabaseConnection,
  Kysely,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import type { Tables } from '../tables.ts';
import type { OpenSqlite } from './sqlite.ts';

/** A long transaction and its version check. */
export interface LongWork<T> {
  /** The work calls `pause` between two steps, with no statement in progress. */
  readonly work: (db: Kysely<Tables>, pause: () => Promise<void>) => Promise<T>;
  /** Version of the data that the work has read: the work restarts when it changes during a pause. */
  readonly version: (db: Kysely<Tables>) => Promise<unknown>;
}

/** How long a slice works before it yields; longer if its start takes long. */
const sliceMs = 25;
/** The same while other requests are active: each of their next queries may wait for one more slice. */
const sliceBesideOthersMs = 8;
/** After this many conflicts with concurrent changes, the work runs in one piece. */
const slicedTries = 3;

class Overtaken extends Error {}

/**
 * Atomic transactions on SQLite during which others can read and write. SQLite has one writer, so a long transaction
 * would block all others. This one is cut into slices: at the end of each, its changes are captured as a changeset
 * (SQLite's session extension) and rolled back, so others neither see them nor wait for them. The next slice applies
 * the changesets again, which takes microseconds per row, and continues from there; the last one commits. A changeset
 * records the previous state of each row: if another transaction has changed the same row in a pause, or the version
 * has changed, the work restarts. A killed process leaves nothing behind. ADR 43 describes the alternatives.
 */
export class SlicedTransactions {
  readonly #db: Kysely<Tables>;
  readonly #opened: () => OpenSqlite | undefined;
  readonly #turns: Pick<FairQueue, 'figures'>;

  /** @param turns of the connection: show whether others have used it in a pause. */
  constructor(db: Kysely<Tables>, opened: () => OpenSqlite | undefined, turns: Pick<FairQueue, 'figures'>) {
    this.#db = db;
    this.#opened = opened;
    this.#turns = turns;
  }

  async run<T>(long: LongWork<T>): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#attempt(long, tries <= slicedTries);
      } catch (thrown) {
        if (!(thrown instanceof Overtaken)) throw thrown;
      }
    }
  }

  async #attempt<T>(long: LongWork<T>, isSliced: boolean): Promise<T> {
    const kept: Uint8Array[] = [];
    let work: Promise<T> | undefined;
    let resumed = Promise.withResolvers<void>();
    let paused = Promise.withResolvers<'paused'>();
    let version: string | undefined;
    let endsAtMs = 0;
    let tookMs = 0;
    let isAlone = false;
    const pause = async () => {
      if (!isSliced || performance.now() < endsAtMs) return;
      resumed = Promise.withResolvers<void>();
      paused.resolve('paused');
      await resumed.promise;
    };
    for (;;) {
      // This slice owns the connection until the callback ends.
      const end = await this.#db.connection().execute(async () => {
        const open = this.#opened();
        if (!open) throw new Error('the SQLite database is not open');
        const { database } = open;
        const db = onConnection(open.connection);
        const beganMs = performance.now();
        let session: Session | undefined;
        database.exec('begin immediate');
        try {
          const present = JSON.stringify(await long.version(db));
          version ??= present;
          const isAsBefore =
            version === present && kept.every((one) => database.applyChangeset(one, { onConflict }));
          if (!isAsBefore) throw new Overtaken();
          session = database.createSession();
          const now = performance.now();
          endsAtMs = now + Math.max(isAlone ? sliceMs : sliceBesideOthersMs, (now - beganMs) / 2);
          paused = Promise.withResolvers();
          if (work) resumed.resolve();
          else work = long.work(db, pause);
          const end = await Promise.race([work.then((value) => ({ value })), paused.promise]);
          if (end === 'paused') kept.push(session.changeset());
          // An open session keeps recording changes of others.
          session.close();
          session = undefined;
          tookMs = performance.now() - beganMs;
          const numbers = end === 'paused' ? countedUp(database) : [];
          database.exec(end === 'paused' ? 'rollback' : 'commit');
          keepNumbers(database, numbers);
          return end;
        } catch (thrown) {
          session?.close();
          if (database.isTransaction) database.exec('rollback');
          throw thrown;
        }
      });
      if (end !== 'paused') return end.value;
      // Requests of others take more than one turn of the event loop.
      const { begun } = this.#turns.figures();
      await sleep(isAlone ? tookMs / 2 : tookMs);
      isAlone = this.#turns.figures().begun === begun;
    }
  }
}

type Counted = { readonly name: string; readonly seq: number };

/** Returns the last number of each table with an auto-increment key. */
function countedUp(database: DatabaseSync): Counted[] {
  return database.prepare('select name, seq from sqlite_sequence').all() as unknown as Counted[];
}

/**
 * Preserves the numbers that a slice has taken: after the rollback, the next inserted row would get the same ones. As
 * with PostgreSQL's sequences, numbers of failed work stay unused.
 */
function keepNumbers(database: DatabaseSync, numbers: readonly Counted[]): void {
  const present = new Map(countedUp(database).map(({ name, seq }) => [name, seq]));
  for (const { name, seq } of numbers) {
    const known = present.get(name);
    if (known === undefined) {
      database.prepare('insert into sqlite_sequence (name, seq) values (?, ?)').run(name, seq);
    } else if (known < seq) {
      database.prepare('update sqlite_sequence set seq = ? where name = ?').run(seq, name);
    }
  }
}

/**
 * A row to delete may already be gone along with its parent: the version shows that no other caller deleted it. Any
 * other difference is a concurrent change.
 */
function onConflict(kind: number): number {
  return kind === constants.SQLITE_CHANGESET_NOTFOUND
    ? constants.SQLITE_CHANGESET_OMIT
    : constants.SQLITE_CHANGESET_ABORT;
}

/** Runs queries on a connection whose transaction the caller controls. */
function onConnection(connection: DatabaseConnection): Kysely<Tables> {
  const nothing = async () => undefined;
  return new Kysely<Tables>({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler: () => new SqliteQueryCompiler(),
      createDriver: () => ({
        init: nothing,
        acquireConnection: async () => connection,
        beginTransaction: nothing,
        commitTransaction: nothing,
        rollbackTransaction: nothing,
        releaseConnection: nothing,
        destroy: nothing,
      }),
    },
  });
}
