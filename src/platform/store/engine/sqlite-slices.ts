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

/** What a long transaction works with. */
export interface LongWork<T> {
  /** `pause` is to be called between two steps, with nothing under way. */
  readonly work: (db: Kysely<Tables>, pause: () => Promise<void>) => Promise<T>;
  /** What the work has read must not change during a pause: it begins anew when this does. */
  readonly version: (db: Kysely<Tables>) => Promise<unknown>;
}

/** How long a slice works before it lets others in; longer where beginning one takes long. */
const sliceMs = 25;
/** The same while others ask for something: what each of them asks next may wait for one more. */
const sliceBesideOthersMs = 8;
/** After that the work is done in one piece: somebody changes all the time what it changes. */
const slicedTries = 3;

class Overtaken extends Error {}

/**
 * Transactions on SQLite that let others read and write in between, and are all or nothing. SQLite has one writer, so
 * a long transaction would keep all others waiting. This one is cut into slices: at the end of each one what it
 * changed is taken as a changeset (SQLite's session extension) and rolled back, so others never see it, nor wait for
 * it. The next slice applies the changesets again, which takes microseconds a row, and goes on from there; the last
 * one commits. A changeset knows what each row was before: when another transaction has changed the same in a pause,
 * or the version has become another one, the work begins anew. A process that is killed leaves nothing. ADR 43 says
 * what else was looked at.
 */
export class SlicedTransactions {
  readonly #db: Kysely<Tables>;
  readonly #opened: () => OpenSqlite | undefined;
  readonly #turns: Pick<FairQueue, 'figures'>;

  /** @param turns of the connection: whether others have used it in a pause. */
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
      // The connection is this slice's until the callback ends.
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
          // An open one goes on recording what anybody changes.
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

/** The last number of each table whose key the database counts up. */
function countedUp(database: DatabaseSync): Counted[] {
  return database.prepare('select name, seq from sqlite_sequence').all() as unknown as Counted[];
}

/**
 * Keeps the numbers that a slice has taken for it: they were rolled back, and the next row of anybody else would get
 * the same. As of PostgreSQL's sequences, those of work that fails are given to no row.
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
 * A row that is to be removed may be gone with what it belonged to: the version says that no other caller did that.
 * Anything else that is not as it was has been changed by others.
 */
function onConflict(kind: number): number {
  return kind === constants.SQLITE_CHANGESET_NOTFOUND
    ? constants.SQLITE_CHANGESET_OMIT
    : constants.SQLITE_CHANGESET_ABORT;
}

/** Queries on a connection whose transaction somebody else began and will end. */
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
