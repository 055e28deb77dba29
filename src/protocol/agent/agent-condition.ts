import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';

const bytes = z.number().min(0).max(Number.MAX_SAFE_INTEGER);
const count = z.int().min(0).max(1_000_000_000);

/** Load of an agent and of its host, as it reports it in claims. */
export const AgentCondition = lazySchema(() =>
  z
    .object({
      cpuPercent: z
        .number()
        .min(0)
        .max(1_000_000)
        .nullable()
        .describe(
          'Processor time of its process since an earlier claim, in percent of one core; null in its first second',
        ),
      hostLoad: z.number().min(0).max(1_000_000).describe('Load average of the host over one minute'),
      hostCores: count,
      memoryBytes: bytes.describe('Resident memory of its process'),
      memoryFreeBytes: bytes.describe('Memory that is still available to it'),
      memoryLimitBytes: bytes.describe('Memory limit of its container, or the memory of the host'),
      lanes: z
        .record(z.string().max(64), z.object({ size: count, running: count, queued: count }))
        .refine((lanes) => Object.keys(lanes).length <= 10, { error: 'must have at most 10 entries' }),
      spool: z.object({
        results: count.describe('Results that wait for the service'),
        sizeBytes: bytes,
        maxBytes: bytes,
        problem: z
          .string()
          .max(300)
          .nullable()
          .describe('Why results are kept in memory only; null if they are not'),
      }),
    })
    .meta({ id: 'AgentCondition' }),
);
export type AgentCondition = z.output<typeof AgentCondition.schema>;
