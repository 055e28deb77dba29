import { z } from 'zod';

/** Fields in responses of a resource that a project's deployments manage. */
export const ManagedFields = {
  project: z
    .object({ logicalId: z.string(), name: z.string() })
    .optional()
    .describe(
      'The project whose deployments write it, and overwrite what is changed otherwise; absent: none',
    ),
  logicalId: z.string().optional().describe('Its name in that project'),
};
