import { type CheckState, checkStates } from '@picket/protocol/checks/check-state.ts';

/** The states of checks, as addresses and styles of pages name them. */
export const shownStates = {
  failing: 'failed',
  'not-judged': 'error',
  'not-measured': 'missed',
  degraded: 'degraded',
  pending: 'waiting',
  passing: 'passed',
  paused: 'off',
} as const satisfies Record<CheckState, string>;

/** In which state a check is, the worst first: the words of pages for `checkStates`. */
export const overviewStates = checkStates.map((state) => shownStates[state]);
export type OverviewState = (typeof shownStates)[CheckState];
