/** `queued` and `leased` are on their way; the others are terminal. The story is in ledger.ts. */
export type RunState = 'queued' | 'leased' | 'final' | 'missed' | 'cancelled';

/** Why a slot was missed. */
export type MissedReason =
  | 'no-agent'
  | 'over-capacity'
  | 'expired'
  | 'agent-lost'
  | 'unsupported'
  | 'service-away'
  | 'paused-by-maintenance';

export interface RunRow {
  id: string;
  account_id: string;
  check_id: string;
  check_type: string;
  lane: string;
  /** The private location whose agents take the run; null for data-center regions. */
  location_id: string | null;
  location: string;
  /** The location the slot was for; a retry may run elsewhere. */
  slot_location: string;
  slot_at: number;
  /** How many slots the record stands for: 1, or more when the service was away for several. */
  slot_count: number;
  /** Milliseconds from one of these slots to the next; null where there is one, and in records of older builds. */
  slot_interval_ms: number | null;
  state: RunState;
  reason: string | null;
  attempt: number;
  /** How long the run may wait in the queue, counted from its slot or from its last return to the queue. */
  freshness_ms: number;
  ready_at: number;
  expires_at: number;
  lease_number: number;
  lease_until: number | null;
  agent_id: string | null;
  session_id: string | null;
  /** The claim of that session the lease was granted to, where the agent numbers its claims. */
  claim_number: number | null;
  /** Leases that ended without a word from the agent, in this attempt. */
  deaths: number;
  /** Start of the first lease of the first attempt: where maxDurationSeconds counts from. */
  first_leased_at: number | null;
  /** The stored result of the last attempt, when there was one. */
  last_result_id: string | null;
  /** The runtime an agent must have to take the run; null for types that use none. */
  runtime_id: string | null;
  sequence_id: string;
  check_run_id: number;
  created: number;
  ended: number | null;
  /** The day of its end, 0 before it; see store/days/ended-day.ts. */
  ended_day: number;
  /** The check session or test session the run belongs to; null for runs of the schedule. */
  check_session_id: string | null;
  test_session_id: string | null;
}

/** An instant to remember, by name. */
interface ClockMarkRow {
  name: string;
  at: number;
}

export interface RunTables {
  runs: RunRow;
  clock_marks: ClockMarkRow;
}

declare module '@picket/platform/store/tables.ts' {
  interface Tables extends RunTables {}
}
