import { lanes } from '@picket/checks/contract/check-type.ts';
import { z } from 'zod';

/** Numbers of runs that an agent takes, by lane. */
export const LaneSlots = z.object(
  Object.fromEntries(lanes.map((lane) => [lane, z.int().min(0).max(1000).default(0)])) as Record<
    (typeof lanes)[number],
    z.ZodDefault<z.ZodInt>
  >,
);

/** Longest time before its slot at which an agent may have a run, in milliseconds. */
export const longestAheadMs = 2_000;

/** Fields of a claim for runs that are not due yet. */
export const ClaimedAhead = {
  aheadMs: z
    .int()
    .min(0)
    .max(longestAheadMs)
    .default(0)
    .describe('How long before their slots the agent takes scheduled runs; it starts each at its slot'),
  aheadSlots: LaneSlots.default(() => LaneSlots.parse({})).describe(
    'How many such runs of each lane the agent takes',
  ),
};
