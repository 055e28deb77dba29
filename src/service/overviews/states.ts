import { type CheckState, checkStates } from '@picket/protocol/checks/check-state.ts';

/** Names of check states in URLs and styles of pages. */
export const shownStates = {
  failing: 'failed',
  'not-judged': 'error',
  'not-measured': 'missed',
  degraded: 'degraded',
  pending: 'waiting',
  passing: 'passed',
  paused: 'off',
} as const satisfies Record<CheckState, string>;

/** States of checks, worst first: the page's names for `checkStates`. */
export const overviewStates = checkStates.map((state) => shownStates[state]);
export type OverviewState = (typeof shownStates)[CheckState];
