import { leastOf } from '@picket/lib/bounds/extremes.ts';
import { isSince } from '@picket/platform/store/days/ended-day.ts';
import type { ColumnTypes } from '@picket/platform/store/engine/dialect.ts';
import { type RawBuilder, sql } from 'kysely';
import type { RunRow } from './tables.ts';

/** Columns of the table and their PostgreSQL types, for inserts of many rows at a time. */
export const runColumnTypes: ColumnTypes<RunRow> = {
  id: 'text',
  account_id: 'text',
  check_id: 'text',
  check_type: 'text',
  lane: 'text',
  location_id: 'text',
  location: 'text',
  slot_location: 'text',
  slot_at: 'bigint',
  slot_count: 'integer',
  slot_interval_ms: 'bigint',
  state: 'text',
  reason: 'text',
  attempt: 'integer',
  freshness_ms: 'bigint',
  ready_at: 'bigint',
  expires_at: 'bigint',
  lease_number: 'integer',
  lease_until: 'bigint',
  agent_id: 'text',
  session_id: 'text',
  claim_number: 'bigint',
  deaths: 'integer',
  first_leased_at: 'bigint',
  last_result_id: 'text',
  runtime_id: 'text',
  sequence_id: 'text',
  check_run_id: 'bigint',
  created: 'bigint',
  ended: 'bigint',
  ended_day: 'bigint',
  check_session_id: 'text',
  test_session_id: 'text',
};

/**
 * Whether the slot of a row to be inserted already has a run. If the table is partitioned, each partition knows only
 * its own rows: a finished run is in another one. A subquery per row, which cannot become a join over whole partitions.
 *
 * @param rows the rows to insert; the condition refers to them as `fresh`.
 */
export function isSlotTaken(rows: readonly RunRow[]): RawBuilder<boolean> {
  const earliest = leastOf(rows.map(({ slot_at: slotAt }) => slotAt));
  return sql`(select true from runs where runs.check_id = fresh.check_id and runs.slot_at = fresh.slot_at
    and runs.slot_location = fresh.slot_location and ${isSince(earliest)} limit 1)`;
}
