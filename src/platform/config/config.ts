import { isAbsolute } from 'node:path';
import { providerProblem } from '@picket/channels/contract/phone-provider.ts';
import type { ModelAccess } from '@picket/checks/model/access.ts';
import { modelAccess, serviceModelSettings } from '@picket/checks/model/settings.ts';
import { readEnvironment } from '@picket/lib/env.ts';
import { logLevels } from '@picket/lib/log.ts';
import { withLowerCaseProxies } from '@picket/lib/proxy.ts';
import { shapeOf, valuesOf } from '@picket/lib/setting-tree.ts';
import { parseEgressRules } from '@picket/probes/egress/rules.ts';
import { z } from 'zod';
import { parseSecretsKey } from '../store/secrets/secret-box.ts';
import { clickHouseSettings } from './clickhouse.ts';
import { customDomainSettings } from './custom-domains.ts';
import { natsSettings } from './nats.ts';
import { ownAddress } from './own-address.ts';
import { remoteWriteSettings } from './remote-write.ts';
import { oidcSettings } from './single-sign-on.ts';
import { isAddress, staticIpSetting } from './static-ips.ts';
import { otlpSettings } from './traces.ts';

const egressRules = z
  .string()
  .superRefine((list, context) => {
    for (const message of parseEgressRules(list).problems) context.addIssue({ code: 'custom', message });
  })
  .default('')
  .meta({ defaultText: 'none' });
/** A provider of text messages or calls, as a JSON setting. */
function phoneProvider(what: string) {
  return z
    .string()
    .superRefine((text, context) => {
      const message = providerProblem(text);
      if (message !== undefined) context.addIssue({ code: 'custom', message });
    })
    .optional()
    .meta({ secret: true, defaultText: 'none' })
    .describe(
      `Provider of ${what}, as JSON: \`url\`, \`method\`, \`headers\`, \`form\` or \`json\` with templates, \`accepted\` ([alerts.md](alerts.md#text-messages-and-calls))`,
    );
}
const proxy = z.string().optional().meta({ defaultText: 'none' });
const httpUrl = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' });

/** Splits a list that is separated by commas or spaces. */
export function listOf(text: string): string[] {
  return text.split(/[\s,]+/).filter((entry) => entry !== '');
}

const secretsKeyMessage = 'must be 32 bytes as Base64 or hex: openssl rand -base64 32';

const days = (defaultDays: number) => z.coerce.number().int().min(1).max(10_000).default(defaultDays);
const modelSettings = serviceModelSettings();

/**
 * Every setting of the service: one variable each, documented in docs/reference/config.md and `picket service --help`.
 */
export const ServiceConfig = z
  .object({
    PORT: z.coerce
      .number()
      .int()
      .min(0)
      .max(65_535)
      .default(8080)
      .describe('Port of the HTTP API. 0 picks a free port'),
    HOST: z
      .string()
      .optional()
      .meta({ defaultText: 'all addresses' })
      .describe('Address to listen on. 127.0.0.1 restricts the API to this machine'),
    DATABASE_URL: z
      .string()
      .regex(/^postgres(ql)?:\/\//, 'must start with postgres:// or postgresql://')
      .optional()
      .meta({ secret: true, defaultText: 'none' })
      .describe(
        'PostgreSQL connection URL; with several hosts (`a:5432,b:5432`), the service connects to the primary. Without it the service uses an SQLite database under DATA_DIR',
      ),
    DATABASE_DIRECT_URL: z
      .string()
      .regex(/^postgres(ql)?:\/\//, 'must start with postgres:// or postgresql://')
      .optional()
      .meta({ secret: true, defaultText: 'none: DATABASE_URL preserves sessions' })
      .describe(
        'Direct connection URL of the database, if DATABASE_URL is a pooler in transaction mode such as PgBouncer. Each process opens one connection to it; backups use it, too',
      ),
    DATABASE_REPLICA_URL: z
      .string()
      .regex(
        /^postgres(ql)?:\/\/[^,]+$/,
        'must start with postgres:// or postgresql://, and name one host, such as that of a load balancer for several replicas',
      )
      .optional()
      .meta({ secret: true, defaultText: 'none' })
      .describe(
        'Connection URL of a streaming replica. Lists of results, analytics, reports and public pages are read from it while it is at most 5 s behind',
      ),
    DATABASE_POOL_SIZE: z.coerce
      .number()
      .int()
      .min(2)
      .max(1_000)
      .default(10)
      .describe(
        'Maximum PostgreSQL connections of a process for requests and jobs. It opens two more for other purposes',
      ),
    DATABASE_WAIT_SECONDS: z.coerce
      .number()
      .int()
      .min(0)
      .max(86_400)
      .default(60)
      .describe('How long a starting service waits for PostgreSQL to be reachable. 0: it does not wait'),
    ...natsSettings,
    DATA_DIR: z
      .string()
      .default('./data')
      .describe('Folder for the SQLite database and the first API key. Created when missing'),
    SECRETS_KEY: z
      .string()
      .refine((text) => parseSecretsKey(text) !== undefined, secretsKeyMessage)
      .optional()
      .meta({ secret: true, defaultText: 'none: secrets are stored in clear' })
      .describe(
        'Key that encrypts secrets in the database: 32 bytes as Base64 or hex, such as from `openssl rand -base64 32`. If you lose the key, you lose the secrets',
      ),
    SECRETS_OLD_KEYS: z
      .string()
      .refine((text) => listOf(text).every((key) => parseSecretsKey(key) !== undefined), secretsKeyMessage)
      .optional()
      .meta({ secret: true, defaultText: 'none' })
      .describe(
        'Keys that SECRETS_KEY replaced, separated by commas or spaces. At start, secrets that they encrypted are encrypted again with SECRETS_KEY',
      ),
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
        'Where artifacts of runs are stored: a folder, or `s3://bucket/prefix`. Several service processes must share one',
      ),
    S3_ENDPOINT: z
      .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
      .optional()
      .meta({ defaultText: "Amazon's" })
      .describe('Endpoint of an s3:// ARTIFACT_STORE that is not hosted by Amazon'),
    S3_REGION: z
      .string()
      .min(1)
      .optional()
      .meta({ defaultText: 'us-east-1' })
      .describe('Region of the bucket'),
    S3_ACCESS_KEY_ID: z
      .string()
      .min(1)
      .optional()
      .meta({ secret: true, defaultText: 'none' })
      .describe(
        'Access key for the bucket. Without it, the service uses the AWS variables, profile or role of the machine',
      ),
    S3_SECRET_ACCESS_KEY: z
      .string()
      .min(1)
      .optional()
      .meta({ secret: true, defaultText: 'none' })
      .describe('Secret key for S3_ACCESS_KEY_ID'),
    PUBLIC_URL: ownAddress
      .optional()
      .meta({ defaultText: 'none' })
      .describe(
        'Base URL under which clients reach the API, used in links: scheme, host and port, without a path. Without it links are relative',
      ),
    ARTIFACTS_URL: ownAddress
      .optional()
      .meta({ defaultText: 'none' })
      .describe(
        'Separate host name of the service for files of runs: `https://picket-files.example.com`. The trace viewer of Playwright needs it. It must not serve any other site',
      ),
    ...customDomainSettings,
    PAGES: z
      .enum(['on', 'off'])
      .default('on')
      .describe('Whether the service has web pages. off: it serves the API only'),
    MCP: z
      .enum(['on', 'read-only', 'off'])
      .default('on')
      .describe(
        'Whether programs with a language model may use the API as tools at `/mcp`. on: clients can also request tools that write; read-only: they cannot',
      ),
    RATE_LIMIT_PER_MINUTE: z.coerce
      .number()
      .int()
      .min(0)
      .max(1_000_000)
      .default(600)
      .describe(
        'Maximum requests per minute of one API key (on public pages: of one address) to one service process. Some operations have a lower limit. 0 disables all rate limits',
      ),
    TRUSTED_PROXIES: z
      .string()
      .superRefine((text, context) => {
        for (const address of listOf(text)) {
          if (isAddress(address, '4') || isAddress(address, '6')) continue;
          context.addIssue({
            code: 'custom',
            message: `"${address}" is not an IP address or network (CIDR)`,
          });
        }
      })
      .default('')
      .meta({ defaultText: 'none' })
      .describe('Reverse proxies whose `X-Forwarded-For` header is trusted for the client address'),
    STATIC_IPS: staticIpSetting('4'),
    STATIC_IPV6S: staticIpSetting('6'),
    BOOTSTRAP_API_KEY: z
      .string()
      .min(16, 'must have at least 16 characters')
      .max(512, 'must have at most 512 characters')
      .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without spaces')
      .optional()
      .meta({ secret: true, defaultText: 'none' })
      .describe(
        'API key with role ADMIN to create at start. Without it an empty store gets a random key, written to DATA_DIR/api-key',
      ),
    SMTP_URL: z
      .url({ protocol: /^smtps?$/, error: 'must look like smtp://user:password@host:port or smtps://…' })
      .optional()
      .meta({ secret: true, defaultText: 'none' })
      .describe('Mail server for alerts by e-mail. E-mail is off unless this and MAIL_FROM are set'),
    MAIL_FROM: z
      .string()
      .regex(/^[^\r\n]*[^\s@]+@[^\s@]+$/, 'must contain an e-mail address')
      .optional()
      .meta({ defaultText: 'none' })
      .describe('Sender of e-mail alerts: an address, or `Name <address>`'),
    ...oidcSettings,
    EGRESS_ALLOW: egressRules.describe(
      'Destinations that notifications and model requests may reach although the default or a wider EGRESS_DENY rule blocks them. Same syntax as for the agent',
    ),
    EGRESS_DENY: egressRules.describe(
      'Destinations that notifications and model requests must not reach. Same syntax as EGRESS_ALLOW',
    ),
    // Only modelOf() reads these, with the types of the settings themselves.
    ...(shapeOf(modelSettings) as Record<never, never>),
    HTTPS_PROXY: proxy.describe('Proxy for an https:// MODEL_URL; `https_proxy` works too'),
    HTTP_PROXY: proxy.describe('Proxy for an http:// MODEL_URL; `http_proxy` works too'),
    ALL_PROXY: proxy.describe(
      'Proxy for MODEL_URL where neither of the two above is set; `all_proxy` works too. All three take `http://`, `https://` and `socks5://`',
    ),
    NO_PROXY: proxy.describe('Hosts of models reached without a proxy; `no_proxy` works too'),
    CA_CERTS_DIR: z
      .string()
      .refine((path) => isAbsolute(path), 'must be an absolute path')
      .optional()
      .meta({ defaultText: 'none' })
      .describe(
        'Folder of PEM files: custom CA certificates, trusted for all outgoing connections in addition to the system ones; read at start',
      ),
    PAGERDUTY_URL: httpUrl
      .default('https://events.pagerduty.com')
      .describe('URL of the PagerDuty Events API; https://events.eu.pagerduty.com for accounts in the EU'),
    OPSGENIE_URL: httpUrl
      .optional()
      .meta({ defaultText: "that of the channel's region" })
      .describe('URL of the Opsgenie Alert API, to override the default of the region of a channel'),
    TELEGRAM_URL: httpUrl
      .default('https://api.telegram.org')
      .describe('URL of the Telegram Bot API, to use a self-hosted server'),
    SLACK_URL: httpUrl.default('https://slack.com').describe('URL of the Slack Web API'),
    SLACK_BOT_TOKEN: z
      .string()
      .regex(/^[\x21-\x7e]+$/, 'must not have spaces')
      .optional()
      .meta({ secret: true, defaultText: 'none' })
      .describe('Default bot token for channels of type SLACK_APP. All accounts can post with it'),
    SMS_PROVIDER: phoneProvider('text messages'),
    CALL_PROVIDER: phoneProvider('phone calls'),
    ALERTS_PER_MINUTE: z.coerce
      .number()
      .int()
      .min(0)
      .max(10_000)
      .default(60)
      .describe('Maximum notifications per minute of a channel. Others wait up to ten minutes. 0: no limit'),
    RESULT_RETENTION_DAYS: days(30).describe(
      'Days to keep results with their details, fenced results, heartbeat events, records of runs, sessions and alerts, and error groups that do not recur; on PostgreSQL results are deleted in whole days, up to a day later',
    ),
    DETAIL_OF_EVERY_NTH_PASS: z.coerce
      .number()
      .int()
      .min(1)
      .max(1_000_000)
      .default(1)
      .describe(
        'Sampling of details (headers, body, phases, log) of passed scheduled runs, for each check and location: every n-th keeps them. 1: all. Failed, degraded and repeated runs, the first pass after one, one pass a day and manual runs always keep them. Metrics of all runs are kept',
      ),
    ARTIFACT_RETENTION_DAYS: days(30).describe('Days to keep artifacts of runs'),
    CODE_BUNDLE_QUOTA_BYTES: z.coerce
      .number()
      .int()
      .min(1)
      .max(2 ** 50)
      .default(10 * 2 ** 30)
      .meta({ defaultText: '10737418240 (10 GiB)' })
      .describe('Maximum bytes of code bundles of an account'),
    ANALYTICS_RETENTION_DAYS: days(400).describe(
      'Days that analytics cover. They take about 20 bytes per result',
    ),
    ...clickHouseSettings,
    SESSION_MAX_HOURS: z.coerce
      .number()
      .int()
      .min(1)
      .max(8_760)
      .default(720)
      .describe(
        'Maximum hours of a login session. An unused session ends after a week. Roles by group (`OIDC_ROLES`) are read at login only, so a removed group stays effective for this long',
      ),
    AUDIT_RETENTION_DAYS: days(400).describe('Days to keep the audit log: who changed what'),
    METRICS_TOKEN: z
      .string()
      .min(16, 'must have at least 16 characters')
      .max(512, 'must have at most 512 characters')
      .optional()
      .meta({ secret: true, defaultText: 'none' })
      .describe(
        'Bearer token that gives access to all accounts on `/metrics` and `/metrics/checks`. An API key gives access to its own account',
      ),
    ...otlpSettings,
    ...remoteWriteSettings,
    LOG_LEVEL: z
      .string()
      .toLowerCase()
      .pipe(z.enum(logLevels, { error: `must be one of ${logLevels.join(', ')}` }))
      .default('info')
      .describe('Minimum log level'),
  })
  .refine(({ DATABASE_URL: url, DATABASE_DIRECT_URL: direct }) => direct === undefined || url !== undefined, {
    path: ['DATABASE_DIRECT_URL'],
    error: 'needs DATABASE_URL: the pooler in front of the same database',
  })
  .refine(({ DATABASE_URL: url, DATABASE_REPLICA_URL: copy }) => copy === undefined || url !== undefined, {
    path: ['DATABASE_REPLICA_URL'],
    error: 'needs DATABASE_URL: the primary of the replica',
  })
  .refine(({ DATABASE_URL: database, NATS_URL: url }) => url === undefined || database !== undefined, {
    path: ['NATS_URL'],
    error: 'needs DATABASE_URL: only PostgreSQL supports several service processes',
  })
  .refine(
    ({ NATS_URL: url, NATS_CREDENTIALS: credentials }) => credentials === undefined || url !== undefined,
    {
      path: ['NATS_CREDENTIALS'],
      error: 'needs NATS_URL: the servers to authenticate to',
    },
  )
  .refine(
    ({ REMOTE_WRITE_URL: url, REMOTE_WRITE_HEADERS: headers }) => headers === undefined || url !== undefined,
    {
      path: ['REMOTE_WRITE_HEADERS'],
      error: 'needs REMOTE_WRITE_URL: the receiver of the headers',
    },
  )
  .refine(
    ({ PUBLIC_URL: pages, ARTIFACTS_URL: files }) =>
      pages === undefined || files === undefined || new URL(pages).hostname !== new URL(files).hostname,
    {
      path: ['ARTIFACTS_URL'],
      error: 'must have a different host name than PUBLIC_URL: cookies ignore ports',
    },
  );
export type ServiceConfig = z.output<typeof ServiceConfig>;

/**
 * Reads the service's configuration.
 *
 * @throws AppError CONFIG_INVALID listing every problem.
 */
export function readServiceConfig(environment: Readonly<Record<string, string | undefined>>): ServiceConfig {
  const config = readEnvironment(ServiceConfig, withLowerCaseProxies(environment));
  modelOf(config);
  return config;
}

/**
 * Returns the model for analyses, or undefined if none is configured.
 *
 * @throws AppError CONFIG_INVALID for inconsistent settings.
 */
export function modelOf(config: ServiceConfig): ModelAccess | undefined {
  const { HTTPS_PROXY: https, HTTP_PROXY: http, ALL_PROXY: all, NO_PROXY: except } = config;
  return modelAccess(valuesOf(modelSettings, config), { https, http, all, except }, 'analysis');
}
