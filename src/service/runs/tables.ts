/** `queued` and `leased` runs are unfinished; the other states are terminal. The lifecycle is in ledger.ts. */
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
  /** Private location whose agents take the run; null for data-center regions. */
  location_id: string | null;
  location: string;
  /** Location of the slot; a retry may run elsewhere. */
  slot_location: string;
  slot_at: number;
  /** Number of slots that the record covers: 1, or more if the service was away for several. */
  slot_count: number;
  /** Milliseconds between two of these slots; null if there is only one, and in records of older builds. */
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
  /** Claim of the session that the lease was granted to, if the agent numbers its claims. */
  claim_number: number | null;
  /** Leases of this attempt that expired without a report from the agent. */
  deaths: number;
  /** Start of the first lease of the first attempt: maxDurationSeconds counts from here. */
  first_leased_at: number | null;
  /** Stored result of the last attempt, if any. */
  last_result_id: string | null;
  /** Runtime and browsers that an agent needs to take the run (agent-presence/needed-browsers.ts); null for none. */
  runtime_id: string | null;
  sequence_id: string;
  check_run_id: number;
  created: number;
  ended: number | null;
  /** Day on which it ended, 0 before; see store/days/ended-day.ts. */
  ended_day: number;
  /** Check session or test session of the run; null for scheduled runs. */
  check_session_id: string | null;
  test_session_id: string | null;
}

/** A named instant to remember. */
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
