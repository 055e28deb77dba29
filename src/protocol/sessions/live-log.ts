import { checkTypeNames } from '@picket/checks/index.ts';
import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { LiveLine } from '../agent/live-log.ts';
import { defineRoutes } from '../http/route.ts';

const LiveLog = lazySchema(() =>
  z
    .object({
      runs: z
        .array(
          z.object({
            sequenceId: z.string(),
            checkId: z.string(),
            checkType: z.enum(checkTypeNames),
            runLocation: z.string(),
            attempt: z.int().min(0).describe('0 for the first attempt'),
            isFollowed: z
              .boolean()
              .describe(
                'Whether its agent is to send lines; false for types other than multi-step, browser and Playwright, and beyond 20 followed runs of an account',
              ),
            isFull: z
              .boolean()
              .describe(
                'Whether the agent sends no more lines of this attempt: its log is long, and the result has the rest',
              ),
            lines: z
              .array(LiveLine.schema)
              .describe('The log of the running attempt so far, from its first line'),
          }),
        )
        .describe('Runs that an agent has at present'),
    })
    .meta({ id: 'LiveLog' }),
);
export type LiveLog = z.output<typeof LiveLog.schema>;
export type LiveLogRun = LiveLog['runs'][number];

const params = z.object({ id: z.uuid() });

/** Logs of runs that go on: to ask for one is to follow it for the next seconds. */
export const followedLogRoutes = {
  ...defineRoutes('Check sessions', 'account', {
    getCheckSessionLiveLog: {
      method: 'GET',
      path: '/v1/check-sessions/{id}/live-log',
      summary: 'Logs of the running attempts of a check session; agents send them while someone asks',
      params,
      response: LiveLog,
    },
  }),
  ...defineRoutes('Test sessions', 'account', {
    getTestSessionLiveLog: {
      method: 'GET',
      path: '/v1/test-sessions/{id}/live-log',
      summary: 'Logs of the running attempts of a test session; agents send them while someone asks',
      params,
      response: LiveLog,
    },
  }),
};
