import type { CheckType } from '@picket/checks/contract/check-type.ts';
import type { ActiveHours } from '@picket/checks/contract/definition/active-hours.ts';
import { completeDefinition } from '@picket/checks/contract/definition/definition.ts';
import { isRecord } from '@picket/lib/json/record.ts';
import type { Warning } from '../http/warning.ts';

type Definition = Readonly<Record<string, unknown>>;

/**
 * Returns warnings for settings of the times of runs that another setting of the same check outweighs: they are
 * accepted and never used.
 */
export function outweighedSettings(type: CheckType, definition: Definition): Warning[] {
  // Checks that no agent runs accept none of these settings.
  if (type.pings) return [];
  const { schedule, frequency, activeHours } = definition;
  const usual = completeDefinition(type, {})['frequency'];
  const isUnused = isRecord(schedule) && frequency !== undefined && frequency !== usual;
  const why = `the check runs at the times of "schedule". Leave it out, or set it to its default, ${usual}.`;
  return [...(isUnused ? [noEffect('frequency', why)] : []), ...outweighedHours(activeHours)];
}

/** Returns the same for parts of active hours, of a check or of a group. */
export function outweighedHours(hours: unknown): Warning[] {
  if (!isRecord(hours)) return [];
  const { mode, windows = [] } = hours as Partial<ActiveHours>;
  if (mode !== 'PAUSE' || windows.length > 0) return [];
  const why =
    'without windows the hours are all times except the holidays. Leave it out, or name the windows in which nothing runs.';
  return [noEffect('activeHours.mode', why)];
}

/** The warning for a setting that is never used. */
export function noEffect(field: string, reasonAndFix: string): Warning {
  return { code: 'NO_EFFECT', field, message: `"${field}" has no effect: ${reasonAndFix}` };
}
