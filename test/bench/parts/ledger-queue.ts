import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';

/** Runs that wait for an agent, inserted into the queue directly: the scheduler is not measured. */
export interface QueuedRuns {
  readonly locationId: string;
  readonly slugName: string;
  readonly count: number;
  /** Counts from 0 over the whole benchmark: every run has a slot of its own. */
  readonly first: number;
}

/** Final counts in the database. */
export interface LedgerTotals {
  readonly final: number;
  readonly results: number;
  /** Runs with more than one final result. */
  readonly doubled: number;
  readonly resultIds: ReadonlySet<string>;
}

/** Storage of a table after all changes. */
export interface TableStorage {
  readonly table: string;
  readonly megabytes: number;
  readonly indexMegabytes: number;
  readonly changes: number;
  /** Share of the changes that touched no index. */
  readonly hot: number;
  readonly deadRows: number;
  readonly vacuums: number;
}

const storageSql = `select relname as table, pg_table_size(relid) / 1e6 as megabytes,
    pg_indexes_size(relid) / 1e6 as index_megabytes, n_tup_upd as changes,
    coalesce(n_tup_hot_upd / nullif(n_tup_upd, 0)::double precision, 0) as hot, n_dead_tup as dead,
    autovacuum_count as vacuums
  from pg_stat_user_tables where relname ~ '^(runs|results)_' or relname in ('statuses', 'checks')
  order by relname`;

/** The database of the services under load, accessed from outside. */
export interface LedgerDatabase {
  queue(runs: QueuedRuns): Promise<void>;
  waiting(): Promise<number>;
  totals(): Promise<LedgerTotals>;
  /** Storage of the tables, if the engine reports it. */
  storage(): Promise<readonly TableStorage[]>;
  close(): Promise<void>;
}

const waitingSql = "select count(*) as n from runs where ended_day <= 0 and state in ('queued', 'leased')";
const totalsSql = `select (select count(*) from runs where state = 'final') as final,
  (select count(*) from results where result_type = 'FINAL') as results,
  (select count(*) from (select run_id from results where result_type = 'FINAL' group by run_id having count(*) > 1) as d) as doubled`;

function queueSql(runs: QueuedRuns, engine: 'sqlite' | 'postgres'): string {
  const now = Date.now();
  const isPostgres = engine === 'postgres';
  const hex = 'lower(hex(randomblob(16)))';
  const uuid = `substr(${hex}, 1, 8) || '-' || substr(${hex}, 1, 4) || '-4' || substr(${hex}, 1, 3) || '-8' || substr(${hex}, 1, 3) || '-' || substr(${hex}, 1, 12)`;
  const id = isPostgres ? 'gen_random_uuid()::text' : uuid;
  const counted = isPostgres
    ? `with counted (n) as (select generate_series(0, ${runs.count - 1}))`
    : `with recursive counted (n) as (select 0 union all select n + 1 from counted where n < ${runs.count - 1})`;
  return `${counted},
    numbered as materialized (select n, ${id} as id from counted),
    placed as materialized (select id, account_id, row_number() over (order by id) - 1 as place from checks)
    insert into runs (id, account_id, check_id, check_type, lane, location_id, location, slot_location, slot_at,
      slot_count, state, attempt, freshness_ms, ready_at, expires_at, lease_number, deaths, sequence_id, check_run_id, created, ended_day)
    select numbered.id, placed.account_id, placed.id, 'URL', 'probe', '${runs.locationId}', '${runs.slugName}',
      '${runs.slugName}', ${now - 1_000_000_000 + runs.first} + n, 1, 'queued', 0, 86400000, ${now}, ${now + 86_400_000}, 0, 0,
      numbered.id, ${runs.first} + n, ${now}, 0
    from numbered join placed on placed.place = n % (select count(*) from placed)`;
}

export async function openLedgerOnPostgres(url: string): Promise<LedgerDatabase> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const number = async (text: string) => Number((await client.query(text)).rows[0].n);
  return {
    queue: async (runs) => {
      await client.query(queueSql(runs, 'postgres'));
      await client.query('analyze runs');
    },
    waiting: () => number(waitingSql),
    async totals() {
      const [row] = (await client.query(totalsSql)).rows;
      const ids = (await client.query('select id from results')).rows;
      return {
        final: Number(row.final),
        results: Number(row.results),
        doubled: Number(row.doubled),
        resultIds: new Set(ids.map(({ id }) => id)),
      };
    },
    async storage() {
      const { rows } = await client.query(storageSql);
      return rows.map((row) => ({
        table: String(row.table),
        megabytes: Number(row.megabytes),
        indexMegabytes: Number(row.index_megabytes),
        changes: Number(row.changes),
        hot: Number(row.hot),
        deadRows: Number(row.dead),
        vacuums: Number(row.vacuums),
      }));
    },
    close: () => client.end(),
  };
}

export async function openLedgerOnSqlite(dataDir: string): Promise<LedgerDatabase> {
  const database = new DatabaseSync(join(dataDir, 'picket.sqlite'));
  database.exec('pragma busy_timeout = 60000');
  return {
    queue: async (runs) => database.exec(queueSql(runs, 'sqlite')),
    waiting: async () => Number(database.prepare(waitingSql).get()?.n),
    async totals() {
      const row = database.prepare(totalsSql).get();
      const ids = database.prepare('select id from results').all();
      return {
        final: Number(row?.final),
        results: Number(row?.results),
        doubled: Number(row?.doubled),
        resultIds: new Set(ids.map(({ id }) => String(id))),
      };
    },
    storage: async () => [],
    close: async () => database.close(),
  };
}
