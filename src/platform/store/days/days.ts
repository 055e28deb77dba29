import { type Kysely, sql } from 'kysely';
import type { Dialect } from '../engine/dialect.ts';
import type { Tables } from '../tables.ts';
import { type DayRange, dayMs, dayOf, missingRanges } from './day-ranges.ts';
import type { DividedTable } from './divided-table.ts';

/** Number of days after today that have partitions in advance. */
const aheadDays = 3;
/** Lock timeout of partition changes; other statements queue behind a waiting change. */
const lockTimeoutMs = 300;
/** Rows beyond this number stay in the default partition: moving them would block reports. */
const mostMoved = 50_000;

/** A partition. */
export interface Part extends DayRange {
  readonly name: string;
  /** Whether it is the default partition, whose rows may be of any time. */
  readonly isOutside: boolean;
}

/** The daily partitions of a table on PostgreSQL; other engines, and unconverted older stores, have none. */
export class Days {
  readonly table: DividedTable;
  protected readonly db: Kysely<Tables>;
  readonly #dialect: Dialect;

  constructor(db: Kysely<Tables>, dialect: Dialect, table: DividedTable) {
    this.db = db;
    this.#dialect = dialect;
    this.table = table;
  }

  /** Whether this engine supports partitions. */
  get areKnown(): boolean {
    return this.#dialect.name === 'postgres';
  }

  /** Returns the partitions, oldest first; empty if the table is not partitioned. */
  async parts(): Promise<Part[]> {
    if (!this.areKnown) return [];
    const { rows } = await sql<{ name: string; bound: string }>`
      select pg_class.relname as name, pg_get_expr(pg_class.relpartbound, pg_class.oid) as bound
      from pg_inherits join pg_class on pg_class.oid = pg_inherits.inhrelid
      where pg_inherits.inhparent = ${this.table.name}::regclass and pg_class.relpartbound is not null`.execute(
      this.db,
    );
    return rows.map(partOf).sort((one, other) => one.from - other.from);
  }

  /** Whether the table is partitioned already. */
  async isDivided(): Promise<boolean> {
    const { rows } =
      await sql`select from pg_class where oid = ${this.table.name}::regclass and relkind = 'p'`.execute(
        this.db,
      );
    return rows.length > 0;
  }

  /** Returns the tables whose rows are deleted one by one: the old unpartitioned table and the default partition. */
  async tablesByRow(): Promise<readonly string[]> {
    const parts = await this.parts();
    if (parts.length === 0) return [this.table.name];
    return parts
      .filter(({ name, isOutside }) => isOutside || name === this.table.before)
      .map(({ name }) => name);
  }

  /** Partitions an empty table at once, within a transaction. Throws as `add` does. */
  async divideEmpty(now: number): Promise<void> {
    if (!this.areKnown || (await this.isDivided()) || (await this.#hasRows())) return;
    await this.#hurry();
    await this.#run(`lock table ${this.table.name} in access exclusive mode`);
    if (await this.#hasRows()) return;
    for (const statement of this.table.dividing) await this.#run(statement);
    await this.#run(`drop table ${this.table.before}`);
    for (const stretch of missingRanges([], now, { aheadDays, lengthDays: 1 })) {
      for (const statement of this.table.adding(stretch)) await this.#run(statement);
    }
  }

  /** Returns the number of days after today that have partitions; -1 if today has none. */
  daysAhead(parts: readonly Part[], now: number): number {
    const [missing] = missingRanges(within(parts), now, { aheadDays: 400, lengthDays: 1 });
    if (!missing) return 400;
    return Math.round((missing.from - dayOf(now)) / dayMs) - 1;
  }

  /** Returns the time ranges that need a partition now. */
  missing(parts: readonly Part[], now: number, lengthDays: number): DayRange[] {
    return missingRanges(within(parts), now, { aheadDays, lengthDays });
  }

  /**
   * Adds a partition within a transaction, and moves rows of its range from the default partition to it. Throws if the
   * lock is not granted in time.
   *
   * @returns false if there are too many rows to move: the range stays in the default partition.
   */
  async add(stretch: DayRange): Promise<boolean> {
    const { outside, key } = this.table;
    await this.#hurry();
    // Blocks only rows of uncovered times; all others are stored meanwhile.
    await this.#run(`lock table ${outside} in access exclusive mode`);
    const { rows } = await sql<{ count: number }>`select count(*)::integer as count from (
      select from ${sql.table(outside)} where ${sql.ref(key)} >= ${stretch.from} and ${sql.ref(key)} < ${stretch.to}
      limit ${mostMoved + 1}) as outside`.execute(this.db);
    if ((rows[0]?.count ?? 0) > mostMoved) return false;
    for (const statement of this.table.adding(stretch)) await this.#run(statement);
    return true;
  }

  /** Drops a partition with all its rows, within a transaction. Throws as `add` does. */
  async drop(part: Part): Promise<void> {
    await this.changeAtOnce([`drop table ${part.name}`]);
  }

  /** Executes statements that block others; throws if their locks are not granted in time. */
  protected async changeAtOnce(statements: readonly string[]): Promise<void> {
    await this.#hurry();
    for (const statement of statements) await this.#run(statement);
  }

  async #hasRows(): Promise<boolean> {
    const { rows } = await sql`select from ${sql.table(this.table.name)} limit 1`.execute(this.db);
    return rows.length > 0;
  }

  async #hurry(): Promise<void> {
    await this.#run(`set local lock_timeout = ${lockTimeoutMs}`);
  }

  async #run(statement: string): Promise<void> {
    await sql.raw(statement).execute(this.db);
  }
}

function within(parts: readonly Part[]): readonly Part[] {
  return parts.filter((part) => !part.isOutside);
}

function partOf({ name, bound }: { readonly name: string; readonly bound: string }): Part {
  const instants = /FROM \((.+)\) TO \((.+)\)/.exec(bound);
  if (!instants)
    return { name, from: Number.POSITIVE_INFINITY, to: Number.POSITIVE_INFINITY, isOutside: true };
  const [from = 0, to = 0] = instants.slice(1).map((text) => {
    if (text === 'MINVALUE') return Number.NEGATIVE_INFINITY;
    return Number(text.replaceAll("'", ''));
  });
  return { name, from, to, isOutside: false };
}
