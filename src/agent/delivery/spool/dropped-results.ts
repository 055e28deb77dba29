import type { SpoolState } from './spool.ts';

/** Why results were dropped unsent: for want of room on disk, because they grew too old, or in memory. */
export type DropKind = 'attempts' | 'finals' | 'expired' | 'other';

/** How many results were dropped unsent since the agent began, by the reason. */
export function droppedResults({ facts, droppedCount }: SpoolState): Record<DropKind, number> {
  return {
    attempts: facts?.losses.attempts ?? 0,
    finals: facts?.losses.finals ?? 0,
    expired: facts?.losses.expired ?? 0,
    other: droppedCount,
  };
}
