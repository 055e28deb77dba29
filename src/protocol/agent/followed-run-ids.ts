import { z } from 'zod';

/** Ids of runs whose log someone reads at present, in answers to agents. */
export const FollowedRunIds = z
  .array(z.uuid())
  .default([])
  .describe('Runs whose log someone reads now: send its lines while the run goes');
