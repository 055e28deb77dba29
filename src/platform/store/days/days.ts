import { type Kysely, sql } from 'kysely';
import type { Dialect } from '../engine/dialect.ts';
import type { Tables } from '../tables.ts';
import { type DayRange, dayMs, dayOf, missingRanges } from './day-ranges.ts';
import type { DividedTable } from './divided-table.ts';

/** How many days there are partitions for, after today. */
const aheadDays = 3;
/** What a change of partitions waits for others, who wait behind it meanwhile. */
const lockTimeoutMs = 300;
/** More rows outside of all days than that stay there: they are not moved while reports wait. */
const mostMoved = 50_000;

/** A partition. */
export interface Part extends DayRange {
  readonly name: string;
  /** Whether it has what no other one takes, so that nobody can say of when that is. */
  readonly isOutside: boolean;
}

/** A table as partitions by day, on PostgreSQL; elsewhere, and before an older store is converted, there are none. */
export class Days {
  readonly table: DividedTable;
  protected readonly db: Kysely<Tables>;
  readonly #dialect: Dialect;

  constructor(db: Kysely<Tables>, dialect: Dialect, table: DividedTable) {
    this.db = db;
    this.#dialect = dialect;
    this.table = table;
  }

  /** Whether this engine has them at all. */
  get areKnown(): boolean {
    return this.#dialect.name === 'postgres';
  }

  /** The partitions, oldest first; none where there is one table for all. */
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

  /** Whether there are partitions by now. */
  async isDivided(): Promise<boolean> {
    const { rows } =
      await sql`select from pg_class where oid = ${this.table.name}::regclass and relkind = 'p'`.execute(
        this.db,
      );
    return rows.length > 0;
  }

  /** The tables whose rows are removed one by one: what came before there were days, or is outside of them. */
  async tablesByRow(): Promise<readonly string[]> {
    const parts = await this.parts();
    if (parts.length === 0) return [this.table.name];
    return parts
      .filter(({ name, isOutside }) => isOutside || name === this.table.before)
      .map(({ name }) => name);
  }

  /** Makes partitions at once where there are no rows yet, within a transaction. Throws as `add` does. */
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

  /** For how many days after today there are partitions; -1 when today has none. */
  daysAhead(parts: readonly Part[], now: number): number {
    const [missing] = missingRanges(within(parts), now, { aheadDays: 400, lengthDays: 1 });
    if (!missing) return 400;
    return Math.round((missing.from - dayOf(now)) / dayMs) - 1;
  }

  /** The stretches of time that need a partition now. */
  missing(parts: readonly Part[], now: number, lengthDays: number): DayRange[] {
    return missingRanges(within(parts), now, { aheadDays, lengthDays });
  }

  /**
   * Adds a partition, within a transaction, and moves what came before it. Throws when others hold the table for
   * longer than they may be made to wait.
   *
   * @returns false where too much would have to be moved: it stays outside of all days.
   */
  async add(stretch: DayRange): Promise<boolean> {
    const { outside, key } = this.table;
    await this.#hurry();
    // What rows of that time need; all others are stored meanwhile.
    await this.#run(`lock table ${outside} in access exclusive mode`);
    const { rows } = await sql<{ count: number }>`select count(*)::integer as count from (
      select from ${sql.table(outside)} where ${sql.ref(key)} >= ${stretch.from} and ${sql.ref(key)} < ${stretch.to}
      limit ${mostMoved + 1}) as outside`.execute(this.db);
    if ((rows[0]?.count ?? 0) > mostMoved) return false;
    for (const statement of this.table.adding(stretch)) await this.#run(statement);
    return true;
  }

  /** Removes a partition with all its rows, within a transaction. Throws as `add` does. */
  async drop(part: Part): Promise<void> {
    await this.changeAtOnce([`drop table ${part.name}`]);
  }

  /** Carries out statements that others wait for, or none where they would have to wait for others. */
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
