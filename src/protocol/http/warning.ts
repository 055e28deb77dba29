import { z } from 'zod';

/** Why something that was accepted has no effect as things are. */
export const Warning = z
  .object({
    code: z
      .enum([
        'NO_LOCATION',
        'NO_AGENT',
        'UNSUPPORTED',
        'NO_EFFECT',
        'NO_SUBSCRIBER',
        'NOT_DELIVERED',
        'GROUP_CHANNELS',
      ])
      .describe('Stable, for programs'),
    message: z.string().describe('What has no effect, why, and what to do'),
  })
  .meta({ id: 'Warning' });
export type Warning = z.output<typeof Warning>;
