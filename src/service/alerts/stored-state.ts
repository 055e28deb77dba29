import type { Repositories } from '@picket/platform/store/repositories.ts';
import { storedValue } from '@picket/platform/store/stored-json.ts';
import { incidentsIn, type TriggeredIncident } from '../incidents/requested-incident.ts';
import type { Actor } from './handling/actor.ts';
import type { AlertPolicy } from './policy.ts';
import { type AlertState, nextTimerAt, quietState, type Verdict } from './state.ts';
import type { AlertStateRow } from './tables.ts';
import { isSteady, steadyTrend, type Trend } from './trend.ts';

type OlderState = Partial<StoredState> &
  Pick<StoredState, 'alert'> & { readonly incident?: TriggeredIncident | null };
const stateOf = storedValue<OlderState>('alert_states.state', { alert: quietState });

/** Locations that a verdict refers to. */
export type LastLocations = readonly string[];

/** Records that a user has seen the open alerts of a check. */
export interface Acknowledgement {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly by: Actor;
  readonly comment: string | null;
}

/** Stored state of a check that does not simply pass. Fields that an older build did not store may be absent. */
export interface StoredState {
  readonly alert: AlertState;
  readonly trend: Trend;
  /** Newest slot with a verdict; later reports for it change nothing. */
  readonly judgedSlotAt: number | null;
  /** Verdict so far of a newer slot that some locations have not reported; final once the next slot begins. */
  readonly undecided: {
    readonly slotAt: number;
    readonly verdict: Verdict;
    readonly resultId: string;
    readonly locations?: LastLocations;
  } | null;
  readonly lastResultId: string | null;
  readonly lastLocations: LastLocations;
  /** Incidents that it requested and has not recovered from. */
  readonly incidents: readonly TriggeredIncident[];
  /** First slot since the check last passed; null while it passes. */
  readonly episodeSince?: number | null;
  readonly acknowledgement?: Acknowledgement | null;
}

const nothingStored: StoredState = {
  alert: quietState,
  trend: steadyTrend,
  judgedSlotAt: null,
  undecided: null,
  lastResultId: null,
  lastLocations: [],
  incidents: [],
  episodeSince: null,
  acknowledgement: null,
};

/** Whether a check is in an episode: it does not pass, or it flaps. */
export function isOpen({ alert, trend }: Pick<StoredState, 'alert' | 'trend'>): boolean {
  return alert.phase !== 'passed' || trend.isFlapping;
}

export function parseState(row: Pick<AlertStateRow, 'state'> | undefined): StoredState {
  if (!row) return nothingStored;
  const { incident, ...read } = stateOf(row.state);
  const stored = { ...read, alert: { ...quietState, ...read.alert } };
  return {
    ...nothingStored,
    ...stored,
    incidents: incidentsIn({ ...stored, ...(incident ? { incident } : {}) }),
    trend: stored.trend ?? { ...steadyTrend, last: stored.alert.phase },
  };
}

export async function saveState(
  repositories: Pick<Repositories, 'alerts'>,
  policy: AlertPolicy,
  {
    stored,
    next,
    now,
  }: {
    readonly stored: AlertStateRow | undefined;
    readonly next: StoredState;
    readonly now: number;
  },
): Promise<void> {
  const { id, accountId } = policy.check;
  const isQuiet = next.alert.phase === 'passed' && next.undecided === null && next.incidents.length === 0;
  if (isQuiet && isSteady(next.trend)) {
    if (stored) await repositories.alerts.forgetStates([id]);
    return;
  }
  const withheldUntil = policy.withheldAt(next.lastLocations)?.until ?? null;
  await repositories.alerts.saveState({
    check_id: id,
    account_id: accountId,
    state: JSON.stringify(next),
    next_at: nextTimerAt(next.alert, policy.settings, withheldUntil),
    updated: now,
  });
}
