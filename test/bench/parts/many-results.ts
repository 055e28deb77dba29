import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';

/** Final results spread evenly over a window, with random times, created quickly by SQL. */
export interface ManyResults {
  readonly checkId: string;
  readonly accountId: string;
  readonly count: number;
  readonly fromMs: number;
  readonly lengthMs: number;
  /** Each has its own detail of about 2 kB; otherwise only the newest have one. */
  readonly hasDetails?: boolean;
}

/** Only the newest results have a detail: older ones are read as columns, or by SQL that ignores it. */
const withDetail = 10_000;

/** The same for both engines: `n` counts from 0, `r` is random in [0, 1). */
function insertSql(results: ManyResults, engine: 'sqlite' | 'postgres'): string {
  const { checkId, accountId, count, fromMs, lengthMs, hasDetails } = results;
  const isPostgres = engine === 'postgres';
  const random = isPostgres ? 'random()' : '((random() & 4294967295) / 4294967296.0)';
  const id = isPostgres ? 'gen_random_uuid()::text' : 'lower(hex(randomblob(16)))';
  const series = isPostgres
    ? `with counted (n) as (select generate_series(0, ${count - 1}))`
    : `with recursive counted (n) as (select 0 union all select n + 1 from counted where n < ${count - 1})`;
  const created = `${fromMs} + ${isPostgres ? '' : 'cast('}n * ${(lengthMs / count).toFixed(6)}${isPostgres ? '::double precision' : ' as integer)'}`;
  const cast = (text: string, type: string) => `cast(${text} as ${type})`;
  // Agents round measurements to the microsecond.
  const rounded = (ms: string) => (isPostgres ? `round((${ms})::numeric, 3)` : `round(${ms}, 3)`);
  const time = rounded('20 + 400 * r * r * r + q');
  const status = "case when r > 0.995 then '503' when r > 0.98 then '404' else '200' end";
  const location =
    "case n % 4 when 0 then 'office' when 1 then 'lab' when 2 then 'eu-west-1' else 'us-east-1' end";
  const phases = {
    responseTime: time,
    wait: rounded('0.01 + q / 50'),
    dns: rounded('q'),
    tcp: rounded('2 + q'),
    firstByte: rounded('16 + 400 * r * r * r + q'),
    download: rounded('1 + r'),
  };
  const numbers = Object.entries(phases).map(([name, ms]) => `"${name}":' || ${ms} || '`);
  const measured = `'[[' || ${status} || ',{${numbers.join(',')}}]]'`;
  const noise = isPostgres
    ? `(select string_agg(md5(n::text || part), '') from generate_series(1, 60) as part)`
    : 'hex(randomblob(950))';
  const detail = hasDetails
    ? `'{"body":"' || ${noise} || '"}'`
    : `case when n >= ${count - withDetail} then '{"body":"${'x'.repeat(1900)}"}' end`;
  // Materialized, otherwise SQLite draws a new random number at each reference.
  return `${series}, numbered as materialized (select n, ${random} as r, ${random} as q from counted)
    insert into results (id, run_id, account_id, check_id, check_type, run_location, result_type,
      has_failures, has_errors, response_time, started, stopped, created, attempts, sequence_id, check_run_id,
      slot_at, start_delay, agent_lag, agent_id, error_messages, detail, measured)
    select ${id}, ${id}, '${accountId}', '${checkId}', 'URL', ${location}, 'FINAL',
      case when r > 0.98 then 1 else 0 end, 0, ${time}, 0, 0, ${cast(created, 'bigint')}, 0, 's', n,
      0, 0, 0, 'agent', '[]', ${isPostgres ? `(${detail})::json` : detail}, ${measured}
    from numbered`;
}

/** Slots of the results: four locations at once, at a fixed interval, with every fiftieth one missed. */
function slotsSql({ checkId, count, fromMs, lengthMs }: ManyResults): string {
  const intervalMs = Math.floor((4 * lengthMs) / count);
  const slotAt = `${fromMs} + (check_run_id / 4) * ${intervalMs}`;
  return `insert into runs (id, account_id, check_id, check_type, lane, location, slot_location, slot_at, slot_count,
      state, reason, attempt, freshness_ms, ready_at, expires_at, lease_number, deaths, sequence_id, check_run_id,
      created, ended, ended_day)
    select run_id, account_id, check_id, check_type, 'probe', run_location, run_location, ${slotAt}, 1,
      case when check_run_id % 200 < 4 then 'missed' else 'final' end,
      case when check_run_id % 200 < 4 then 'no-agent' end, 0, 0, 0, 0, 0, 0, 's', check_run_id, created, created,
      created - created % 86400000 from results where check_id = '${checkId}'`;
}

/** Inserts into an SQLite database that another process has open. */
export function insertIntoSqlite(path: string, results: ManyResults): void {
  const database = new DatabaseSync(path);
  database.exec('pragma busy_timeout = 60000; pragma synchronous = off');
  database.exec(insertSql(results, 'sqlite'));
  database.exec(slotsSql(results));
  database.close();
}

export async function insertIntoPostgres(url: string, results: ManyResults): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(insertSql(results, 'postgres'));
  await client.query(slotsSql(results));
  await client.query('vacuum analyze results');
  await client.query('vacuum analyze runs');
  await client.end();
}

/** Plain SQL for the same query, as a baseline. */
const plainSql = {
  sqlite: (
    checkId: string,
  ) => `select run_location, avg(response_time), min(response_time), max(response_time),
      percentile_disc(response_time, 0.5), percentile_disc(response_time, 0.9),
      percentile_disc(response_time, 0.95) as p95, percentile_disc(response_time, 0.99), avg(1 - has_failures)
    from results where check_id = '${checkId}' and result_type = 'FINAL' group by run_location order by run_location`,
  postgres: (
    checkId: string,
  ) => `select run_location, avg(response_time), min(response_time), max(response_time),
      percentile_disc(array[0.5, 0.9, 0.99]) within group (order by response_time),
      percentile_disc(0.95) within group (order by response_time) as p95, avg(1 - has_failures)
    from results where check_id = '${checkId}' and result_type = 'FINAL' group by run_location order by run_location`,
};

export interface PlainAnswer {
  readonly ms: number;
  /** p95 of the response time by location. */
  readonly p95: ReadonlyMap<string, number>;
}

export function plainOnSqlite(path: string, checkId: string): PlainAnswer {
  const database = new DatabaseSync(path, { readOnly: true });
  const start = performance.now();
  const rows = database.prepare(plainSql.sqlite(checkId)).all();
  const ms = performance.now() - start;
  database.close();
  return { ms, p95: new Map(rows.map((row) => [String(row.run_location), Number(row.p95)])) };
}

export async function plainOnPostgres(url: string, checkId: string): Promise<PlainAnswer> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const start = performance.now();
  const { rows } = await client.query(plainSql.postgres(checkId));
  const ms = performance.now() - start;
  await client.end();
  return { ms, p95: new Map(rows.map((row) => [String(row.run_location), Number(row.p95)])) };
}
