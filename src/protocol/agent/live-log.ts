import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { EpochMs } from '../http/query.ts';
import { defineRoutes } from '../http/route.ts';
import { AgentIdentity } from './agent.ts';
import { FollowedRunIds } from './followed-run-ids.ts';

/** Longest line, in characters: the 4,096 of a run's log, and room for masks longer than what they replace. */
export const maxLiveLineLength = 8192;
/** Most lines of one run in one request. */
export const maxLiveLinesPerCall = 200;
/** The log of a run has at most 500 lines. */
export const maxLiveLines = 500;

/** A line of the log of a run that goes on. */
export const LiveLine = lazySchema(() =>
  z
    .object({
      time: EpochMs,
      level: z.enum(['DEBUG', 'INFO', 'WARN', 'ERROR']),
      msg: z.string().max(maxLiveLineLength),
    })
    .meta({ id: 'LiveLine' }),
);
export type LiveLine = z.output<typeof LiveLine.schema>;

/** The next lines of one run. */
export const LiveLines = lazySchema(() =>
  z
    .object({
      runId: z.uuid(),
      leaseNumber: z.int().min(1),
      firstLine: z.int().min(0).max(maxLiveLines).describe('Index of the first of these lines, from 0'),
      lines: z.array(LiveLine.schema).max(maxLiveLinesPerCall),
      isFull: z
        .boolean()
        .default(false)
        .describe('No more lines follow: the log is long, and the result has the rest'),
    })
    .meta({ id: 'LiveLines' }),
);
export type LiveLines = z.output<typeof LiveLines.schema>;

export const liveLogRoutes = defineRoutes('Agent protocol', 'location', {
  sendLiveLog: {
    method: 'POST',
    path: '/v1/agent/live-log',
    summary: 'Send lines of runs that someone follows; idempotent by run, lease and line',
    body: lazySchema(() =>
      z.object({ ...AgentIdentity, runs: z.array(LiveLines.schema).max(100) }).meta({ id: 'LiveLogRequest' }),
    ),
    bodyLimitBytes: 4 * 1024 * 1024,
    response: lazySchema(() => z.object({ serverTime: EpochMs, followedRunIds: FollowedRunIds })),
  },
});
