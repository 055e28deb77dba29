import type { AlertEntry, EntryState } from '@picket/protocol/alerts/alert-entry.ts';
import type { Acknowledgement } from '../stored-state.ts';
import type { AlertRow } from '../tables.ts';

/** A check of an entry. Times in epoch milliseconds. */
export interface EntryMember {
  readonly checkId: string;
  readonly name: string;
  readonly location: string | null;
  readonly since: number;
  readonly joined: number | null;
  readonly recovered: number | null;
  readonly resultId: string | null;
}

/** Something that is wrong, or was: one cause, one entry. Times in epoch milliseconds. */
export interface Entry {
  readonly id: string;
  readonly kind: AlertEntry['kind'];
  readonly severity: AlertEntry['severity'];
  readonly name: string;
  readonly reason: string | null;
  readonly whatFailed: string | null;
  readonly since: number;
  readonly ended: number | null;
  readonly locations: readonly string[];
  readonly members: readonly EntryMember[];
  readonly acknowledgement: Acknowledgement | null;
  readonly silencedUntil: number | null;
  readonly suppressedBy: AlertEntry['suppressedBy'];
  readonly notified: string;
  /** The cause that its alerts are linked to, or null. */
  readonly causeId: string | null;
  /** Subject of its alerts, if that is not a check. */
  readonly subjectId?: string;
}

/** Parts of an entry that most kinds lack. */
export const plainEntry = {
  ...{ reason: null, whatFailed: null, ended: null, acknowledgement: null, silencedUntil: null },
  ...{ suppressedBy: null, notified: '', causeId: null },
} as const;

export function stateOf({ ended, acknowledgement, silencedUntil }: Entry): EntryState {
  if (ended !== null) return 'ENDED';
  if (acknowledgement) return 'ACKNOWLEDGED';
  return silencedUntil === null ? 'OPEN' : 'SILENCED';
}

/** Conditions of a list of entries; all must hold. */
export interface EntryFilter {
  readonly state?: EntryState | undefined;
  readonly search?: string | undefined;
  readonly checkId?: string | undefined;
  readonly groupId?: number | undefined;
  readonly tag?: string | undefined;
  readonly location?: string | undefined;
}

/** Group and tags of a check, its group's included. */
export interface CheckPlace {
  readonly groupId: number | null;
  readonly tags: readonly string[];
}

/** Whether an entry meets the conditions: those about checks if one of its checks does. */
export function matches(
  entry: Entry,
  { state, search, checkId, groupId, tag, location }: EntryFilter,
  places: ReadonlyMap<string, CheckPlace>,
): boolean {
  const { name, members, locations } = entry;
  if (state !== undefined && stateOf(entry) !== state) return false;
  if (location !== undefined && !locations.includes(location)) return false;
  if (search !== undefined) {
    const wanted = search.toLowerCase();
    const names = [name, ...members.map((member) => member.name)];
    if (!names.some((one) => one.toLowerCase().includes(wanted))) return false;
  }
  if (checkId === undefined && groupId === undefined && tag === undefined) return true;
  return members.some((member) => {
    const place = places.get(member.checkId);
    if (checkId !== undefined && member.checkId !== checkId) return false;
    if (groupId !== undefined && place?.groupId !== groupId) return false;
    return tag === undefined || place?.tags.includes(tag) === true;
  });
}

type AlertTypes = readonly AlertRow['alert_type'][];

const typesOfChecks: AlertTypes = [
  ...(['ALERT_DEGRADED', 'ALERT_FAILURE', 'ALERT_DEGRADED_REMAIN', 'ALERT_DEGRADED_RECOVERY'] as const),
  ...([
    'ALERT_DEGRADED_FAILURE',
    'ALERT_FAILURE_REMAIN',
    'ALERT_FAILURE_DEGRADED',
    'ALERT_RECOVERY',
  ] as const),
  ...(['ALERT_FLAPPING', 'ALERT_ENDED'] as const),
];

/** Types of the alerts about an entry. */
export const typesByKind: Readonly<Record<Entry['kind'], AlertTypes>> = {
  CAUSE: typesOfChecks,
  CHECK: typesOfChecks,
  GAP: ['ALERT_GAP', 'ALERT_GAP_OVER'],
  LOCATION: [
    'ALERT_LOCATION_AWAY',
    'ALERT_LOCATION_BACK',
    'ALERT_LOCATION_SICK',
    'ALERT_LOCATION_WELL',
    'ALERT_LOCATION_OUTDATED',
    'ALERT_LOCATION_CURRENT',
  ],
  ERROR_BUDGET: ['ALERT_SLO_BURN', 'ALERT_SLO_BURN_OVER'],
};
