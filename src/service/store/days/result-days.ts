import { type Kysely, sql } from 'kysely';
import type { Tables } from '../../tables.ts';
import type { Dialect } from '../engine/dialect.ts';
import {
  adding,
  beforeDays,
  missingStretches,
  outsideDays,
  partitionedTable,
  type Stretch,
} from './day-tables.ts';

/** How many days there are partitions for, after today. */
const aheadDays = 3;
/** What a change of partitions waits for others, who wait behind it meanwhile. */
const lockTimeoutMs = 300;
/** More results outside of all days than that stay there: they are not moved while reports wait. */
const mostMoved = 50_000;

/** A partition of the results. */
export interface ResultPart extends Stretch {
  readonly name: string;
  /** Whether it has what no other one takes, so that nobody can say of when that is. */
  readonly isOutside: boolean;
}

/** Results as partitions by day, on PostgreSQL; elsewhere, and before an older store is converted, there are none. */
export class ResultDays {
  readonly #db: Kysely<Tables>;
  readonly #dialect: Dialect;

  constructor(db: Kysely<Tables>, dialect: Dialect) {
    this.#db = db;
    this.#dialect = dialect;
  }

  /** Whether this engine has them at all. */
  get areKnown(): boolean {
    return this.#dialect.name === 'postgres';
  }

  /** The partitions, oldest first; none where results are one table. */
  async parts(): Promise<ResultPart[]> {
    if (!this.areKnown) return [];
    const { rows } = await sql<{ name: string; bound: string }>`
      select pg_class.relname as name, pg_get_expr(pg_class.relpartbound, pg_class.oid) as bound
      from pg_inherits join pg_class on pg_class.oid = pg_inherits.inhrelid
      where pg_inherits.inhparent = 'results'::regclass and pg_class.relpartbound is not null`.execute(
      this.#db,
    );
    return rows.map(partOf).sort((one, other) => one.from - other.from);
  }

  /** Whether results are partitions by now. */
  async isDivided(): Promise<boolean> {
    const { rows } =
      await sql`select from pg_class where oid = 'results'::regclass and relkind = 'p'`.execute(this.#db);
    return rows.length > 0;
  }

  /** Makes partitions of results at once where there are none yet, within a transaction. Throws as `add` does. */
  async divideEmpty(now: number): Promise<void> {
    if (!this.areKnown || (await this.isDivided()) || (await this.#hasResults())) return;
    await this.#hurry();
    await this.#run(`lock table results in access exclusive mode`);
    if (await this.#hasResults()) return;
    for (const statement of partitionedTable) await this.#run(statement);
    await this.#run(`drop table ${beforeDays}`);
    for (const stretch of missingStretches([], now, { aheadDays, lengthDays: 1 })) {
      for (const statement of adding(stretch)) await this.#run(statement);
    }
  }

  /** For how many days after today there are partitions; -1 when today has none. */
  daysAhead(parts: readonly ResultPart[], now: number): number {
    const [missing] = missingStretches(within(parts), now, { aheadDays: 400, lengthDays: 1 });
    if (!missing) return 400;
    return Math.round((missing.from - Math.floor(now / dayMs) * dayMs) / dayMs) - 1;
  }

  /** The stretches of time that need a partition now. */
  missing(parts: readonly ResultPart[], now: number, lengthDays: number): Stretch[] {
    return missingStretches(within(parts), now, { aheadDays, lengthDays });
  }

  /**
   * Adds a partition, within a transaction, and moves what came before it. Throws when others hold the table for
   * longer than they may be made to wait.
   *
   * @returns false where too much would have to be moved: it stays outside of all days.
   */
  async add(stretch: Stretch): Promise<boolean> {
    await this.#hurry();
    // What results of that time need; all others are stored meanwhile.
    await this.#run(`lock table ${outsideDays} in access exclusive mode`);
    const { rows } = await sql<{ count: number }>`select count(*)::integer as count from (
      select from ${sql.table(outsideDays)} where created >= ${stretch.from} and created < ${stretch.to}
      limit ${mostMoved + 1}) as outside`.execute(this.#db);
    if ((rows[0]?.count ?? 0) > mostMoved) return false;
    for (const statement of adding(stretch)) await this.#run(statement);
    return true;
  }

  /** Removes a partition with all its results, within a transaction. Throws as `add` does. */
  async drop(part: ResultPart): Promise<void> {
    await this.#hurry();
    await this.#run(`drop table ${part.name}`);
  }

  /** Whether analytics have yet to take results of a partition, or a run on its way may need one of them. */
  async isNeeded(part: ResultPart): Promise<boolean> {
    const table = sql.table(part.name);
    const { rows: unsealed } = await sql`
      select from checks left join lateral (
        select to_ms from result_chunks where check_id = checks.id order by from_ms desc limit 1) as sealed on true
      where exists (select from ${table} as part where part.check_id = checks.id and part.result_type = 'FINAL'
        and part.created >= coalesce(sealed.to_ms, 0) and part.created < ${part.to})
      limit 1`.execute(this.#db);
    if (unsealed.length > 0) return true;
    const { rows: tried } = await sql`
      select from runs where state in ('queued', 'leased') and last_result_id is not null
        and exists (select from ${table} as part where part.id = runs.last_result_id)
      limit 1`.execute(this.#db);
    return tried.length > 0;
  }

  /** The ids of up to `limit` results of a partition that have artifacts. */
  async withArtifacts(part: ResultPart, limit: number): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      select distinct part.id from artifacts join ${sql.table(part.name)} as part on part.id = artifacts.result_id
      limit ${limit}`.execute(this.#db);
    return rows.map(({ id }) => id);
  }

  /** How far an index of the results is built, where one is. */
  async buildProgress(): Promise<{ readonly phase: string; readonly percent: number } | undefined> {
    const { rows } = await sql<{ phase: string; percent: number }>`
      select phase, (100 * greatest(blocks_done::double precision / nullif(blocks_total, 0),
        tuples_done::double precision / nullif(tuples_total, 0), 0))::integer as percent
      from pg_stat_progress_create_index where relid = 'results'::regclass and datname = current_database()`.execute(
      this.#db,
    );
    return rows[0];
  }

  async #hasResults(): Promise<boolean> {
    const { rows } = await sql`select from results limit 1`.execute(this.#db);
    return rows.length > 0;
  }

  async #hurry(): Promise<void> {
    await this.#run(`set local lock_timeout = ${lockTimeoutMs}`);
  }

  async #run(statement: string): Promise<void> {
    await sql.raw(statement).execute(this.#db);
  }
}

const dayMs = 86_400_000;

function within(parts: readonly ResultPart[]): readonly ResultPart[] {
  return parts.filter((part) => !part.isOutside);
}

function partOf({ name, bound }: { readonly name: string; readonly bound: string }): ResultPart {
  const instants = /FROM \((.+)\) TO \((.+)\)/.exec(bound);
  if (!instants)
    return { name, from: Number.POSITIVE_INFINITY, to: Number.POSITIVE_INFINITY, isOutside: true };
  const [from = 0, to = 0] = instants.slice(1).map((text) => {
    if (text === 'MINVALUE') return Number.NEGATIVE_INFINITY;
    return Number(text.replaceAll("'", ''));
  });
  return { name, from, to, isOutside: false };
}
