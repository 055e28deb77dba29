import { findCheckType } from '@picket/checks/index.ts';
import { noEffect, outweighedSettings } from '@picket/protocol/checks/outweighed.ts';
import type { Warning } from '@picket/protocol/http/warning.ts';
import { completeGroup } from '../effective-check.ts';
import type { CheckGroup } from '../groups/store.ts';
import type { Check } from '../store.ts';
import { defaultOffset } from '../timing/slots.ts';

/** Whether the group of a check may outweigh one of its settings. Other checks need no group for their warnings. */
export function mayBeOutweighed({ groupId, definition }: Pick<Check, 'groupId' | 'definition'>): boolean {
  return groupId !== null && (definition.activeHours ?? null) !== null;
}

/** Warnings for settings of the times of a check's runs that others of it, or its group, outweigh. */
export function outweighedWarnings(
  check: Pick<Check, 'id' | 'accountId' | 'checkType' | 'definition'>,
  group: CheckGroup | undefined,
): Warning[] {
  const { id, accountId, checkType, definition } = check;
  const type = findCheckType(checkType);
  if (!type || type.pings) return [];
  const ofGroup = group?.accountId === accountId ? completeGroup(group).activeHours : null;
  const warnings = outweighedSettings(type, ofGroup ? { ...definition, activeHours: null } : definition);
  const { schedule, frequency, frequencyOffset, frequencyWhileFailing, activeHours } = definition;
  // The offset also places the slots of a failing check, and the service chooses one with each frequency.
  const isOffsetUnused =
    (schedule ?? null) !== null &&
    (frequencyWhileFailing ?? null) === null &&
    (frequencyOffset ?? null) !== null &&
    frequencyOffset !== defaultOffset(id, frequency as number) &&
    warnings.every(({ field }) => field !== 'frequency');
  if (isOffsetUnused) {
    const why = 'the check runs at the times of "schedule". Leave it out.';
    warnings.push(noEffect('frequencyOffset', why));
  }
  if (ofGroup && (activeHours ?? null) !== null) {
    const why = `the hours of its group ${JSON.stringify(group?.definition.name)} apply to all checks of the group. Leave it out here or there.`;
    warnings.push(noEffect('activeHours', why));
  }
  return warnings;
}
