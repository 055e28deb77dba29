import { z } from 'zod';
import { readEnvironment } from '../lib/env.ts';
import { logLevels } from '../lib/log.ts';

const days = (defaultDays: number) => z.coerce.number().int().min(1).max(10_000).default(defaultDays);

/** Every setting of the service: one variable each, documented in docs/config.md and `picket service --help`. */
export const ServiceConfig = z.object({
  PORT: z.coerce
    .number()
    .int()
    .min(0)
    .max(65_535)
    .default(8080)
    .describe('Port of the HTTP API; 0 takes any free one'),
  HOST: z
    .string()
    .optional()
    .meta({ defaultText: 'all addresses' })
    .describe('Address to listen on; 127.0.0.1 keeps the API to this machine'),
  DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, 'must start with postgres:// or postgresql://')
    .optional()
    .meta({ secret: true, defaultText: 'none' })
    .describe('PostgreSQL to store everything in; without it an SQLite database under DATA_DIR is used'),
  DATA_DIR: z
    .string()
    .default('./data')
    .describe('Folder of the SQLite database and of the first API key; created when missing'),
  ARTIFACT_STORE: z
    .string()
    .refine(
      (value) =>
        /^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](?:\/[\w./-]*)?$/.test(value) ||
        /^(?!\w+:\/\/)./.test(value),
      'must be a folder, or s3://bucket/prefix',
    )
    .optional()
    .meta({ defaultText: '`artifacts` under DATA_DIR' })
    .describe(
      'Where the files that runs leave behind are kept: a folder, or `s3://bucket/prefix`. Several service processes need one they share',
    ),
  S3_ENDPOINT: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .optional()
    .meta({ defaultText: "Amazon's" })
    .describe('Address of the server behind an s3:// ARTIFACT_STORE, when it is not Amazon’s'),
  S3_REGION: z.string().min(1).optional().meta({ defaultText: 'us-east-1' }).describe('Region of the bucket'),
  S3_ACCESS_KEY_ID: z
    .string()
    .min(1)
    .optional()
    .meta({ secret: true, defaultText: 'none' })
    .describe('Key for the bucket; without it the AWS variables, profile or role of the machine hold'),
  S3_SECRET_ACCESS_KEY: z
    .string()
    .min(1)
    .optional()
    .meta({ secret: true, defaultText: 'none' })
    .describe('Secret that belongs to S3_ACCESS_KEY_ID'),
  PUBLIC_URL: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .optional()
    .meta({ defaultText: 'none' })
    .describe('Where clients reach the API, for links in answers; without it links are relative'),
  BOOTSTRAP_API_KEY: z
    .string()
    .min(16, 'must have at least 16 characters')
    .max(512, 'must have at most 512 characters')
    .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without spaces')
    .optional()
    .meta({ secret: true, defaultText: 'none' })
    .describe(
      'API key with role ADMIN that exists after start; without it an empty store gets a random one, written to DATA_DIR/api-key',
    ),
  RESULT_RETENTION_DAYS: days(30).describe(
    'How long results with their details, fenced results and the records of runs are kept, in days',
  ),
  ARTIFACT_RETENTION_DAYS: days(30).describe('How long the files that runs leave behind are kept, in days'),
  ANALYTICS_RETENTION_DAYS: days(400).describe(
    'How long analytics can look back, in days; they need some 60 bytes of a result',
  ),
  METRICS_TOKEN: z
    .string()
    .min(16, 'must have at least 16 characters')
    .max(512, 'must have at most 512 characters')
    .optional()
    .meta({ secret: true, defaultText: 'none' })
    .describe(
      'Bearer token for `/metrics` of all accounts; an API key sees its own account there, with or without it',
    ),
  LOG_LEVEL: z
    .string()
    .toLowerCase()
    .pipe(z.enum(logLevels, { error: `must be one of ${logLevels.join(', ')}` }))
    .default('info')
    .describe('Lowest level that is logged'),
});
export type ServiceConfig = z.output<typeof ServiceConfig>;

/**
 * Reads the service's configuration.
 *
 * @throws AppError CONFIG_INVALID listing every problem.
 */
export function readServiceConfig(environment: Readonly<Record<string, string | undefined>>): ServiceConfig {
  return readEnvironment(ServiceConfig, environment);
}
