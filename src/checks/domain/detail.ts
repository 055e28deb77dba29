import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { JobLog } from '../http/detail.ts';
import { EvaluatedAssertion } from '../judging/assertion.ts';

/** Data of a registry or a registrar about a domain (RFC 9083). */
export const DomainRegistration = lazySchema(() =>
  z
    .object({
      domain: z.string(),
      expiresAt: z.string().nullable(),
      registeredAt: z.string().nullable(),
      changedAt: z.string().nullable(),
      registrar: z.string().nullable(),
      /** Such as `client transfer prohibited`. */
      statuses: z.array(z.string()),
      nameServers: z.array(z.string()),
      /** Whether the delegation is signed (DNSSEC); null if the answer does not say. */
      isSigned: z.boolean().nullable(),
    })
    .meta({ id: 'DomainRegistration' }),
);
export type DomainRegistration = z.infer<typeof DomainRegistration.schema>;

/** Result of a run of a domain monitor, shown as `domainCheckResult`. */
export const DomainDetail = lazySchema(() =>
  z
    .object({
      assertions: z.array(EvaluatedAssertion),
      request: z.object({
        domain: z.string(),
        /** URL of the last request; null if no server is known. */
        url: z.string().nullable(),
      }),
      /** Null without an answer. */
      response: z
        .object({
          /** HTTP status of the last answer. */
          status: z.int(),
          /** Who gave the expiry date: a registry may leave it to the registrar. */
          source: z.enum(['registry', 'registrar']),
          /** When the answer was given, if it is an earlier one because the server gave none this time. */
          answeredAt: z.string().nullable(),
          /** Null if the domain is not registered. */
          registration: DomainRegistration.schema.nullable(),
          /** Whole days; negative once it has expired. */
          daysUntilExpiry: z.int().nullable(),
        })
        .nullable(),
      /** Why the run is degraded, apart from its time. */
      degradedReasons: z.array(z.string()),
      requestError: z.string().nullable(),
      jobLog: JobLog.schema,
    })
    .meta({ id: 'DomainCheckDetail' }),
);
export type DomainDetail = z.infer<typeof DomainDetail.schema>;
