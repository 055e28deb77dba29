import type { AlertSettings } from '@picket/checks/contract/definition/common-fields.ts';
import { type SlotReason, slotReasons } from '@picket/protocol/runs/slot.ts';
import type { RunRow } from '../../runs/tables.ts';

/**
 * Monitoring gaps. A slot of a check at a location that was missed, or whose run ended with an error on our side, says
 * nothing about the target. Consecutive slots without a measurement form a gap; it opens after the number of slots, or
 * of minutes since the first was due, in the alert settings, and ends with the next measurement there.
 *
 * Not every slot counts. Slots that a maintenance window pauses are intended. If a location has no agents or is
 * unhealthy, an alert of the location already reports it; and slots that passed while the service itself was away are
 * notified as a whole (agentless.ts). Whether a location has no agents is known only after two minutes: a gap for lack
 * of an agent waits that long, however often the check runs, so that an agent that dies causes no additional message.
 *
 * Gaps of one cause at one location form one group: each channel is notified of it once, and once when all of it is
 * over.
 */
export type GapReason =
  | Extract<SlotReason, 'no-agent' | 'over-capacity' | 'expired' | 'agent-lost' | 'unsupported'>
  | 'error';

/** Consecutive slots of one check at one location that were not measured. */
export interface Miss {
  readonly accountId: string;
  readonly checkId: string;
  readonly checkType: string;
  readonly location: string;
  /** Null for data-center regions. */
  readonly locationId: string | null;
  /** When the first of them was due, in epoch milliseconds. */
  readonly slotAt: number;
  readonly slots: number;
  readonly reason: GapReason;
  /** For an error on our side: its code and message. */
  readonly error: { readonly code: string; readonly message: string } | null;
}

/** Slots of a check at a location that were not measured since the last measurement. */
export interface Unmeasured {
  readonly accountId: string;
  readonly checkId: string;
  readonly location: string;
  readonly locationId: string | null;
  readonly cause: string;
  readonly reason: GapReason;
  readonly message: string | null;
  /** When the first slot was due, in epoch milliseconds. */
  readonly since: number;
  readonly slots: number;
  /** When time alone may open it or end what holds it back; null if time alone cannot. */
  readonly nextAt: number | null;
  /** When it opened; null while it is too short. */
  readonly openedAt: number | null;
}

const minuteMs = 60_000;
/** By then a location without agents is known to have none: after two minutes, with the next missed slot. */
const awayKnownMs = 3 * minuteMs;

/** The slots of a run as missed. */
export function missOf(
  run: Pick<
    RunRow,
    'account_id' | 'check_id' | 'check_type' | 'slot_location' | 'location_id' | 'slot_at' | 'slot_count'
  >,
  reason: GapReason,
  error: Miss['error'] = null,
): Miss {
  return {
    accountId: run.account_id,
    checkId: run.check_id,
    checkType: run.check_type,
    location: run.slot_location,
    locationId: run.location_id,
    slotAt: run.slot_at,
    slots: run.slot_count,
    reason,
    error,
  };
}

/** Reasons of missed slots that count toward a gap. */
export function isGapReason(reason: string): reason is GapReason {
  return ['no-agent', 'over-capacity', 'expired', 'agent-lost', 'unsupported', 'error'].includes(reason);
}

/** Adds a miss to the known state. */
export function withMiss(known: Unmeasured | undefined, miss: Miss): Unmeasured {
  const { accountId, checkId, location, locationId, reason, error } = miss;
  return {
    accountId,
    checkId,
    location,
    locationId,
    reason,
    message: error?.message ?? null,
    since: known?.since ?? miss.slotAt,
    slots: (known?.slots ?? 0) + miss.slots,
    nextAt: known?.nextAt ?? null,
    openedAt: known?.openedAt ?? null,
    // An open gap stays in its group.
    cause: known && known.openedAt !== null ? known.cause : causeOf(miss),
  };
}

/** Key of the cause that gaps at one location may share. */
function causeOf({ reason, checkId, checkType, error }: Miss): string {
  switch (reason) {
    case 'unsupported':
      return `unsupported ${checkType}`;
    case 'agent-lost':
      return `agent-lost ${checkId}`;
    case 'error':
      return `error ${error?.code ?? ''}`;
    case 'no-agent':
    case 'over-capacity':
    case 'expired':
      return 'agents';
  }
}

/** When a gap opens by time alone, in epoch milliseconds. */
export function opensAt({ since }: Unmeasured, { monitoringGap }: AlertSettings): number {
  return since + monitoringGap.minutes * minuteMs;
}

export function isDue(gap: Unmeasured, settings: AlertSettings, now: number): boolean {
  const { enabled, slots } = settings.monitoringGap;
  return enabled && (gap.slots >= slots || now >= opensAt(gap, settings));
}

/** Until when the location may turn out to have no agents; null if that does not apply. */
export function mayBeAwayUntil({ reason, locationId, since }: Unmeasured): number | null {
  return reason === 'no-agent' && locationId !== null ? since + awayKnownMs : null;
}

/** Why nothing is measured, and what to do about it. */
export function explanationOf({ reason, message }: Pick<Unmeasured, 'reason' | 'message'>): string {
  if (reason !== 'error') return slotReasons[reason];
  const what = message === null ? '' : ` (${message})`;
  return `Its runs end with an error of the agent or the location, not of the target${what}. Look at the log of the agent, and run \`picket doctor\` there.`;
}

/** A gap in words, for notifications. */
export function gapText(gap: Unmeasured): string {
  const slots = `${gap.slots} slot${gap.slots === 1 ? '' : 's'}`;
  return `Not measured at ${gap.location} since ${new Date(gap.since).toISOString()} (${slots}). ${explanationOf(gap)}`;
}
