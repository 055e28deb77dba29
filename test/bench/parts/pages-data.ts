import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';

/** Data behind the pages: copies of one check, with results spread over them. */
export interface PagesData {
  /** The check to copy. */
  readonly templateId: string;
  readonly checks: number;
  readonly results: number;
  /** The detail of the newest result of each check. */
  readonly detail: string;
}

/** A statement for either engine. */
type Sql = (text: string) => Promise<void>;

export interface PagesDatabase {
  fill(data: PagesData): Promise<void>;
  /** Reschedules every check so that about 200 results arrive per second. */
  hurry(): Promise<void>;
  results(): Promise<number>;
  close(): Promise<void>;
}

const minuteMs = 60_000;
/** 1,330 checks every 10 s and 8,670 every two minutes are 205 slots a second. */
const quick = { perMille: 133, frequency: 0, offset: 10, intervalMs: 10_000 };
const slow = { frequency: 2, intervalMs: 2 * minuteMs };

/** Ids derived from numbers, in the form of random ones. */
function ids(engine: 'sqlite' | 'postgres') {
  const hex = (of: string, digits: number) =>
    engine === 'sqlite' ? `printf('%0${digits}x', ${of})` : `lpad(to_hex(${of}), ${digits}, '0')`;
  return {
    check: (n: string) => `${hex(n, 8)} || '-0000-4000-8000-000000000000'`,
    result: (n: string, k: string) => `${hex(n, 8)} || '-0000-4000-9000-' || ${hex(k, 12)}`,
    run: (n: string, k: string) => `${hex(n, 8)} || '-0000-4000-a000-' || ${hex(k, 12)}`,
    counted: (count: number) =>
      engine === 'sqlite'
        ? `with recursive counted (i) as (select 0 union all select i + 1 from counted where i < ${count - 1})`
        : `with counted (i) as (select generate_series(0, ${count - 1}::bigint))`,
  };
}

async function fill(
  sql: Sql,
  engine: 'sqlite' | 'postgres',
  { templateId, checks, results, detail }: PagesData,
): Promise<void> {
  const { check, result, run, counted } = ids(engine);
  const now = Date.now();
  const [n, k] = [`(i % ${checks})`, `(i / ${checks})`];
  const slotAt = `${now} - ${k} * ${10 * minuteMs} - ${n} * 50`;
  const noise = `((i * 7919) % 400)`;
  const isBad = `case when ${n} % 97 = 5 then 1 else 0 end`;
  const json = engine === 'postgres' ? '::json' : '';
  await sql(`${counted(checks)} insert into checks (id, account_id, name, name_search, check_type, activated, muted, group_id, group_order,
      definition, created, updated, next_slot_at, interval_ms, run_parallel, url_search)
    select ${check('i')}, account_id, 'check ' || i, 'check ' || i, check_type, activated, muted, group_id, group_order,
      definition, created, updated, next_slot_at, interval_ms, run_parallel, url_search
    from counted, checks where id = '${templateId}'`);
  await sql(
    `${counted(checks)} insert into check_tags (check_id, tag) select ${check('i')}, 'team-' || (i % 20) from counted`,
  );
  await sql(
    `${counted(checks)} insert into check_locations (check_id, position, name) select ${check('i')}, 0, 'lab' from counted`,
  );
  await sql(`${counted(results)} insert into runs (id, account_id, check_id, check_type, lane, location, slot_location,
      slot_at, slot_count, state, attempt, freshness_ms, ready_at, expires_at, lease_number, deaths, sequence_id,
      check_run_id, created, ended, ended_day, last_result_id)
    select ${run(n, k)}, account_id, ${check(n)}, 'URL', 'probe', 'lab', 'lab', ${slotAt}, 1, 'final', 0, 0, 0, 0, 1, 0,
      's', i, ${slotAt} + 200, ${slotAt} + 500, ${slotAt} + 500 - (${slotAt} + 500) % 86400000, ${result(n, k)}
    from counted, checks where checks.id = '${templateId}'`);
  await sql(`${counted(results)} insert into results (id, run_id, account_id, check_id, check_type, run_location,
      result_type, has_failures, has_errors, owner, code, message, response_time, started, stopped, created, attempts,
      sequence_id, check_run_id, slot_at, start_delay, agent_lag, agent_id, error_messages, detail, measured)
    select ${result(n, k)}, ${run(n, k)}, account_id, ${check(n)}, 'URL', 'lab', 'FINAL', ${isBad}, 0,
      case when ${isBad} = 1 then 'target' end, case when ${isBad} = 1 then 'STATUS_UNEXPECTED' end,
      case when ${isBad} = 1 then 'Unexpected status 503' end, 20 + ${noise}, ${slotAt} + 200, ${slotAt} + 400,
      ${slotAt} + 500, 0, 's', i, ${slotAt}, 1, 0, 'agent', '[]',
      ${engine === 'postgres' ? '(' : ''}case when ${k} = 0 then '${detail.replaceAll("'", "''")}' end${engine === 'postgres' ? `)${json}` : ''},
      '[[200,{"responseTime":' || (20 + ${noise}) || ',"wait":0,"dns":1,"tcp":2,"firstByte":' || (15 + ${noise}) || ',"download":2}]]'
    from counted, checks where checks.id = '${templateId}'`);
  await sql(`${counted(checks)} insert into statuses (check_id, account_id, has_failures, has_errors, is_degraded,
      last_run_location, last_check_run_id, last_slot_at, created)
    select ${check('i')}, account_id, case when i % 97 = 5 then 1 else 0 end, 0, 0, 'lab', 0, ${now} - i * 50, ${now}
    from counted, checks where checks.id = '${templateId}'`);
}

async function hurry(sql: Sql, engine: 'sqlite' | 'postgres'): Promise<void> {
  const start = Date.now() + 2_000;
  const number = 'cast(substr(name, 7) as bigint)';
  const text = engine === 'postgres' ? 'definition::text' : 'definition';
  const json = engine === 'postgres' ? '::json' : '';
  const change = (where: string, frequency: number, offset: string, intervalMs: number) =>
    sql(`update checks set interval_ms = ${intervalMs},
      definition = replace(
        replace(${text}, '"frequency":1440', '"frequency":${frequency}'),
        '"frequencyOffset":10', '"frequencyOffset":' || ${offset})${json},
      next_slot_at = ${start} + (${number} * 7919) % ${intervalMs} where ${where}`);
  const isQuick = `${number} % 1000 < ${quick.perMille}`;
  await change(isQuick, quick.frequency, `${quick.offset}`, quick.intervalMs);
  // Slots are on the grid of the offset: slow checks with the same one would all be due within six seconds.
  await change(`not (${isQuick})`, slow.frequency, `(1 + ${number} % 19)`, slow.intervalMs);
}

export async function openPagesOnSqlite(dataDir: string): Promise<PagesDatabase> {
  const database = new DatabaseSync(join(dataDir, 'picket.sqlite'));
  database.exec('pragma busy_timeout = 60000');
  const sql: Sql = async (text) => database.exec(text);
  return {
    fill: async (data) => {
      database.exec('pragma synchronous = off');
      await fill(sql, 'sqlite', data);
      database.exec('analyze');
    },
    hurry: () => hurry(sql, 'sqlite'),
    results: async () => Number(database.prepare('select count(*) as n from results').get()?.n),
    close: async () => database.close(),
  };
}

export async function openPagesOnPostgres(url: string): Promise<PagesDatabase> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const sql: Sql = async (text) => {
    await client.query(text);
  };
  return {
    fill: async (data) => {
      await fill(sql, 'postgres', data);
      await client.query('vacuum analyze');
    },
    hurry: () => hurry(sql, 'postgres'),
    results: async () => Number((await client.query('select count(*) as n from results')).rows[0].n),
    close: () => client.end(),
  };
}
