import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { RouteField } from '../contract/facts.ts';
import { ipFamilies } from '../contract/ip-family.ts';
import { CertificateDetail, JobLog } from '../http/detail.ts';
import { EvaluatedAssertion } from '../judging/assertion.ts';

/** Result of a run of an SQL monitor, shown as `sqlCheckResult`. */
export const SqlDetail = lazySchema(() =>
  z
    .object({
      assertions: z.array(EvaluatedAssertion),
      request: z.object({
        engine: z.string(),
        hostname: z.string(),
        port: z.int(),
        /** Empty: none. */
        database: z.string(),
        username: z.string(),
        useSSL: z.boolean(),
        ipFamily: z.enum(ipFamilies),
        /** The first 1000 characters. */
        query: z.string(),
        readOnly: z.boolean(),
      }),
      /** Null without a connection. */
      response: z
        .object({
          /** Null without an answer. */
          answer: z
            .object({
              /** First value of the first row; texts are cut off after 1000 characters. */
              value: z.union([z.string(), z.number(), z.boolean()]).nullable(),
              rowCount: z.int(),
              /** True if there are more rows, which were not read. */
              truncated: z.boolean(),
              columns: z.array(z.string()),
            })
            .nullable(),
          /** Error that the server answered with; null without one. */
          refusal: z
            .object({
              step: z.enum(['login', 'query']),
              sqlState: z.string(),
              /** Number of the error at MySQL and MariaDB; null for PostgreSQL. */
              errorCode: z.int().nullable().default(null),
              message: z.string(),
            })
            .nullable(),
          serverVersion: z.string().nullable(),
          certificate: CertificateDetail.schema.nullable(),
          /** Milliseconds; all but `total` add up to it. */
          timingPhases: z.object({
            dns: z.number(),
            connection: z.number(),
            tls: z.number(),
            login: z.number(),
            query: z.number(),
            total: z.number(),
          }),
          ipAddress: z.string().nullable(),
          ipFamily: z.enum(ipFamilies).nullable(),
        })
        .nullable(),
      requestError: z.string().nullable(),
      jobLog: JobLog.schema,
      jobAssets: z.array(z.string()).nullable(),
      pcapDataUrl: z.string().nullable(),
      route: RouteField,
    })
    .meta({ id: 'SqlCheckDetail' }),
);
export type SqlDetail = z.infer<typeof SqlDetail.schema>;
