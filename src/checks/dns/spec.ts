import { dnsClassNames, recordTypes, typesOfAnyClass } from '@picket/lib/dns-record-type.ts';
import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { hasTemplate } from '@picket/lib/text.ts';
import { z } from 'zod';
import { thresholdMs } from '../contract/definition/common-fields.ts';
import { assertionSchema, comparisons } from '../judging/assertion.ts';
import { namedServer } from './named-server.ts';

/** UDP and TCP as in the check model 1.5; TLS (RFC 7858) and HTTPS (RFC 8484) in addition. */
export const dnsProtocols = ['UDP', 'TCP', 'DOT', 'DOH'] as const;

/** Most name servers that a run asks. */
const maxNameServers = 8;

const DnsRequest = lazySchema(() =>
  z
    .object({
      query: z.string().min(1).max(100).describe('Name to look up; PTR also accepts an address'),
      recordType: z.enum(recordTypes),
      recordClass: z
        .enum(dnsClassNames)
        .default('IN')
        .describe('CH: data about name servers, such as version.bind; HS: Hesiod'),
      nameServer: z
        .string()
        .min(1)
        .max(100)
        .nullable()
        .default(null)
        .describe('Name or address of a name server; null: the resolver of the location. Needs port'),
      port: z.int().min(1).max(65_535).nullable().default(null).describe('Needs nameServer'),
      nameServers: z
        .array(z.string().min(1).max(255))
        .max(maxNameServers)
        .default([])
        .describe(
          'Several name servers instead of nameServer, all asked at the same time; each a name or address, with a port if it is not the one of the protocol',
        ),
      serversToPass: z
        .enum(['EVERY', 'ANY'])
        .default('EVERY')
        .describe(
          'With nameServers: EVERY: each of them has to answer as the check expects; ANY: one of them suffices',
        ),
      protocol: z.enum(dnsProtocols).default('UDP'),
      recursionDesired: z
        .boolean()
        .default(true)
        .describe('Whether to request recursion; false returns only data of the name server itself'),
      dnssecOk: z.boolean().default(false).describe('Whether to request DNSSEC signatures (DO)'),
      assertions: z
        .array(assertionSchema(['RESPONSE_CODE', 'RESPONSE_TIME', 'TEXT_ANSWER', 'JSON_ANSWER'], comparisons))
        .default([]),
    })
    .superRefine(
      ({ nameServer, nameServers, serversToPass, port, protocol, recordType, recordClass }, context) => {
        const issue = (field: string | readonly (string | number)[], message: string) =>
          context.addIssue({ code: 'custom', path: [field].flat(), message });
        if (recordClass !== 'IN' && !typesOfAnyClass.has(recordType)) {
          issue('recordClass', `has no records of the type ${recordType}`);
        }
        if (nameServer !== null && port === null) issue('port', 'is required with a nameServer');
        if (port !== null && nameServer === null) issue('nameServer', 'is required with a port');
        const isSecure = protocol === 'DOT' || protocol === 'DOH';
        if (nameServers.length > 0 && nameServer !== null) {
          issue('nameServers', 'cannot be set in addition to nameServer');
        }
        if (nameServers.length === 0 && serversToPass === 'ANY') issue('serversToPass', 'needs nameServers');
        for (const [index, written] of nameServers.entries()) {
          if (hasTemplate(written)) continue;
          if (!namedServer(written, protocol))
            issue(['nameServers', index], 'is neither a host name nor an IP address');
          else if (nameServers.indexOf(written) < index)
            issue(['nameServers', index], 'is in the list twice');
        }
        if (isSecure && nameServer === null && port === null && nameServers.length === 0) {
          issue('nameServer', `is required with the protocol ${protocol}`);
        }
      },
    ),
);

/** A DNS monitor: one query to one name server (check model 1.5), or the same one to several. */
export const DnsSpec = lazySchema(() =>
  z.object({
    shouldFail: z.boolean().default(false),
    request: DnsRequest.schema,
    degradedResponseTime: thresholdMs({ defaultMs: 500, maxMs: 5000 }),
    maxResponseTime: thresholdMs({ defaultMs: 1000, maxMs: 5000 }),
  }),
);
export type DnsSpec = z.output<typeof DnsSpec.schema>;
