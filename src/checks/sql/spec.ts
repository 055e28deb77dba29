import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { thresholdMs } from '../contract/definition/common-fields.ts';
import { IpFamilyField } from '../contract/ip-family.ts';
import type { MaskedValue } from '../contract/masking.ts';
import { HostnameField, ServerName } from '../contract/target.ts';
import { assertionSchema, valueComparisons } from '../judging/assertion.ts';

export const sqlEngines = ['POSTGRESQL', 'MYSQL'] as const;
export type SqlEngine = (typeof sqlEngines)[number];

/** The port of each engine, for checks that name none. */
export const sqlPorts: Readonly<Record<SqlEngine, number>> = { POSTGRESQL: 5432, MYSQL: 3306 };

/** An SQL monitor: logs in at a database server, and runs one query. */
export const SqlSpec = lazySchema(() =>
  z.object({
    shouldFail: z.boolean().default(false),
    request: z
      .object({
        engine: z
          .enum(sqlEngines)
          .default('POSTGRESQL')
          .describe('Protocol of the database server; MYSQL is also that of MariaDB'),
        hostname: HostnameField,
        port: z
          .int()
          .min(1)
          .max(65_535)
          .nullable()
          .default(null)
          .describe('null: the port of the engine, 5432 for POSTGRESQL and 3306 for MYSQL'),
        database: z
          .string()
          .max(200)
          .default('')
          .describe('Name of the database; empty: that of the user for POSTGRESQL, none for MYSQL'),
        username: z.string().min(1).max(200),
        password: z.string().max(1000).default(''),
        ipFamily: IpFamilyField,
        useSSL: z.boolean().default(true).describe('Use TLS'),
        skipSSL: z.boolean().default(false).describe('Skip certificate verification (with useSSL)'),
        serverName: ServerName.describe(
          'TLS server name (SNI and certificate), if different from hostname; needs useSSL',
        ),
        query: z
          .string()
          .min(1)
          .max(10_000)
          .default('select 1')
          .describe('One statement; its first value is the answer'),
        readOnly: z
          .boolean()
          .default(true)
          .describe('Run the query in a transaction that permits no changes; false: changes are committed'),
        statementTimeoutMs: z
          .int()
          .min(100)
          .max(25_000)
          .default(5000)
          .describe('The query is cancelled after this many milliseconds'),
        assertions: z
          .array(assertionSchema(['VALUE', 'ROW_COUNT', 'RESPONSE_TIME', 'QUERY_TIME'], valueComparisons))
          .default([]),
      })
      .refine((request) => request.serverName === null || request.useSSL, {
        path: ['serverName'],
        error: 'needs useSSL',
      })
      .refine((request) => !request.skipSSL || request.useSSL, { path: ['skipSSL'], error: 'needs useSSL' }),
    degradedResponseTime: thresholdMs({ defaultMs: 3000, maxMs: 30_000 }),
    maxResponseTime: thresholdMs({ defaultMs: 5000, maxMs: 30_000 }),
  }),
);
export type SqlSpec = z.output<typeof SqlSpec.schema>;

/** Values of an SQL monitor that API responses never show. */
export const maskedInSql: readonly MaskedValue[] = [
  {
    path: ['request', 'password'],
    sentTo: [
      ['request', 'hostname'],
      // It decides the port of a check that names none.
      ['request', 'engine'],
      ['request', 'port'],
      ['request', 'useSSL'],
      ['request', 'skipSSL'],
      ['request', 'serverName'],
    ],
  },
];
