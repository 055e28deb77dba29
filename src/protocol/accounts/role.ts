import { z } from 'zod';

/** What an API key or a member may do. */
export const Role = z
  .enum(['ADMIN', 'READ_WRITE', 'READ_RUN', 'READ_ONLY'])
  .describe(
    'READ_ONLY: see; READ_RUN: run checks too; READ_WRITE: change things too; ADMIN: people and keys',
  );
export type Role = z.output<typeof Role>;
