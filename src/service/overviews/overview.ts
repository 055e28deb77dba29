import type { RunState } from '../runs/tables.ts';
import type { OverviewState } from './states.ts';

export interface OverviewFilter {
  readonly checkId?: string | undefined;
  readonly checkIds?: readonly string[] | undefined;
  readonly search?: string | undefined;
  readonly state?: OverviewState | undefined;
  readonly checkType?: string | undefined;
  readonly tag?: string | undefined;
  /** Leaves out the checks with this tag. */
  readonly withoutTag?: string | undefined;
  readonly groupId?: number | undefined;
  readonly location?: string | undefined;
}

/** A check that a filter finds. */
export interface MatchingCheck {
  readonly id: string;
  readonly name: string;
  readonly checkType: string;
  readonly groupId: number | null;
}

export interface OverviewRow {
  readonly id: string;
  readonly name: string;
  readonly checkType: string;
  readonly state: OverviewState;
  readonly isMuted: boolean;
  readonly groupId: number | null;
  readonly tags: readonly string[];
  readonly locations: readonly string[];
  /** As stored by alerts; null for a check that simply passes. */
  readonly alertState: string | null;
  readonly lastSlotAt: number | null;
}

/** Order of the list: by state (the worst first), name or last run. Checks without a run count as the oldest. */
export interface OverviewOrder {
  readonly by: 'state' | 'name' | 'run';
  readonly isDescending: boolean;
}

/** Tags, groups, locations and types available as filters. */
export interface OverviewChoices {
  readonly tags: readonly string[];
  readonly groups: readonly { readonly id: number; readonly name: string }[];
  readonly locations: readonly string[];
  readonly types: readonly string[];
}

/** A recent slot of a check, with its result. */
export interface RecentSlot {
  readonly id: string;
  readonly check_id: string;
  readonly slot_at: number;
  readonly slot_location: string;
  readonly slot_count: number;
  readonly state: RunState;
  readonly reason: string | null;
  readonly result_id: string | null;
  readonly has_failures: number | null;
  readonly has_errors: number | null;
  readonly is_degraded: number | null;
  readonly response_time: number | null;
  readonly owner: string | null;
  readonly code: string | null;
  readonly message: string | null;
  /** Whether a user requested it: it is shown, but is not part of the schedule. */
  readonly isOnDemand: boolean;
}
