import { z } from 'zod';

/** Permissions of an API key or a member. */
export const Role = z
  .enum(['ADMIN', 'READ_WRITE', 'READ_RUN', 'READ_ONLY'])
  .describe(
    'READ_ONLY: read; READ_RUN: also run checks; READ_WRITE: also write; ADMIN: also manage members and keys',
  );
export type Role = z.output<typeof Role>;
