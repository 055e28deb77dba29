import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { AddressesField } from '../addresses/fields.ts';
import { thresholdMs } from '../contract/definition/common-fields.ts';
import { IpFamilyField } from '../contract/ip-family.ts';
import { HostnameField, ServerName } from '../contract/target.ts';
import { SslAssertion } from './assertions.ts';
import { SecurityBaseline } from './baseline-spec.ts';

export const startTlsProtocols = ['smtp', 'imap', 'pop3', 'ldap', 'postgres', 'mysql', 'xmpp'] as const;

const days = z.int().min(0).max(365).nullable();

/** An SSL monitor: one handshake, with its certificates and TLS parameters. */
export const SslSpec = lazySchema(() =>
  z.object({
    shouldFail: z.boolean().default(false),
    request: z.object({
      sslConfig: z
        .object({
          hostname: HostnameField,
          port: z.int().min(1).max(65_535).default(443),
          ipFamily: IpFamilyField,
          addresses: AddressesField,
          serverName: ServerName,
          startTls: z
            .enum(startTlsProtocols)
            .nullable()
            .default(null)
            .describe('STARTTLS protocol of the target; null: TLS from the first byte'),
          alpnProtocols: z
            .array(z.string().min(1).max(255))
            .max(10)
            .default([])
            .describe('ALPN protocols to offer, the preferred one first, such as h2'),
          skipChainValidation: z
            .boolean()
            .default(false)
            .describe(
              'Accept a chain that is not signed by a trusted authority; names, dates and the baseline are still verified',
            ),
          handshakeTimeoutMs: z
            .int()
            .min(1000)
            .max(30_000)
            .default(10_000)
            .describe('Timeout of the whole run'),
          alertDaysBeforeExpiry: days
            .default(20)
            .describe('Degraded when a certificate expires within this many days; null: never'),
          failDaysBeforeExpiry: days
            .default(null)
            .describe('Failed when a certificate expires within this many days; null: when it has expired'),
          clientCertificateMode: z
            .enum(['auto'], {
              error: 'must be "auto" or null: client certificates are chosen by their host here',
            })
            .nullable()
            .default(null)
            .describe(
              'auto: presents the client certificate of the account for this host; null: no client certificate',
            ),
          securityBaseline: SecurityBaseline.schema,
        })
        .refine(
          ({ alertDaysBeforeExpiry: alert, failDaysBeforeExpiry: fail }) =>
            alert === null || fail === null || fail <= alert,
          { path: ['failDaysBeforeExpiry'], error: 'must not be more than alertDaysBeforeExpiry' },
        ),
      assertions: z.array(SslAssertion.schema).default([]),
    }),
    degradedResponseTime: thresholdMs({ defaultMs: 3000, maxMs: 30_000 }),
    maxResponseTime: thresholdMs({ defaultMs: 10_000, maxMs: 30_000 }),
  }),
);
export type SslSpec = z.output<typeof SslSpec.schema>;
export type SslConfig = SslSpec['request']['sslConfig'];
