import { createLogger } from '@picket/lib/log.ts';
import { allScheduleParts } from '@picket/platform/store/engine/schedule-parts.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import type { Store } from '@picket/platform/store/store.ts';
import { expect, it } from 'vitest';
import type { Check } from '../checks/store.ts';
import { notPlanned } from '../checks/timing/slot-state.ts';
import { gridOf, nextSlotAfter } from '../checks/timing/slots.ts';
import { Scheduler, type SchedulerOptions } from './scheduler.ts';

const now = Date.UTC(2026, 0, 1);
const check = {
  ...{ id: 'c', activated: true, checkType: 'TCP' },
  definition: { frequency: 60, frequencyOffset: 1, privateLocations: ['lab'] },
} as unknown as Check;
const due: Check = { ...check, slots: { ...notPlanned, nextSlotAt: now } };

/** A scheduler whose store has these checks; unless stated otherwise, the next slot is due in a millisecond. */
function schedulerOf(checks: {
  readonly due?: readonly Check[];
  readonly ahead?: () => readonly Check[];
  /** Checks whose slots are taken before they are due. */
  readonly early?: readonly Check[];
  readonly nextSlotAt?: number;
}): Scheduler {
  const repositories = {
    checks: {
      due: async () => checks.due ?? [],
      dueWithin: async () => checks.early ?? [],
      ahead: async () => checks.ahead?.() ?? [],
      setPlannedSlots: async () => undefined,
      nextSlotAt: async () => checks.nextSlotAt ?? now + 1,
    },
    runs: { cutFutureMissed: async () => undefined, insert: async () => [] },
    locations: { idsBySlug: async () => new Map() },
    windows: { ofAccountsWithin: async () => [] },
    maintenances: { changes: async () => new Map() },
    groups: { findMany: async () => new Map() },
  } as unknown as Repositories;
  const store = {
    scheduleTransaction: (work: (on: Repositories, parts: readonly number[]) => Promise<unknown>) =>
      work(repositories, allScheduleParts),
    signals: { send: () => undefined },
  } as unknown as Store;
  return new Scheduler({
    store,
    clock: { wallMs: () => now, monotonicMs: () => 0 } as SchedulerOptions['clock'],
    logger: createLogger('test', 'silent'),
    metrics: {} as SchedulerOptions['metrics'],
    recordAgentless: async () => false,
  });
}

it('continues if checks stay as far ahead as they were', async () => {
  let looks = 0;
  const slots = { ...notPlanned, nextSlotAt: nextSlotAfter(gridOf(check), now) };
  const scheduler = schedulerOf({
    ahead: () => {
      looks += 1;
      if (looks > 2) throw new Error('looks for ever');
      return Array.from({ length: 500 }, () => ({ ...check, slots }));
    },
  });
  expect(await scheduler.turn()).toBe(now + 1);
  expect(looks).toBe(1);
});

it('lets checks that become due soon after others share a turn', async () => {
  expect(await schedulerOf({ due: [due] }).turn()).toBe(now + 100);
});

it('takes more checks at once if there are more', async () => {
  expect(await schedulerOf({ due: Array.from({ length: 60 }, () => due) }).turn()).toBe(now);
});

it('takes the slots of the next second at once, in time for an agent to have them', async () => {
  const early = { ...check, slots: { ...notPlanned, nextSlotAt: nextSlotAfter(gridOf(check), now) } };
  expect(await schedulerOf({ early: [early], nextSlotAt: now + 10_000 }).turn()).toBe(now + 9_500);
  expect(await schedulerOf({ early: [early], nextSlotAt: now + 1_501 }).turn()).toBe(now + 1_001);
});

it('comes back at the time of a slot that it left, and for the next second at the latest', async () => {
  expect(await schedulerOf({ nextSlotAt: now + 700 }).turn()).toBe(now + 700);
  expect(await schedulerOf({ nextSlotAt: now + 1_400 }).turn()).toBe(now + 1_000);
});
