import { findCheckType } from '@picket/checks/index.ts';
import { hasEndedWithin } from '@picket/platform/store/days/ended-day.ts';
import { finalResultsOf } from '@picket/platform/store/days/final-results.ts';
import { Repository } from '@picket/platform/store/engine/repository.ts';
import { storedValue } from '@picket/platform/store/stored-json.ts';
import type { Tables } from '@picket/platform/store/tables.ts';
import type { CheckState } from '@picket/protocol/checks/check-state.ts';
import { type SelectQueryBuilder, sql } from 'kysely';
import { stateAt, stateOf } from '../checks/state/check-state.ts';
import type { PausedChecks } from '../checks/state/paused-checks.ts';
import { longestSilenceMs } from '../checks/state/silence.ts';
import type { TotalsCursorRow } from './tables.ts';
import type { EndedRun, Totals } from './totals.ts';
import { noTotals } from './totals.ts';

const totalsOf = storedValue<Totals>('check_totals.content', noTotals());

/** A position in the order in which runs ended, for reading them in pages. */
export interface Position {
  readonly ended: number;
  readonly runId: string;
}

/** Position before all runs that ended after an instant. */
export function startAfter(ended: number): Position {
  return { ended: ended + 1, runId: '' };
}

/** Totals of a check at a location. */
export interface LocationTotals {
  readonly checkId: string;
  readonly location: string;
  readonly totals: Totals;
}

/** A check as metrics name it. */
export interface MetricsSubject {
  readonly id: string;
  readonly account_id: string;
  readonly name: string;
  readonly check_type: string;
  readonly activated: 0 | 1;
  readonly group_name: string | null;
  readonly state: CheckState;
  /** How long each of its locations may lack a measurement; null without slots. */
  readonly longest_silence_ms: number | null;
  readonly certificate_expires: number | null;
  readonly target_host: string | null;
}

type EndedQuery = SelectQueryBuilder<Tables, 'runs', unknown>;

const resultColumns = [
  ...(['has_failures', 'has_errors', 'is_degraded', 'code'] as const),
  ...(['response_time', 'measured'] as const),
] as const;
const noResult = Object.fromEntries(resultColumns.map((column) => [column, null]));

/** Maximum delay between the end time of a run and the start of the transaction that stores it. */
const settleMs = 60_000;

/** Totals of runs, and runs still to be added. */
export class CheckTotals extends Repository {
  /**
   * Instant up to which all finished runs are visible: no later transaction adds an earlier run. A transaction in
   * progress may contain runs dated slightly before it began. Must be called before the runs are read.
   */
  async settledUntil(now: number): Promise<number> {
    const oldestMs = await this.dialect.oldestTransactionMs(this.db);
    // Rounded down: databases report the start of a transaction in microseconds, and columns store milliseconds.
    return Math.floor(Math.min(now, oldestMs ?? now)) - settleMs;
  }

  async cursors(): Promise<TotalsCursorRow[]> {
    return this.db.selectFrom('check_total_cursors').selectAll().orderBy('shard').execute();
  }

  /** Starts counting at an instant; does nothing if already started. */
  async begin(shards: number, at: number): Promise<void> {
    const rows = Array.from({ length: shards }, (_, shard) => ({ shard, ended: at }));
    await this.db
      .insertInto('check_total_cursors')
      .values(rows)
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }

  /** The cursor of a shard, locked until the end of the transaction. */
  async lockCursor(shard: number): Promise<TotalsCursorRow | undefined> {
    return this.db
      .selectFrom('check_total_cursors')
      .selectAll()
      .where('shard', '=', shard)
      .modifyEnd(this.dialect.forUpdate)
      .executeTakeFirst();
  }

  async moveCursor(shard: number, ended: number): Promise<void> {
    await this.db.updateTable('check_total_cursors').set({ ended }).where('shard', '=', shard).execute();
  }

  /** Positions of runs that ended after a position and not after an instant, in order. */
  async endedAfter(after: Position, until: number, limit: number): Promise<Position[]> {
    const rows = await this.#ended(after, until, limit).select(['runs.id', 'runs.ended']).execute();
    return rows.map(({ id, ended }) => ({ runId: id, ended: ended ?? 0 }));
  }

  /** Same runs with their results. */
  async endedRunsAfter(after: Position, until: number, limit: number): Promise<EndedRun[]> {
    return this.#withResults(this.#ended(after, until, limit));
  }

  /** Finished runs by id. */
  async endedRuns(ids: readonly string[]): Promise<EndedRun[]> {
    return this.#withResults(this.db.selectFrom('runs').where(this.dialect.inList('runs.id', ids)));
  }

  /** Finished runs; those of test sessions never count. */
  #ended({ ended, runId }: Position, until: number, limit: number): EndedQuery {
    return (
      this.db
        .selectFrom('runs')
        .where(hasEndedWithin(ended, until))
        .where('runs.ended', '>=', ended)
        // A separate condition, so that the index range starts at the first.
        .where(sql<boolean>`(runs.ended > ${ended} or runs.id > ${runId})`)
        .where('runs.ended', '<=', until)
        .where('runs.test_session_id', 'is', null)
        .orderBy('runs.ended')
        .orderBy('runs.id')
        .limit(limit)
    );
  }

  async #withResults(query: EndedQuery): Promise<EndedRun[]> {
    const runs = await query
      .select([
        'runs.id',
        'runs.check_id',
        'runs.check_type',
        'runs.slot_location',
        'runs.slot_count',
        'runs.slot_at',
        'runs.check_session_id',
        'runs.state',
        'runs.reason',
        'runs.ended',
        'runs.last_result_id',
      ])
      .execute();
    const results = await finalResultsOf(this.db, this.dialect, runs, resultColumns);
    return runs.map((run) => ({ ...run, ...(results.get(run.id) ?? noResult) }) as EndedRun);
  }

  /** All totals after a check and location, in order. */
  async totalsAfter(after: Pick<LocationTotals, 'checkId' | 'location'>, limit: number) {
    const { checkId, location } = after;
    const rows = await this.db
      .selectFrom('check_totals')
      .selectAll()
      .where('check_id', '>=', checkId)
      .where(sql<boolean>`(check_id > ${checkId} or location > ${location})`)
      .orderBy('check_id')
      .orderBy('location')
      .limit(limit)
      .execute();
    return rows.map(fromRow);
  }

  async totalsOf(checkIds: readonly string[]): Promise<LocationTotals[]> {
    const rows = await this.db
      .selectFrom('check_totals')
      .selectAll()
      .where(this.dialect.inList('check_id', checkIds))
      .execute();
    return rows.map(fromRow);
  }

  /** The given checks that exist. */
  async existing(checkIds: readonly string[]): Promise<Set<string>> {
    const rows = await this.db
      .selectFrom('checks')
      .select('id')
      .where(this.dialect.inList('id', checkIds))
      .execute();
    return new Set(rows.map(({ id }) => id));
  }

  async write(all: readonly LocationTotals[]): Promise<void> {
    const rows = all.map(({ checkId, location, totals }) => ({
      check_id: checkId,
      location,
      content: JSON.stringify(totals),
    }));
    const types = { check_id: 'text', location: 'text', content: 'json' } as const;
    const insertion = { db: this.db, table: 'check_totals', types, rows } as const;
    const changes = this.dialect.inserting(insertion, (insert) =>
      insert.onConflict((conflict) =>
        conflict
          .columns(['check_id', 'location'])
          .doUpdateSet((eb) => ({ content: eb.ref('excluded.content') })),
      ),
    );
    for (const change of changes) await change.execute();
  }

  /** Checks in order of id, after the given one. */
  async subjectsAfter(
    id: string,
    scope: { readonly accountId?: string | undefined; readonly tags: readonly string[] },
    limit: number,
    at: { readonly now: number; readonly paused: PausedChecks },
  ): Promise<MetricsSubject[]> {
    const rank = stateOf(at.now, at.paused);
    let query = this.db
      .selectFrom('checks')
      .leftJoin('statuses', 'statuses.check_id', 'checks.id')
      .leftJoin('check_groups', 'check_groups.id', 'checks.group_id')
      .where('checks.id', '>', id);
    if (scope.accountId !== undefined) query = query.where('checks.account_id', '=', scope.accountId);
    if (scope.tags.length > 0) {
      query = query.where('checks.id', 'in', (eb) =>
        eb
          .selectFrom('check_tags')
          .select('check_tags.check_id')
          .where(this.dialect.inList('check_tags.tag', scope.tags)),
      );
    }
    const rows = await query
      .select([
        'checks.id',
        'checks.account_id',
        'checks.name',
        'checks.check_type',
        'checks.activated',
        'check_groups.name as group_name',
        'checks.interval_ms',
        'checks.third_slot_at',
        'checks.run_parallel',
        'statuses.certificate_expires',
        'statuses.target_host',
      ])
      .select(rank.as('rank'))
      .select((eb) =>
        eb
          .selectFrom('check_locations')
          .whereRef('check_locations.check_id', '=', 'checks.id')
          .select((own) => own.fn.countAll<number>().as('count'))
          .as('place_count'),
      )
      .orderBy('checks.id')
      .limit(limit)
      .execute();
    return rows.map(
      ({
        rank: ranked,
        interval_ms: intervalMs,
        third_slot_at: thirdSlotAt,
        run_parallel: isParallel,
        place_count: places,
        ...row
      }) => ({
        ...row,
        state: stateAt(ranked),
        longest_silence_ms: findCheckType(row.check_type)?.pings
          ? null
          : longestSilence(
              { intervalMs, sinceThirdMs: thirdSlotAt === null ? 0 : at.now - thirdSlotAt },
              isParallel === 1 ? 1 : Math.max(1, Number(places)),
            ),
      }),
    );
  }

  /** Tags of the given checks, in order. */
  async tagsOf(checkIds: readonly string[]): Promise<Map<string, string[]>> {
    const rows = await this.db
      .selectFrom('check_tags')
      .selectAll()
      .where(this.dialect.inList('check_id', checkIds))
      .orderBy('check_id')
      .orderBy('tag')
      .execute();
    const byCheck = Map.groupBy(rows, ({ check_id: checkId }) => checkId);
    return new Map([...byCheck].map(([checkId, own]) => [checkId, own.map(({ tag }) => tag)]));
  }
}

/**
 * How long a location may lack a measurement.
 *
 * @param slots with the time since the last slot but two, for checks whose slots are no plain grid.
 */
function longestSilence(
  { intervalMs, sinceThirdMs }: { readonly intervalMs: number; readonly sinceThirdMs: number },
  everyNth: number,
): number {
  return Math.max(longestSilenceMs(intervalMs, everyNth), sinceThirdMs * everyNth);
}

function fromRow(row: {
  readonly check_id: string;
  readonly location: string;
  readonly content: string;
}): LocationTotals {
  return { checkId: row.check_id, location: row.location, totals: totalsOf(row.content) };
}
