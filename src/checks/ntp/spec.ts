import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { thresholdMs } from '../contract/definition/common-fields.ts';
import { IpFamilyField } from '../contract/ip-family.ts';
import { HostnameField } from '../contract/target.ts';
import { assertionSchema, valueComparisons } from '../judging/assertion.ts';

const offsetMs = (defaultMs: number) => thresholdMs({ defaultMs, maxMs: 86_400_000 });

/** An NTP monitor: asks a time server, and compares its clock with that of the agent. */
export const NtpSpec = lazySchema(() =>
  z
    .object({
      shouldFail: z.boolean().default(false),
      request: z.object({
        hostname: HostnameField,
        port: z.int().min(1).max(65_535).default(123),
        ipFamily: IpFamilyField,
        attempts: z.int().min(1).max(5).default(3).describe('Number of requests until an answer arrives'),
        attemptTimeoutMs: z
          .int()
          .min(100)
          .max(5000)
          .default(1000)
          .describe('Timeout of each request in milliseconds'),
        assertions: z
          .array(assertionSchema(['OFFSET', 'STRATUM', 'RESPONSE_TIME', 'JSON_RESPONSE'], valueComparisons))
          .default([]),
      }),
      degradedOffsetMs: offsetMs(100).describe(
        'Degraded when the clocks differ by more milliseconds, in whichever direction; null: never',
      ),
      maxOffsetMs: offsetMs(1000).describe('Failed when the clocks differ by more milliseconds; null: never'),
      degradedResponseTime: thresholdMs({ defaultMs: 3000, maxMs: 25_000 }),
      maxResponseTime: thresholdMs({ defaultMs: 5000, maxMs: 25_000 }),
    })
    .superRefine(({ degradedOffsetMs, maxOffsetMs }, context) => {
      if (degradedOffsetMs === null || maxOffsetMs === null || maxOffsetMs >= degradedOffsetMs) return;
      const message = `must be at least degradedOffsetMs (${degradedOffsetMs})`;
      context.addIssue({ code: 'custom', path: ['maxOffsetMs'], message });
    }),
);
export type NtpSpec = z.output<typeof NtpSpec.schema>;
