import { z } from 'zod';

/** Fields in responses of a resource that a project's deployments manage. */
export const ManagedFields = {
  project: z
    .object({ logicalId: z.string(), name: z.string() })
    .optional()
    .describe(
      'The project that manages the resource: its deployments overwrite other changes; absent: not managed by a project',
    ),
  logicalId: z.string().optional().describe('Name of the resource in that project'),
};
