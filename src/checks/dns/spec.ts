import { dnsClassNames, recordTypes, typesOfAnyClass } from '@picket/lib/dns-record-type.ts';
import { z } from 'zod';
import { thresholdMs } from '../contract/definition/common-fields.ts';
import { assertionSchema, comparisons } from '../judging/assertion.ts';

/** UDP and TCP as in the check model 1.5; TLS (RFC 7858) and HTTPS (RFC 8484) in addition. */
export const dnsProtocols = ['UDP', 'TCP', 'DOT', 'DOH'] as const;

const DnsRequest = z
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
  .superRefine(({ nameServer, port, protocol, recordType, recordClass }, context) => {
    const issue = (field: string, message: string) =>
      context.addIssue({ code: 'custom', path: [field], message });
    if (recordClass !== 'IN' && !typesOfAnyClass.has(recordType)) {
      issue('recordClass', `has no records of the type ${recordType}`);
    }
    if (nameServer !== null && port === null) issue('port', 'is required with a nameServer');
    if (port !== null && nameServer === null) issue('nameServer', 'is required with a port');
    const isSecure = protocol === 'DOT' || protocol === 'DOH';
    if (isSecure && nameServer === null && port === null) {
      issue('nameServer', `is required with the protocol ${protocol}`);
    }
  });

/** A DNS monitor: one query to one name server (check model 1.5). */
export const DnsSpec = z.object({
  shouldFail: z.boolean().default(false),
  request: DnsRequest,
  degradedResponseTime: thresholdMs({ defaultMs: 500, maxMs: 5000 }),
  maxResponseTime: thresholdMs({ defaultMs: 1000, maxMs: 5000 }),
});
export type DnsSpec = z.output<typeof DnsSpec>;
