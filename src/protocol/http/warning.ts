import { z } from 'zod';

/** Why something that was accepted currently has no effect, or less than it seems to have. */
export const Warning = z
  .object({
    code: z
      .enum([
        'NO_LOCATION',
        'NO_AGENT',
        'UNSUPPORTED',
        'NEVER_DUE',
        'NO_EFFECT',
        'NO_SUBSCRIBER',
        'NOT_DELIVERED',
        'GROUP_CHANNELS',
        'NOT_MASKED',
        'NOT_SIGNED',
      ])
      .describe('Stable, for programs'),
    field: z.string().optional().describe('The field concerned, if any'),
    message: z.string().describe('The setting without effect, the reason and a fix'),
  })
  .meta({ id: 'Warning' });
export type Warning = z.output<typeof Warning>;
