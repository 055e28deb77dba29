import { DatabaseSync } from 'node:sqlite';
import { sql } from 'kysely';
import { packRow } from '../../src/platform/store/details/packed-detail.ts';
import { connectPostgres } from '../../src/platform/store/engine/connect-postgres.ts';
import { type Connection, connectSqlite } from '../../src/platform/store/engine/dialect.ts';
import { migrate } from '../../src/platform/store/schema/migrate.ts';
import { Results, resultColumnTypes } from '../../src/service/results/store.ts';
import type { CountedResultRow } from '../../src/service/results/tables.ts';
import { startPostgres } from '../helpers/service/postgres.ts';
import { temporaryFolder } from '../helpers/service/service.ts';
import { resultRow } from '../integration/conformance/store-suites/result-samples.ts';
import { realisticDetail } from './parts/realistic-detail.ts';
import { type Bench, type BenchRun, bothEngines, choicesOption, numberOption, quantile } from './report.ts';

/** How details are stored: as in earlier builds, as now, and as now without nine of ten. */
const cases = ['JSON', 'compressed', 'every 10th'] as const;
type Case = (typeof cases)[number];

interface Stage {
  readonly name: string;
  readonly connection: Connection;
  databaseCpuMs(): number;
  /** Bytes of the table with out-of-line data, and of its indexes. */
  sizes(): Promise<{ readonly table: number; readonly indexes: number }>;
  close(): Promise<void>;
}

const batch = 100;
const checks = 100;

const bench: Bench = {
  usage: '[--results=20000] [--rounds=5] [--engine=sqlite|postgres]',
  title: 'Details of results: bytes and CPU of a stored result, and of reading it',
  async run(run) {
    const rows: string[][] = [];
    const figures: Record<string, string> = {};
    const engines = choicesOption(run, 'engine', bothEngines);
    for (const engine of engines) {
      await using stack = new AsyncDisposableStack();
      const open = engine === 'sqlite' ? sqliteStage : await postgresStages(stack);
      const stages = new Map<Case, Stage>();
      for (const one of cases) {
        const stage = await open();
        stack.defer(() => stage.close());
        stages.set(one, stage);
      }
      await measure(run, stages, rows, figures, engine);
    }
    return {
      columns: [
        'engine',
        'details',
        'bytes of JSON',
        'in the table (B)',
        'in indexes (B)',
        'store: service (µs)',
        'store: database (µs)',
        'read in lists of 100: service (µs)',
        'read: database (µs)',
      ],
      rows,
      notes: [
        'For each result; CPU time, medians of the rounds, in which the cases take turns. Details of a URL monitor with twelve headers, a body of 1.2 kB and a certificate, no two alike. Results are stored in statements of 100. On SQLite the database is in the service.',
      ],
      figures,
    };
  },
};
export default bench;

async function measure(
  run: BenchRun,
  stages: ReadonlyMap<Case, Stage>,
  rows: string[][],
  figures: Record<string, string>,
  engine: string,
): Promise<void> {
  const rounds = numberOption(run, 'rounds', 5);
  const perRound = Math.ceil(numberOption(run, 'results', 20_000) / rounds / batch);
  const costs = new Map(cases.map((one) => [one, { store: [], read: [] } as Costs]));
  let jsonBytes = 0;
  let made = 0;
  for (let round = 0; round < rounds; round += 1) {
    const batches = Array.from({ length: perRound }, () =>
      Array.from({ length: batch }, () => {
        made += 1;
        const detail = JSON.stringify(realisticDetail(made));
        jsonBytes += detail.length;
        return { ...resultRow(`check-${made % checks}`, 'account', 1_000_000 + made, {}), detail };
      }),
    );
    const order = round % 2 === 0 ? cases : cases.toReversed();
    for (const one of order) {
      const stage = stages.get(one);
      if (!stage) continue;
      const results = new Results(stage.connection.db, stage.connection.dialect);
      const count = perRound * batch;
      const stored = await costOf(stage, count, async () => {
        for (const some of batches) await storeAs(one, stage, some);
      });
      const read = await costOf(stage, count, async () => {
        for (let index = 0; index < perRound; index += 1) {
          const filter = {
            checkId: `check-${index % checks}`,
            from: 0,
            to: 1e12,
            resultType: 'ALL',
          } as const;
          await results.behind(filter, undefined, batch);
        }
      });
      // Caches are cold in the first round.
      if (round === 0) continue;
      costs.get(one)?.store.push(stored);
      costs.get(one)?.read.push(read);
    }
    run.progress(`${engine}: round ${round + 1} of ${rounds}`);
  }
  for (const one of cases) {
    const stage = stages.get(one);
    const cost = costs.get(one);
    if (!stage || !cost) continue;
    const { table, indexes } = await stage.sizes();
    const median = (some: readonly Cost[], of: keyof Cost) =>
      quantile(
        some.map((each) => each[of]),
        0.5,
      ).toFixed(1);
    rows.push([
      stage.name,
      one,
      (jsonBytes / made).toFixed(0),
      (table / made).toFixed(0),
      (indexes / made).toFixed(0),
      median(cost.store, 'service'),
      median(cost.store, 'database'),
      median(cost.read, 'service'),
      median(cost.read, 'database'),
    ]);
    const key = `${engine}_${one.replaceAll(' ', '_').toLowerCase()}`;
    figures[`${key}_bytes`] = ((table + indexes) / made).toFixed(0);
    figures[`${key}_store_us`] = (
      Number(median(cost.store, 'service')) + Number(median(cost.store, 'database'))
    ).toFixed(0);
  }
}

interface Cost {
  /** CPU microseconds per result. */
  readonly service: number;
  readonly database: number;
}

interface Costs {
  readonly store: Cost[];
  readonly read: Cost[];
}

async function costOf(stage: Stage, count: number, work: () => Promise<void>): Promise<Cost> {
  const databaseBefore = stage.databaseCpuMs();
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return {
    service: (user + system) / count,
    database: ((stage.databaseCpuMs() - databaseBefore) * 1000) / count,
  };
}

async function storeAs(
  one: Case,
  { connection: { db, dialect } }: Stage,
  rows: readonly CountedResultRow[],
): Promise<void> {
  if (one === 'JSON') {
    // Like `packRow`, without compression.
    const stored = rows.map((row) => ({ ...packRow({ ...row, detail: null }), detail: row.detail }));
    await db.transaction().execute(async (transaction) => {
      const insertion = {
        db: transaction,
        table: 'results',
        types: resultColumnTypes,
        rows: stored,
      } as const;
      for (const change of dialect.inserting(insertion)) await change.execute();
    });
    return;
  }
  const some =
    one === 'compressed' ? rows : rows.map((row, index) => ({ ...row, is_detail_left_out: index % 10 > 0 }));
  await db.transaction().execute((transaction) => new Results(transaction, dialect).insert(some));
}

async function sqliteStage(): Promise<Stage> {
  const folder = temporaryFolder();
  const path = `${folder.path}/picket.sqlite`;
  const connection = connectSqlite(path, () => undefined);
  await migrate(connection.db, connection.dialect);
  return {
    name: 'SQLite',
    connection,
    databaseCpuMs: () => 0,
    async sizes() {
      await sql`pragma wal_checkpoint(truncate)`.execute(connection.db);
      const database = new DatabaseSync(path, { readOnly: true });
      const of = (type: string) =>
        Number(
          database
            .prepare(
              `select sum(pgsize) as bytes from dbstat where name in
                (select name from sqlite_schema where tbl_name = 'results' and type = ?)`,
            )
            .get(type)?.bytes,
        );
      const sizes = { table: of('table'), indexes: of('index') };
      database.close();
      return sizes;
    },
    async close() {
      await connection.db.destroy();
      folder.remove();
    },
  };
}

async function postgresStages(stack: AsyncDisposableStack): Promise<() => Promise<Stage>> {
  const server = await startPostgres({ isDurable: true });
  stack.defer(() => server.stop());
  return async () => {
    const connection = connectPostgres({
      databaseUrl: await server.createDatabase(),
      onPoolError: () => undefined,
      maxConnections: 2,
    });
    await migrate(connection.db, connection.dialect);
    return {
      name: 'PostgreSQL',
      connection,
      databaseCpuMs: () => server.cpuMs(),
      async sizes() {
        const { rows } = await sql<{ table: number; indexes: number }>`
          select pg_table_size('results') as table, pg_indexes_size('results') as indexes`.execute(
          connection.db,
        );
        return { table: rows[0]?.table ?? 0, indexes: rows[0]?.indexes ?? 0 };
      },
      close: () => connection.db.destroy(),
    };
  };
}
