import { z } from 'zod';

/** Settings of the database that analytics are read from in place of the main one. */
export const clickHouseSettings = {
  ANALYTICS_CLICKHOUSE_URL: z
    .url({
      protocol: /^https?$/,
      error: 'must look like http://user:password@host:8123/database or https://…',
    })
    .refine((text) => /^\/[^/]*$/.test(new URL(text).pathname), 'must have only a database name as its path')
    .refine((text) => new URL(text).search === '', 'must have no parameters')
    .optional()
    .meta({ secret: true, defaultText: 'none: analytics are read from the database' })
    .describe(
      'HTTP interface of a ClickHouse server that stores a copy of all results and serves analytics of checks: `http://user:password@host:8123/database`',
    ),
};
