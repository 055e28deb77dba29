import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { EpochMs } from '../http/query.ts';

export const ClientCertificateMaterial = lazySchema(() =>
  z.object({
    host: z.string(),
    cert: z.string(),
    key: z.string(),
    ca: z.string().nullish(),
    passphrase: z.string().nullish(),
  }),
);

const LifecycleScript = lazySchema(() =>
  z.object({
    name: z.string().describe('Source of the script, for logs'),
    script: z.string().describe('Node.js code'),
    path: z.string().optional().describe('Path of the script among its files'),
    files: z
      .array(z.object({ path: z.string(), content: z.string() }))
      .optional()
      .describe('Files that the script imports, by paths below the same folder'),
  }),
);
export type LifecycleScript = z.output<typeof LifecycleScript.schema>;

/** One attempt of a run, leased to one agent. */
export const LeasedRun = lazySchema(() =>
  z
    .object({
      runId: z.uuid(),
      leaseNumber: z.int().min(1),
      resultId: z.uuid().describe('Id of the result of this attempt'),
      slotAt: EpochMs.describe(
        'When the run is due, by the service’s clock; later than `serverTime` only for an agent that sent `aheadMs`',
      ),
      mayReportLater: z
        .boolean()
        .default(false)
        .describe(
          'Whether the report may wait for others for a second, if the check passed as the agent found it last time',
        ),
      attempt: z.int().min(0),
      mayBeRetried: z
        .boolean()
        .default(false)
        .describe('Whether a failed result may be an ATTEMPT; agents with a full spool drop attempts first'),
      sequenceId: z.uuid(),
      checkRunId: z.int(),
      accountId: z.string(),
      location: z.object({
        name: z.string().describe('slugName of a private location, or a region'),
        proxyUrl: z.string().nullable(),
      }),
      check: z.object({
        id: z.string(),
        name: z.string(),
        checkType: z.string(),
        spec: z.record(z.string(), z.unknown()).describe('Validated by the schema of its check type'),
      }),
      variables: z
        .record(z.string(), z.string())
        .describe('Account, group and check variables, merged, for {{templates}} and scripts'),
      secretNames: z.array(z.string()).describe('Names of the secret variables'),
      valuesFrom: z
        .record(z.string(), z.string())
        .default({})
        .describe(
          'Variables whose value is a secret of the location, by name, with the name of that secret (`SERVICE_SECRET_…`)',
        ),
      runtimeId: z
        .string()
        .default('2026.04')
        .describe('Runtime of the scripts: of the check, its group or the account'),
      lifecycle: z
        .object({ setup: z.array(LifecycleScript.schema), teardown: z.array(LifecycleScript.schema) })
        .default({ setup: [], teardown: [] })
        .describe('Setup and teardown scripts, in order of execution'),
      snippets: z
        .array(z.object({ id: z.int(), name: z.string(), script: z.string() }))
        .default([])
        .describe('Snippets of the account, for runs whose scripts may use them'),
      clientCertificates: z
        .array(ClientCertificateMaterial.schema)
        .default([])
        .describe('Newest first; only for types that use client certificates'),
      updatesSnapshots: z
        .boolean()
        .default(false)
        .describe('Creates new reference screenshots, and sends them'),
      plan: z
        .object({ version: z.int().min(1), content: z.unknown() })
        .nullable()
        .default(null)
        .describe('Data that an earlier run saved for later runs; null if none'),
      isTestSession: z
        .boolean()
        .default(false)
        .describe('True if the run is part of a test session: it gets CI=true'),
      signature: z
        .string()
        .nullable()
        .default(null)
        .describe('Signature of the check, for agents that run only signed checks'),
    })
    .meta({ id: 'LeasedRun' }),
);
export type LeasedRun = z.output<typeof LeasedRun.schema>;
