import { hostname, tmpdir } from 'node:os';
import { isAbsolute, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { checkTypes } from '../checks/index.ts';
import { readEnvironment } from '../lib/env.ts';
import { type LogLevel, logLevels } from '../lib/log.ts';
import { packageFolder } from '../lib/version.ts';
import { parseEgressRules } from '../probes/egress/rules.ts';
import { type CanaryTarget, parseCanaries } from './location/canary-targets.ts';

/** The longest value a `SERVICE_SECRET_*` variable may have, in characters. */
const maxSecretLength = 128 * 1024;
/** Less has no room for a segment of each kind and one large result. */
const minSpoolBytes = 1_000_000;
const secretPrefix = 'SERVICE_SECRET_';

/** Keys that are mistaken for the one of a location. */
const otherKeys = [
  { prefix: 'ak_', kind: 'an API key of an account' },
  { prefix: 'da_', kind: 'the key of a dashboard' },
] as const;

const wholeNumber = (options: { readonly min: number; readonly max: number; readonly default: number }) =>
  z
    .string()
    .regex(/^\d{1,9}$/, `must be a whole number from ${options.min} to ${options.max}`)
    .transform(Number)
    .pipe(
      z
        .number()
        .min(options.min, `must be at least ${options.min}`)
        .max(options.max, `must be at most ${options.max}`),
    )
    .default(options.default);

const proxyUrl = z
  .string()
  .refine((value) => isHttpUrl(value), 'must be the http:// or https:// address of a proxy')
  .optional();

const canaryTargets = z
  .string()
  .superRefine((value, context) => {
    for (const message of parseCanaries(value).problems) context.addIssue({ code: 'custom', message });
  })
  .default('')
  .meta({ defaultText: 'none' });

const absolutePath = z
  .string()
  .refine((value) => isAbsolute(value), 'must be an absolute path')
  .optional();

const egressRules = z
  .string()
  .superRefine((value, context) => {
    for (const problem of parseEgressRules(value).problems) {
      context.addIssue({ code: 'custom', message: problem });
    }
  })
  .default('')
  .meta({ defaultText: 'none' });

/** What an agent can run, if its host has what it takes. */
const runnableTypes = checkTypes.filter(({ load }) => load !== undefined).map(({ name }) => name);

const checkTypeNames = z
  .string()
  .transform((value) =>
    value
      .split(',')
      .map((name) => name.trim().toUpperCase())
      .filter((name) => name !== ''),
  )
  .pipe(
    z
      .array(z.enum(runnableTypes, `must be a list of ${runnableTypes.join(', ')}, separated by commas`))
      .min(1, 'must name one check type at least'),
  )
  .default(runnableTypes)
  .meta({ defaultText: 'all' });

/** Where the runtimes of this build are. */
export const packagedRuntimes = fileURLToPath(new URL('runtimes', packageFolder()));

/** Names other tools use for our levels (check model 5.1: DEBUG, LOG, INFO, WARN, ERROR). */
const levelAliases: Readonly<Record<string, LogLevel>> = { log: 'info', warning: 'warn' };

/** Every variable an agent reads; the source of `picket agent --help` and docs/reference/config.md. */
export const AgentConfig = z.object({
  API_KEY: z
    .string('is required: the key of a private location')
    .superRefine((value, context) => {
      if (/^pl_[\x21-\x7e]+$/.test(value)) return;
      const kind = otherKeys.find(({ prefix }) => value.startsWith(prefix))?.kind;
      const what = 'must be the key of a private location: it starts with "pl_"';
      context.addIssue({ code: 'custom', message: kind ? `is ${kind}; it ${what}` : what });
    })
    .meta({ secret: true })
    .describe('Key of the private location this agent belongs to (`pl_…`)'),
  SERVICE_URL: z
    .string('is required: the address of the service')
    .superRefine((value, context) => {
      const problem = serviceUrlProblem(value);
      if (problem) context.addIssue({ code: 'custom', message: problem });
    })
    .describe('Address of the service, such as `https://picket.example.com`; a path is kept as a prefix'),
  AGENT_HEALTH_PORT: wholeNumber({ min: 0, max: 65_535, default: 8081 }).describe(
    'Port of the health probes and metrics, on all interfaces; 0 takes any free port and logs it',
  ),
  JOB_CONCURRENCY: wholeNumber({ min: 1, max: 10, default: 1 }).describe(
    'Script checks (browser, multi-step, Playwright) that run at the same time, 1 to 10',
  ),
  PROBE_CONCURRENCY: wholeNumber({ min: 1, max: 1000, default: 100 }).describe(
    'Probe checks (URL, API, …) that run at the same time, 1 to 1000',
  ),
  CHECK_TYPES: checkTypeNames.describe(
    'Check types this agent offers, separated by commas; without one among them that has scripts nothing is started for scripts',
  ),
  LOG_LEVEL: z
    .string()
    .transform((value) => levelAliases[value.toLowerCase()] ?? value.toLowerCase())
    .pipe(z.enum(logLevels, `must be one of ${logLevels.join(', ')}`))
    .default('info')
    .describe(`How much is logged: ${logLevels.join(', ')}; upper or lower case`),
  AGENT_ID: z
    .string()
    .regex(/^[\w.:-]{1,128}$/, 'must have 1 to 128 letters, digits or any of _ . : -')
    .optional()
    .meta({ defaultText: 'host name and a random suffix, new at each start' })
    .describe('Name of this agent in its location; keep it unique among the agents of a location'),
  SHUTDOWN_GRACE_SECONDS: wholeNumber({ min: 0, max: 86_400, default: 300 }).describe(
    'How long running checks may go on after SIGTERM before they are given back',
  ),
  SPOOL_DIR: z
    .string()
    .min(1, 'must not be empty')
    .optional()
    .meta({ defaultText: "the system's folder for temporary files" })
    .describe(
      'Folder for results and artifacts that wait to be sent; several agents may share one. It should outlive the agent',
    ),
  SPOOL_MAX_BYTES: z
    .string()
    .regex(/^\d{1,15}$/, 'must be a whole number of bytes')
    .transform(Number)
    .pipe(z.number().min(minSpoolBytes, `must be at least ${minSpoolBytes}`))
    .default(2 ** 30)
    .describe(
      'How much may wait there; when it is more, the oldest artifacts are dropped, then attempts, then final results',
    ),
  SPOOL_MAX_AGE_HOURS: wholeNumber({ min: 1, max: 8760, default: 24 }).describe(
    'Results that have waited longer than this are dropped',
  ),
  SPOOL_REQUIRED: z
    .string()
    .transform((value) => value.toLowerCase())
    .pipe(z.enum(['true', 'false'], 'must be true or false'))
    .default('false')
    .describe('Whether the agent refuses to start where SPOOL_DIR cannot be used, instead of using memory'),
  CANARY_TARGETS: canaryTargets.describe(
    'Hosts that can be connected to as long as this network is well, such as `router.lan:443,10.0.0.53:53`; while none of them can, failures of checks are the location’s',
  ),
  HTTPS_PROXY: proxyUrl.describe('Proxy for an https:// SERVICE_URL; `https_proxy` works too'),
  HTTP_PROXY: proxyUrl.describe('Proxy for an http:// SERVICE_URL; `http_proxy` works too'),
  NO_PROXY: z
    .string()
    .optional()
    .describe('Hosts reached without a proxy, separated by commas; `no_proxy` works too'),
  CA_CERTS_DIR: absolutePath.describe(
    'Folder of PEM files: certificates of your own authorities, trusted beside the usual ones by everything the agent does, scripts and browsers too; read at start. See operations.md, "Own certificate authorities"',
  ),
  EXTERNAL_OBSERVABILITY: z
    .string()
    .transform((value) => value.toLowerCase())
    .pipe(z.enum(['on', 'off'], 'must be on or off'))
    .default('on')
    .describe(
      'Whether the agent reports errors of its own to the service: message, stack, version, platform and runtime; `off` sends none',
    ),
  EGRESS_ALLOW: egressRules.describe(
    'What checks may connect to although it is closed by default or by a wider rule of EGRESS_DENY: addresses, networks (`10.0.0.0/8`) and host names (`*.example.com`), separated by commas; `*` is everything',
  ),
  CHROMIUM_PATH: z
    .string()
    .min(1, 'must not be empty')
    .optional()
    .meta({ defaultText: "the system's Chromium, else one unpacked by `npm run runtimes:install chromium`" })
    .describe('The browser of browser checks; see scripts.md, "Runtimes and browsers of an agent"'),
  RUNTIMES_DIR: absolutePath
    .meta({ defaultText: '`runtimes` beside the program' })
    .describe('Folder with the runtimes, whose packages scripts can use'),
  SCRIPTS_DIR: absolutePath
    .meta({ defaultText: '`/var/tmp/picket-scripts-UID`' })
    .describe(
      'Folder for the private folders of running scripts. Several agents of one user may share one; every user must be able to pass the folders above it; not below /tmp, where scripts get none of their own',
    ),
  ALLOW_UNISOLATED_SCRIPTS: z
    .string()
    .transform((value) => value.toLowerCase())
    .pipe(z.enum(['true', 'false'], 'must be true or false'))
    .default('false')
    .describe(
      'Runs scripts even where nothing keeps them from reading the key and files of the agent; only where all scripts are your own',
    ),
  SUITE_CACHE_MAX_BYTES: z
    .string()
    .regex(/^\d{1,15}$/, 'must be a whole number of bytes')
    .transform(Number)
    .default(5_000_000_000)
    .describe('How much of what Playwright suites installed is kept for later runs, below SCRIPTS_DIR'),
  EGRESS_DENY: egressRules.describe(
    'What checks must not connect to, written as for EGRESS_ALLOW; see operations.md, "What checks may connect to"',
  ),
});

/** They are small, and mostly wait for an answer: too few would make checks wait that take a moment each. */
const minLifecycleCount = 4;

export interface AgentSettings {
  readonly scripts: {
    /** For how many runs scripts may run before and after them at the same time. */
    readonly lifecycleCount: number;
    readonly directory: string;
    readonly runtimesDirectory: string;
    readonly chromiumPath: string | undefined;
    readonly isUnisolatedAllowed: boolean;
    readonly suites: { readonly cacheMaxBytes: number };
  };
  /** Files that secrets were read from. */
  readonly secretFiles: readonly string[];
  readonly apiKey: string;
  /** Without a slash at its end. */
  readonly serviceUrl: string;
  readonly healthPort: number;
  /** Names of the check types to offer. */
  readonly checkTypes: readonly string[];
  readonly laneSizes: { readonly probe: number; readonly script: number };
  readonly logLevel: LogLevel;
  readonly agentId: string;
  readonly shutdownGraceMs: number;
  /** Folder for what waits to be sent. */
  readonly spoolDir: string;
  readonly spoolMaxBytes: number;
  readonly spoolMaxAgeMs: number;
  readonly isSpoolRequired: boolean;
  readonly canaries: readonly CanaryTarget[];
  readonly proxy: {
    readonly https: string | undefined;
    readonly http: string | undefined;
    readonly except: string | undefined;
  };
  /** Folder with certificates of the operator's own authorities. */
  readonly caCertsDir: string | undefined;
  /** Whether errors of the agent itself are reported to the service. */
  readonly isErrorReportingOn: boolean;
  /** Rules on what checks may connect to. */
  readonly egress: { readonly allow: string; readonly deny: string };
  /** `SERVICE_SECRET_*`: usable in checks as variables, removed from everything that leaves. */
  readonly serviceSecrets: Readonly<Record<string, string>>;
}

/**
 * The agent's configuration from its environment.
 *
 * @throws AppError CONFIG_INVALID listing every problem.
 */
export function readAgentSettings(environment: Readonly<Record<string, string | undefined>>): AgentSettings {
  const secretNames = serviceSecretNames(environment);
  const schema = AgentConfig.extend(secretShape(secretNames)) as unknown as typeof AgentConfig;
  const variables = readEnvironment(schema, withLowerCaseProxies(environment));
  const secrets = variables as unknown as Readonly<Record<string, string | undefined>>;
  return {
    apiKey: variables.API_KEY,
    serviceUrl: variables.SERVICE_URL.replace(/\/+$/, ''),
    healthPort: variables.AGENT_HEALTH_PORT,
    checkTypes: variables.CHECK_TYPES,
    laneSizes: { probe: variables.PROBE_CONCURRENCY, script: variables.JOB_CONCURRENCY },
    logLevel: variables.LOG_LEVEL,
    agentId: variables.AGENT_ID ?? defaultAgentId(),
    shutdownGraceMs: variables.SHUTDOWN_GRACE_SECONDS * 1000,
    spoolDir: variables.SPOOL_DIR ?? tmpdir(),
    spoolMaxBytes: variables.SPOOL_MAX_BYTES,
    spoolMaxAgeMs: variables.SPOOL_MAX_AGE_HOURS * 3_600_000,
    isSpoolRequired: variables.SPOOL_REQUIRED === 'true',
    canaries: parseCanaries(variables.CANARY_TARGETS).targets,
    proxy: { https: variables.HTTPS_PROXY, http: variables.HTTP_PROXY, except: variables.NO_PROXY },
    caCertsDir: variables.CA_CERTS_DIR,
    isErrorReportingOn: variables.EXTERNAL_OBSERVABILITY === 'on',
    egress: { allow: variables.EGRESS_ALLOW, deny: variables.EGRESS_DENY },
    serviceSecrets: present(secrets, secretNames),
    scripts: {
      lifecycleCount: Math.max(minLifecycleCount, variables.JOB_CONCURRENCY),
      directory: variables.SCRIPTS_DIR ?? `/var/tmp/picket-scripts-${process.getuid?.() ?? 0}`,
      runtimesDirectory: variables.RUNTIMES_DIR ?? packagedRuntimes,
      chromiumPath: variables.CHROMIUM_PATH,
      isUnisolatedAllowed: variables.ALLOW_UNISOLATED_SCRIPTS === 'true',
      suites: { cacheMaxBytes: variables.SUITE_CACHE_MAX_BYTES },
    },
    secretFiles: ['API_KEY', ...secretNames].flatMap((name) => {
      const path = environment[`${name}_FILE`];
      return path ? [resolve(path)] : [];
    }),
  };
}

/** What the agent itself was given and must never show: its key, its secret variables, passwords of its proxies. */
export function ownSecretsOf(settings: AgentSettings): string[] {
  const { http, https } = settings.proxy;
  const passwords = [http, https].flatMap((proxy) => URL.parse(proxy ?? '')?.password ?? []);
  return [settings.apiKey, ...Object.values(settings.serviceSecrets), ...passwords].filter(
    (text) => text !== '',
  );
}

/**
 * The `SERVICE_SECRET_*` variables alone, given as values or as files.
 *
 * @throws AppError CONFIG_INVALID listing every problem.
 */
export function readServiceSecrets(
  environment: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const names = serviceSecretNames(environment);
  return present(readEnvironment(z.object(secretShape(names)), environment), names);
}

function secretShape(names: readonly string[]) {
  const secret = z
    .string()
    .max(maxSecretLength, 'must not be longer than 128 KiB')
    .optional()
    .meta({ secret: true });
  return Object.fromEntries(names.map((name) => [name, secret]));
}

function present(
  values: Readonly<Record<string, string | undefined>>,
  names: readonly string[],
): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = values[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/**
 * Two agents must never share an id by accident: replicas of one deployment have equal settings, and cloned machines
 * equal host names. Hence a random suffix, new at each start.
 */
function defaultAgentId(): string {
  const host =
    hostname()
      .replaceAll(/[^\w.-]/g, '-')
      .slice(0, 100) || 'agent';
  return `${host}-${crypto.randomUUID().slice(0, 8)}`;
}

/** Names of the secrets, whether they are given as a value (`NAME`) or as a file (`NAME_FILE`). */
function serviceSecretNames(environment: Readonly<Record<string, string | undefined>>): string[] {
  const names = Object.keys(environment)
    .filter((key) => key.startsWith(secretPrefix) && key.length > secretPrefix.length)
    .map((key) => key.replace(/_FILE$/, ''));
  return [...new Set(names)].sort();
}

/** Most programs read the proxy settings in lower case too; upper case wins here when both are set. */
function withLowerCaseProxies(
  environment: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string | undefined>> {
  const merged = { ...environment };
  for (const name of ['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY']) {
    merged[name] ||= environment[name.toLowerCase()];
  }
  return merged;
}

function isHttpUrl(value: string): boolean {
  const url = URL.parse(value);
  return url !== null && (url.protocol === 'http:' || url.protocol === 'https:');
}

function serviceUrlProblem(value: string): string | undefined {
  const url = URL.parse(value);
  if (!url || !isHttpUrl(value)) return 'must be an http:// or https:// address';
  if (url.username || url.password)
    return 'must not hold a user name or password; the key belongs in API_KEY';
  if (url.search || url.hash) return 'must not have a query or a fragment';
  return undefined;
}
