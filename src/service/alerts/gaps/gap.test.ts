import { AlertSettings } from '@picket/checks/contract/definition/common-fields.ts';
import { slotReasons } from '@picket/protocol/runs/slot.ts';
import { expect, it } from 'vitest';
import { gapText, isDue, isGapReason, type Miss, opensAt, type Unmeasured, withMiss } from './gap.ts';

const minuteMs = 60_000;
const settings = AlertSettings.parse({ monitoringGap: { slots: 3, minutes: 15 } });
const miss = (slotAt: number, fields: Partial<Miss> = {}): Miss => ({
  accountId: 'a',
  checkId: 'c',
  checkType: 'URL',
  location: 'lab',
  locationId: 'l',
  slotAt,
  slots: 1,
  reason: 'over-capacity',
  error: null,
  ...fields,
});
const after = (...misses: Miss[]) => misses.reduce<Unmeasured | undefined>(withMiss, undefined) as Unmeasured;

it('opens after as many consecutive slots as configured', () => {
  const two = after(miss(0), miss(minuteMs));
  expect(isDue(two, settings, 2 * minuteMs)).toBe(false);
  expect(isDue(withMiss(two, miss(2 * minuteMs)), settings, 3 * minuteMs)).toBe(true);
  expect(isDue(after(miss(0, { slots: 3 })), settings, 1)).toBe(true);
});

it('opens as many minutes after the first slot as configured, and never if it is disabled', () => {
  const one = after(miss(5));
  expect(opensAt(one, settings)).toBe(5 + 15 * minuteMs);
  expect(isDue(one, settings, 4 + 15 * minuteMs)).toBe(false);
  expect(isDue(one, settings, 5 + 15 * minuteMs)).toBe(true);
  const off = AlertSettings.parse({ monitoringGap: { enabled: false } });
  expect(isDue(after(miss(0, { slots: 99 })), off, 1e9)).toBe(false);
});

it('has one cause if there are too few agents, and another if a type or a check is at fault', () => {
  const cause = (fields: Partial<Miss>) => after(miss(0, fields)).cause;
  expect(
    new Set((['no-agent', 'over-capacity', 'expired'] as const).map((reason) => cause({ reason }))),
  ).toEqual(new Set(['agents']));
  expect(cause({ reason: 'agent-lost', checkId: 'x' })).not.toBe(cause({ reason: 'agent-lost' }));
  expect(cause({ reason: 'unsupported', checkType: 'BROWSER' })).not.toBe(cause({ reason: 'unsupported' }));
  const error = (code: string) => cause({ reason: 'error', error: { code, message: 'x' } });
  expect(error('A')).not.toBe(error('B'));
});

it('stays in its group once it is open', () => {
  const open = { ...after(miss(0)), openedAt: 1 };
  expect(withMiss(open, miss(1, { reason: 'unsupported' }))).toMatchObject({
    cause: 'agents',
    reason: 'unsupported',
    openedAt: 1,
  });
});

it('states its start, its reason, and the remedy', () => {
  expect(gapText(after(miss(0), miss(minuteMs)))).toBe(
    `Not measured at lab since 1970-01-01T00:00:00.000Z (2 slots). ${slotReasons['over-capacity']}`,
  );
  const broken = after(miss(0, { reason: 'error', error: { code: 'X', message: 'EMFILE' } }));
  expect(gapText(broken)).toContain('not of the target (EMFILE). Look at the log of the agent');
});

it('leaves out intended gaps, and gaps that are notified for all checks at once', () => {
  expect(Object.keys(slotReasons).filter((reason) => !isGapReason(reason))).toEqual([
    'service-away',
    'paused-by-maintenance',
    'deactivated',
    'deleted',
    'location-removed',
    'location-deleted',
  ]);
});
