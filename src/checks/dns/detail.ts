import { z } from 'zod';
import { RouteField } from '../contract/facts.ts';
import { JobLog } from '../http/detail.ts';
import { EvaluatedAssertion } from '../judging/assertion.ts';

const DnsJsonRecord = z.object({ name: z.string(), type: z.string(), TTL: z.number(), data: z.string() });

/** An answer as JSON, which JSON_ANSWER assertions look into (check model 3.3). Names end with a dot. */
export const DnsJson = z
  .object({
    Status: z.string(),
    AA: z.boolean(),
    TC: z.boolean(),
    RD: z.boolean(),
    RA: z.boolean(),
    AD: z.boolean(),
    CD: z.boolean(),
    Question: z.array(z.object({ name: z.string(), type: z.string() })),
    Answer: z.array(DnsJsonRecord),
    Authority: z.array(DnsJsonRecord),
    /** Absent in results of older agents. */
    Additional: z.array(DnsJsonRecord).optional(),
  })
  .meta({ id: 'DnsJson' });
export type DnsJson = z.infer<typeof DnsJson>;

/** What a run of a DNS monitor found out, as `apiCheckResult` shows it (check model 3.1, 3.3). */
export const DnsDetail = z
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
      /** Empty when there was no answer. */
      returnCode: z.string(),
      /** The data of the answer's records, one a line. */
      answer: z.string(),
      /** Milliseconds. */
      responseTime: z.number(),
      /** The server that answered, or was asked last. */
      nameServerInfo: z.object({ name: z.string().nullable(), host: z.string(), port: z.int() }).nullable(),
      /** The UDP answer was truncated, and the question asked again over TCP. */
      retriedOverTcp: z.boolean(),
      /** True when not all of the answer is stored. */
      truncated: z.boolean(),
      json: DnsJson.nullable(),
    }),
    requestError: z.string().nullable(),
    jobLog: JobLog,
    jobAssets: z.array(z.string()).nullable(),
    pcapDataUrl: z.string().nullable(),
    route: RouteField,
  })
  .meta({ id: 'DnsCheckDetail' });
export type DnsDetail = z.infer<typeof DnsDetail>;
