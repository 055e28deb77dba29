import { z } from 'zod';
import { isCredentials, natsServers } from './nats-servers.ts';

/** Settings of the bus on which service processes notify each other of work, in place of the database. */
export const natsSettings = {
  NATS_URL: z
    .string()
    .superRefine((text, context) => {
      const { problem } = natsServers(text);
      if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
    })
    .optional()
    .meta({ secret: true, defaultText: 'none: PostgreSQL does that' })
    .describe(
      'NATS servers over which service processes on PostgreSQL wake each other, such as `nats://user:password@nats:4222`, `nats://token@nats` or `tls://a,tls://b`. All processes need the same',
    ),
  NATS_CREDENTIALS: z
    .string()
    .refine(isCredentials, 'must be the content of a .creds file: a JWT and the seed of its key')
    .optional()
    .meta({ secret: true, defaultText: 'none' })
    .describe(
      'Credentials for them instead of those in the URL: the content of a `.creds` file. NATS_CREDENTIALS_FILE names the file',
    ),
};
