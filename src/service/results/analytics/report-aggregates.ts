import { leastOf } from '@picket/lib/bounds/extremes.ts';
import { onDemandResultIds } from '@picket/platform/store/days/on-demand-runs.ts';
import type { Dialect } from '@picket/platform/store/engine/dialect.ts';
import type { Tables } from '@picket/platform/store/tables.ts';
import { type Kysely, sql } from 'kysely';
import type { ResultColumns } from '../columns/result-columns.ts';
import { ordinalColumn, responseColumn, statusColumn } from '../columns/result-frame.ts';
import { measuredFailures } from '../reports/check-report.ts';
import type { RunAggregate } from '../reports/store.ts';
import { aggregate } from './aggregation.ts';

/** Query of a report for the final results of checks. Plain data, because it is sent to another thread. */
export interface ReportQuery {
  readonly checks: readonly {
    readonly id: string;
    /** Metric that is the response time; null if the type has none. */
    readonly metric: string | null;
  }[];
  /** Epoch milliseconds, inclusive. */
  readonly from: number;
  /** Epoch milliseconds, exclusive. */
  readonly to: number;
}

export interface CheckAggregate extends RunAggregate {
  readonly checkId: string;
}

const checksPerStatement = 200;
/** Maximum time from the start of a session to the result of its run. */
const longestRunMs = 24 * 3_600_000;

/** Final runs that say something about the target, and the measured times. */
interface Runs {
  count: number;
  passed: number;
  readonly times: Float64Array[];
}

/**
 * Outcomes of the scheduled runs of checks in a window: sealed results are read from their columns, the others from the
 * index alone. Percentiles are by nearest rank (check model 3.6): the smallest time that at least that percentage of
 * the measured runs did not exceed. Checks without runs are omitted.
 */
export async function reportAggregates(
  { db, dialect, columns }: { db: Kysely<Tables>; dialect: Dialect; columns: ResultColumns },
  { checks, from, to }: ReportQuery,
): Promise<CheckAggregate[]> {
  const runsOf = new Map<string, Runs>();
  const sealedUntil: [checkId: string, since: number][] = [];
  for (const { id, metric } of checks) {
    const runs: Runs = { count: 0, passed: 0, times: [] };
    runsOf.set(id, runs);
    sealedUntil.push([id, Math.max(from, await countSealed(columns, id, metric, { from, to }, runs))]);
  }
  for (let start = 0; start < sealedUntil.length; start += checksPerStatement) {
    const some = sealedUntil.slice(start, start + checksPerStatement);
    await countOthers(db, dialect, some, to, runsOf);
  }
  return [...runsOf].flatMap(([checkId, runs]) => (runs.count === 0 ? [] : [aggregateOf(checkId, runs)]));
}

/** Counts sealed results; returns where they end. */
async function countSealed(
  columns: ResultColumns,
  checkId: string,
  metric: string | null,
  window: { from: number; to: number },
  runs: Runs,
): Promise<number> {
  const names = new Set([statusColumn, ordinalColumn, responseColumn, ...(metric === null ? [] : [metric])]);
  const { frame, sealedUntil } = await columns.readSealed(checkId, window, names);
  const status = frame.texts.get(statusColumn);
  const ordinals = frame.numbers.get(ordinalColumn);
  const response = frame.numbers.get(responseColumn);
  // Chunks of older builds have only the metric.
  const measured = metric === null ? undefined : frame.numbers.get(metric);
  const error = status?.texts.indexOf('error') ?? -1;
  const success = status?.texts.indexOf('success') ?? -1;
  const times = new Float64Array(frame.rowCount).fill(Number.NaN);
  for (let row = 0; row < frame.rowCount; row += 1) {
    const code = status?.index[row] ?? -1;
    // A result with several items is one run.
    if (code === error || (ordinals?.[row] ?? 0) > 0) continue;
    runs.count += 1;
    if (code === success) runs.passed += 1;
    const time = response?.[row] ?? Number.NaN;
    times[row] = Number.isNaN(time) ? (measured?.[row] ?? Number.NaN) : time;
  }
  if (frame.rowCount > 0) runs.times.push(times);
  return sealedUntil;
}

/** Counts results that are not sealed yet: those of each check from an instant on. */
async function countOthers(
  db: Kysely<Tables>,
  dialect: Dialect,
  since: readonly (readonly [checkId: string, since: number])[],
  to: number,
  runsOf: ReadonlyMap<string, Runs>,
): Promise<void> {
  const measured = sql`code is null or ${dialect.inList('code', [...measuredFailures])}`;
  // Helps the planner of PostgreSQL, which has no statistics for the instants in pairs.
  const earliest = leastOf(since.map(([, at]) => at));
  const checkIds = since.map(([id]) => id);
  // By id, which the index contains, so that no result rows have to be read.
  const onDemand = await onDemandResultIds(db, dialect, checkIds, earliest - longestRunMs);
  const isScheduled = onDemand.length === 0 ? sql`true` : sql`not ${dialect.inList('results.id', onDemand)}`;
  const { rows } = await sql<{ check_id: string; runs: string }>`
    select asked.check_id, (
      select '[' || count(*) || ',' || coalesce(sum(1 - has_failures), 0) || ','
        || ${dialect.jsonArray(sql`response_time`, measured)} || ']'
      from results
      where results.check_id = asked.check_id and result_type = 'FINAL'
        and results.created >= asked.since
        and results.created >= ${earliest} and results.created < ${to} and has_errors = 0
        and ${isScheduled}) as runs
    from ${dialect.pairRows(['check_id', 'since'], since)} as asked`.execute(db);
  for (const row of rows) {
    const [count, passed, times] = JSON.parse(row.runs) as [number, number, number[]];
    const runs = runsOf.get(row.check_id);
    if (!runs) continue;
    runs.count += count;
    runs.passed += passed;
    if (times.length > 0) runs.times.push(Float64Array.from(times));
  }
}

function aggregateOf(checkId: string, { count, passed, times }: Runs): CheckAggregate {
  const [first, ...others] = times;
  const all = first && others.length === 0 ? first : joined(times);
  const figures = aggregate(all, ['avg', 'p95', 'p99']);
  return {
    checkId,
    runCount: count,
    passedCount: passed,
    averageMs: figures.get('avg') ?? null,
    p95Ms: figures.get('p95') ?? null,
    p99Ms: figures.get('p99') ?? null,
  };
}

function joined(parts: readonly Float64Array[]): Float64Array {
  const all = new Float64Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
