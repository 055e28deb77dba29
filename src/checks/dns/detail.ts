import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { RouteField } from '../contract/facts.ts';
import { JobLog } from '../http/detail.ts';
import { EvaluatedAssertion } from '../judging/assertion.ts';
import { partVerdicts } from '../runner/part-of-run.ts';

const DnsJsonRecord = lazySchema(() =>
  z.object({ name: z.string(), type: z.string(), TTL: z.number(), data: z.string() }),
);

/** A DNS response as JSON, the input of JSON_ANSWER assertions (check model 3.3). Names end with a dot. */
export const DnsJson = lazySchema(() =>
  z
    .object({
      Status: z.string(),
      AA: z.boolean(),
      TC: z.boolean(),
      RD: z.boolean(),
      RA: z.boolean(),
      AD: z.boolean(),
      CD: z.boolean(),
      Question: z.array(z.object({ name: z.string(), type: z.string() })),
      Answer: z.array(DnsJsonRecord.schema),
      Authority: z.array(DnsJsonRecord.schema),
      /** Absent in results of older agents. */
      Additional: z.array(DnsJsonRecord.schema).optional(),
    })
    .meta({ id: 'DnsJson' }),
);
export type DnsJson = z.infer<typeof DnsJson.schema>;

/** Answer of one of several name servers, and its verdict. */
export const NameServerVerdict = lazySchema(() =>
  z
    .object({
      /** Name and port, as the check has them. */
      nameServer: z.string(),
      /** Address that was asked; null if none was. */
      address: z.string().nullable(),
      verdict: z.enum(partVerdicts),
      /** Failure code, as in `failure`. */
      code: z.string().nullable(),
      message: z.string().nullable(),
      /** Empty without a response. */
      returnCode: z.string(),
      /** Data of its records, one per line; the first 1000 characters. */
      answer: z.string(),
      /** Milliseconds. */
      responseTime: z.number(),
    })
    .meta({ id: 'NameServerVerdict' }),
);
export type NameServerVerdict = z.infer<typeof NameServerVerdict.schema>;

/** Result of a run of a DNS monitor, shown as `apiCheckResult` (check model 3.1, 3.3). */
export const DnsDetail = lazySchema(() =>
  z
    .object({
      assertions: z.array(EvaluatedAssertion),
      request: z.object({
        query: z.string(),
        recordType: z.string(),
        /** Absent in results of older agents. */
        recordClass: z.string().optional(),
        protocol: z.string(),
        nameServer: z.string().nullable(),
        port: z.int().nullable(),
      }),
      response: z.object({
        /** Empty without a response. */
        returnCode: z.string(),
        /** Data of the records in the answer section, one per line. */
        answer: z.string(),
        /** Milliseconds. */
        responseTime: z.number(),
        /** The server that responded, or was queried last. */
        nameServerInfo: z.object({ name: z.string().nullable(), host: z.string(), port: z.int() }).nullable(),
        /** Whether the UDP response was truncated and the query repeated over TCP. */
        retriedOverTcp: z.boolean(),
        /** True if not all of the response is stored. */
        truncated: z.boolean(),
        json: DnsJson.schema.nullable(),
      }),
      /** One entry for each of several name servers, in the order of the check; absent with a single one. */
      nameServers: z.array(NameServerVerdict.schema).optional(),
      requestError: z.string().nullable(),
      jobLog: JobLog.schema,
      jobAssets: z.array(z.string()).nullable(),
      pcapDataUrl: z.string().nullable(),
      route: RouteField,
    })
    .meta({ id: 'DnsCheckDetail' }),
);
export type DnsDetail = z.infer<typeof DnsDetail.schema>;
