import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { hasTemplate } from '@picket/lib/text.ts';
import { z } from 'zod';
import { thresholdMs } from '../contract/definition/common-fields.ts';
import { RequestUrl } from '../contract/target.ts';
import { assertionSchema, valueComparisons } from '../judging/assertion.ts';
import { parseDomain } from './parse-domain.ts';

const days = z.int().min(0).max(3650).nullable();

/** The list of RDAP servers that IANA keeps (RFC 9224). */
export const ianaDirectory = 'https://data.iana.org/rdap/dns.json';

/** A domain monitor: asks the registry when the registration of a domain expires. */
export const DomainSpec = lazySchema(() =>
  z.object({
    shouldFail: z.boolean().default(false),
    request: z
      .object({
        domain: z
          .string()
          .min(1)
          .max(253)
          .refine((text) => hasTemplate(text) || parseDomain(text) !== undefined, {
            error: 'must be a registered domain such as example.com, without scheme and path',
          })
          .describe('The registered domain, without www or other hosts'),
        rdapServer: RequestUrl.nullable()
          .default(null)
          .describe('Base URL of the RDAP server of the registry; null: the one that rdapDirectory lists'),
        rdapDirectory: RequestUrl.default(ianaDirectory).describe(
          'List of RDAP servers by top-level domain (RFC 9224), for locations without access to the one of IANA',
        ),
        alertDaysBeforeExpiry: days
          .default(30)
          .describe('Degraded when the registration expires within this many days; null: never'),
        failDaysBeforeExpiry: days
          .default(7)
          .describe('Failed when the registration expires within this many days; null: when it has expired'),
        assertions: z
          .array(
            assertionSchema(
              ['DAYS_UNTIL_EXPIRY', 'REGISTRAR', 'STATUS', 'NAME_SERVERS', 'RESPONSE_TIME', 'JSON_RESPONSE'],
              valueComparisons,
            ),
          )
          .default([]),
      })
      .refine(
        ({ alertDaysBeforeExpiry: alert, failDaysBeforeExpiry: fail }) =>
          alert === null || fail === null || fail <= alert,
        { path: ['failDaysBeforeExpiry'], error: 'must not be more than alertDaysBeforeExpiry' },
      ),
    degradedResponseTime: thresholdMs({ defaultMs: null, maxMs: 30_000 }),
    maxResponseTime: thresholdMs({ defaultMs: null, maxMs: 30_000 }),
  }),
);
export type DomainSpec = z.output<typeof DomainSpec.schema>;
