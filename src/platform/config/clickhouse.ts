import { z } from 'zod';

/** Where analytics are read from instead of the database. */
export const clickHouseSettings = {
  ANALYTICS_CLICKHOUSE_URL: z
    .url({
      protocol: /^https?$/,
      error: 'must look like http://user:password@host:8123/database or https://…',
    })
    .refine((text) => /^\/[^/]*$/.test(new URL(text).pathname), 'must have no more of a path than a database')
    .refine((text) => new URL(text).search === '', 'must have no parameters')
    .optional()
    .meta({ secret: true, defaultText: 'none: analytics are read from the database' })
    .describe(
      'HTTP interface of a ClickHouse that gets a copy of all results and answers analytics of checks: `http://user:password@host:8123/database`',
    ),
};
