import { hostname, tmpdir } from 'node:os';
import { isAbsolute, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkTypes } from '@picket/checks/index.ts';
import { kerberosFiles, kerberosSettings, requireBrowserIdentity } from '@picket/checks/kerberos/settings.ts';
import { agentModelSettings, modelAccess } from '@picket/checks/model/settings.ts';
import { readEnvironment } from '@picket/lib/env.ts';
import { type LogLevel, logLevels } from '@picket/lib/log.ts';
import { dictionary } from '@picket/lib/names/dictionary.ts';
import { isProxyAddress, withLowerCaseProxies } from '@picket/lib/proxy.ts';
import { type SettingTree, setting, shapeOf, valuesOf, wholeNumber } from '@picket/lib/setting-tree.ts';
import { packageFolder } from '@picket/lib/version.ts';
import { parseEgressRules } from '@picket/probes/egress/rules.ts';
import { z } from 'zod';
import { parseCanaries } from './canary-targets.ts';
import { referenceNames, referenceShape } from './references/reference.ts';
import { referenceAccess, referencePaths, referenceSettings } from './references/settings.ts';
import { present, secretShape, serviceSecretNames } from './service-secrets.ts';
import { publicKeys, requireTrustedKeys, revokedKeyIds } from './trust/key-settings.ts';

/** A smaller spool has no room for a segment of each kind and one large result. */
const minSpoolBytes = 1_000_000;

/** Keys that users mistake for a location key. */
const otherKeys = [
  { prefix: 'ak_', kind: 'an API key of an account' },
  { prefix: 'da_', kind: 'the key of a dashboard' },
] as const;

const proxyUrl = z
  .string()
  .refine((value) => isProxyAddress(value), 'must be the http://, https:// or socks5:// URL of a proxy')
  .optional();

const canaryTargets = z
  .string()
  .superRefine((value, context) => {
    for (const message of parseCanaries(value).problems) context.addIssue({ code: 'custom', message });
  })
  .transform((value) => parseCanaries(value).targets)
  .default([])
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

/** Check types that an agent can run if its host supports them. */
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
      .min(1, 'must name at least one check type'),
  )
  .default(runnableTypes)
  .meta({ defaultText: 'all' });

/** Folder with the runtimes of this build. */
export const packagedRuntimes = fileURLToPath(new URL('runtimes', packageFolder()));

/** Other tools' names for our log levels. */
const levelAliases = dictionary<LogLevel>({ log: 'info', warning: 'warn' });

/** A choice between two words; true for the first. */
const choice = (yes: string, no: string, byDefault: string) =>
  z
    .string()
    .transform((value) => value.toLowerCase())
    .pipe(z.enum([yes, no], `must be ${yes} or ${no}`))
    .default(byDefault)
    .transform((value) => value === yes)
    .meta({ defaultText: byDefault });

const wholeBytes = z
  .string()
  .regex(/^\d{1,15}$/, 'must be a whole number of bytes')
  .transform(Number);

/** Settings that come from one variable each, in the structure that the agent's parts use. */
const settingTree = {
  apiKey: setting(
    'API_KEY',
    z
      .string('is required: the key of a private location')
      .superRefine((value, context) => {
        if (/^pl_[\x21-\x7e]+$/.test(value)) return;
        const kind = otherKeys.find(({ prefix }) => value.startsWith(prefix))?.kind;
        const what = 'must be the key of a private location: it starts with "pl_"';
        context.addIssue({ code: 'custom', message: kind ? `is ${kind}; it ${what}` : what });
      })
      .meta({ secret: true }),
    'Key of the private location this agent belongs to (`pl_…`)',
  ),
  serviceUrl: setting(
    'SERVICE_URL',
    z
      .string('is required: the address of the service')
      .superRefine((value, context) => {
        const problem = serviceUrlProblem(value);
        if (problem) context.addIssue({ code: 'custom', message: problem });
      })
      .transform((value) => value.replace(/\/+$/, '')),
    'Address of the service, such as `https://picket.example.com`; a path is kept as a prefix',
  ),
  healthPort: setting(
    'AGENT_HEALTH_PORT',
    wholeNumber({ min: 0, max: 65_535, default: 8081 }),
    'Port of the health probes and metrics, on all interfaces; 0 picks a free port and logs it',
  ),
  laneSizes: {
    script: setting(
      'JOB_CONCURRENCY',
      wholeNumber({ min: 1, max: 10, default: 1 }),
      'Script checks (browser, multi-step, Playwright) that run at the same time, 1 to 10',
    ),
    probe: setting(
      'PROBE_CONCURRENCY',
      wholeNumber({ min: 1, max: 1000, default: 100 }),
      'Probe checks (URL, API, …) that run at the same time, 1 to 1000',
    ),
  },
  checkTypes: setting(
    'CHECK_TYPES',
    checkTypeNames,
    'Check types that this agent runs, separated by commas; without a script type, the sandbox is not started',
  ),
  logLevel: setting(
    'LOG_LEVEL',
    z
      .string()
      .transform((value) => levelAliases[value.toLowerCase()] ?? value.toLowerCase())
      .pipe(z.enum(logLevels, `must be one of ${logLevels.join(', ')}`))
      .default('info'),
    `Minimum log level: ${logLevels.join(', ')}; upper or lower case`,
  ),
  agentId: setting(
    'AGENT_ID',
    z
      .string()
      .regex(/^[\w.:-]{1,128}$/, 'must have 1 to 128 letters, digits or any of _ . : -')
      .optional()
      .transform((value) => value ?? defaultAgentId())
      .meta({ defaultText: 'host name and a random suffix, new at each start' }),
    'Name of this agent in its location; keep it unique among the agents of a location',
  ),
  shutdownGraceMs: setting(
    'SHUTDOWN_GRACE_SECONDS',
    wholeNumber({ min: 0, max: 86_400, default: 300 })
      .transform((seconds) => seconds * 1000)
      .meta({ defaultText: '300' }),
    'How long running checks may continue after SIGTERM before they are returned to the service',
  ),
  spoolDir: setting(
    'SPOOL_DIR',
    z
      .string()
      .min(1, 'must not be empty')
      .optional()
      .transform((value) => value ?? tmpdir())
      .meta({ defaultText: "the system's folder for temporary files" }),
    'Folder for results and artifacts that wait to be sent; several agents may share one. Keep it on storage that outlives the agent',
  ),
  spoolMaxBytes: setting(
    'SPOOL_MAX_BYTES',
    wholeBytes.pipe(z.number().min(minSpoolBytes, `must be at least ${minSpoolBytes}`)).default(2 ** 30),
    'Maximum size of SPOOL_DIR; above it, the oldest artifacts are dropped, then attempts, then final results',
  ),
  spoolMaxAgeMs: setting(
    'SPOOL_MAX_AGE_HOURS',
    wholeNumber({ min: 1, max: 8760, default: 24 })
      .transform((hours) => hours * 3_600_000)
      .meta({ defaultText: '24' }),
    'Results that have waited longer than this are dropped',
  ),
  isSpoolRequired: setting(
    'SPOOL_REQUIRED',
    choice('true', 'false', 'false'),
    'Whether the agent refuses to start where SPOOL_DIR cannot be used, instead of using memory',
  ),
  canaries: setting(
    'CANARY_TARGETS',
    canaryTargets,
    'Canary hosts, such as `router.lan:443,10.0.0.53:53`. While all are unreachable, check failures are attributed to the location',
  ),
  proxy: {
    https: setting('HTTPS_PROXY', proxyUrl, 'Proxy for an https:// SERVICE_URL; `https_proxy` works too'),
    http: setting('HTTP_PROXY', proxyUrl, 'Proxy for an http:// SERVICE_URL; `http_proxy` works too'),
    all: setting(
      'ALL_PROXY',
      proxyUrl,
      'Proxy for SERVICE_URL where neither of the two above is set; `all_proxy` works too. All three take `http://`, `https://` and `socks5://` (the proxy resolves names), with USER:PASSWORD@',
    ),
    except: setting(
      'NO_PROXY',
      z.string().optional(),
      'Hosts reached without a proxy, separated by commas; `no_proxy` works too',
    ),
  },
  model: agentModelSettings(),
  references: referenceSettings,
  caCertsDir: setting(
    'CA_CERTS_DIR',
    absolutePath,
    'Folder of PEM files: custom CA certificates, trusted in addition to the system ones by everything in the agent, including scripts and browsers; read at start. See custom-ca-certificates.md',
  ),
  isErrorReportingOn: setting(
    'EXTERNAL_OBSERVABILITY',
    choice('on', 'off', 'on'),
    'Whether the agent reports its own errors to the service: message, stack, version, platform and runtime; `off` disables this',
  ),
  trustedKeys: setting(
    'TRUSTED_KEYS',
    publicKeys,
    'Public keys (`ed25519:KEY` or `ed25519:KEY:LAST-DAY`), separated by commas. If set, the agent runs only checks that are signed with one of them. See sign-checks.md',
  ),
  revokedKeys: setting(
    'REVOKED_KEYS',
    revokedKeyIds,
    'Keys that the agent does not trust although TRUSTED_KEYS has them: public keys or their ids of 16 hexadecimal digits, separated by commas. See sign-checks.md',
  ),
  egress: {
    allow: setting(
      'EGRESS_ALLOW',
      egressRules,
      'Destinations that checks may connect to although the default or a wider EGRESS_DENY rule blocks them: addresses, networks (`10.0.0.0/8`) and host names (`*.example.com`), separated by commas; `*` allows everything',
    ),
    deny: setting(
      'EGRESS_DENY',
      egressRules,
      'Destinations that checks must not connect to. Same syntax as EGRESS_ALLOW; see limit-egress.md',
    ),
  },
  kerberos: kerberosSettings,
  scripts: {
    chromiumPath: setting(
      'CHROMIUM_PATH',
      z.string().min(1, 'must not be empty').optional().meta({
        defaultText: 'the Chromium of the system, or one installed by `npm run runtimes:install chromium`',
      }),
      'Path of the browser for browser checks; see scripts.md, "Runtimes and browsers of an agent"',
    ),
    browsersDirectory: setting(
      'BROWSERS_DIR',
      absolutePath.meta({ defaultText: '`browsers` below RUNTIMES_DIR' }),
      'Folder of Firefox and WebKit, in the layout of Playwright; `picket browsers install` fills it',
    ),
    runtimesDirectory: setting(
      'RUNTIMES_DIR',
      absolutePath
        .transform((value) => value ?? packagedRuntimes)
        .meta({ defaultText: '`runtimes` next to the program' }),
      'Folder of the runtimes: the packages that scripts can use',
    ),
    directory: setting(
      'SCRIPTS_DIR',
      absolutePath
        .transform((value) => value ?? `/var/tmp/picket-scripts-${process.getuid?.() ?? 0}`)
        .meta({ defaultText: '`/var/tmp/picket-scripts-UID`' }),
      'Parent folder of the private folders of running scripts. Several agents of one user may share it. Every user needs execute permission on the folders above it. Not below /tmp: scripts get a /tmp of their own',
    ),
    isUnisolatedAllowed: setting(
      'ALLOW_UNISOLATED_SCRIPTS',
      choice('true', 'false', 'false'),
      'Runs scripts without isolation from the key and files of the agent. Use it only if you trust all scripts',
    ),
    suites: {
      cacheMaxBytes: setting(
        'SUITE_CACHE_MAX_BYTES',
        wholeBytes.default(5_000_000_000),
        'Size of the cache of installed dependencies of Playwright suites, below SCRIPTS_DIR',
      ),
    },
  },
} satisfies SettingTree;

/** Variables that an agent reads; the source of `picket agent --help` and docs/reference/config.md. */
export const AgentConfig = z.object(shapeOf(settingTree));

/**
 * Lifecycle scripts are small and mostly wait for a response: with too few at a time, short checks would wait for them.
 */
const minLifecycleCount = 4;

export type AgentSettings = ReturnType<typeof readAgentSettings>;

/**
 * Reads the agent's configuration from its environment.
 *
 * @throws AppError CONFIG_INVALID listing every problem.
 */
export function readAgentSettings(environment: Readonly<Record<string, string | undefined>>) {
  const secretNames = serviceSecretNames(environment);
  const schema = AgentConfig.extend(secretShape(secretNames)).extend(
    referenceShape(referenceNames(environment)),
  );
  const variables = readEnvironment(schema, withLowerCaseProxies(environment));
  const settings = valuesOf(settingTree, variables);
  requireTrustedKeys(settings);
  requireBrowserIdentity(settings.kerberos);
  const serviceSecrets = present(variables as Readonly<Record<string, string | undefined>>, secretNames);
  const references = referenceAccess(environment, variables, {
    ...settings.references,
    proxy: settings.proxy,
    literalNames: Object.keys(serviceSecrets),
  });
  const literalFiles = ['API_KEY', 'MODEL_API_KEY', ...secretNames].flatMap((name) => {
    const path = environment[`${name}_FILE`];
    return path ? [resolve(path)] : [];
  });
  return {
    ...settings,
    /** The model that AGENTIC checks use; undefined if no model is configured. */
    model: modelAccess(settings.model, settings.proxy),
    scripts: {
      ...settings.scripts,
      /** How many runs may execute lifecycle scripts at the same time. */
      lifecycleCount: Math.max(minLifecycleCount, settings.laneSizes.script),
    },
    /** `SERVICE_SECRET_*`: available to checks as variables, masked in everything that leaves the agent. */
    serviceSecrets,
    /** Secrets of the same names whose values live elsewhere. */
    references,
    /** Files that secrets are read from. */
    secretFiles: [...literalFiles, ...referencePaths(references), ...kerberosFiles(settings.kerberos)],
  };
}

/**
 * Two agents must never share an id by accident: replicas of a deployment have equal settings, and cloned machines
 * equal host names. Hence a random suffix, new at each start.
 */
function defaultAgentId(): string {
  const host =
    hostname()
      .replaceAll(/[^\w.-]/g, '-')
      .slice(0, 100) || 'agent';
  return `${host}-${crypto.randomUUID().slice(0, 8)}`;
}

function isHttpUrl(value: string): boolean {
  const url = URL.parse(value);
  return url !== null && (url.protocol === 'http:' || url.protocol === 'https:');
}

function serviceUrlProblem(value: string): string | undefined {
  const url = URL.parse(value);
  if (!url || !isHttpUrl(value)) return 'must be an http:// or https:// address';
  if (url.username || url.password)
    return 'must not contain a user name or password; the key belongs in API_KEY';
  if (url.search || url.hash) return 'must not have a query or a fragment';
  return undefined;
}
