import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';

/** States of a check, the worst first. */
export const checkStates = [
  'failing',
  'not-judged',
  'not-measured',
  'degraded',
  'pending',
  'passing',
  'paused',
] as const;

export const CheckState = lazySchema(() =>
  z
    .enum(checkStates)
    .describe(
      'failing, degraded, passing: what its newest run said of the target. not-judged: that run ended by a fault of the monitoring itself. ' +
        'not-measured: two slots in a row were not measured, and twice the interval has passed since the last one that was. ' +
        'pending: it has not run yet. paused: it or its group is switched off, or a maintenance window pauses it',
    )
    .meta({ id: 'CheckState' }),
);
export type CheckState = z.output<typeof CheckState.schema>;

/** Whether a state reflects a current measurement of the target. */
export function isMeasured(state: CheckState): boolean {
  return state === 'passing' || state === 'degraded' || state === 'failing';
}

/** Returns the worst state of several checks. Paused checks do not count. */
export function worstOf(states: readonly CheckState[]): CheckState {
  return checkStates.find((state) => states.includes(state)) ?? 'pending';
}
