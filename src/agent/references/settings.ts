import { readEnvironment } from '@picket/lib/env.ts';
import { AppError } from '@picket/lib/errors.ts';
import { type ProxySettings, withLowerCaseProxies } from '@picket/lib/proxy.ts';
import { type SettingTree, setting, shapeOf, valuesOf, wholeNumber } from '@picket/lib/setting-tree.ts';
import { z } from 'zod';
import { providers } from './providers/index.ts';
import {
  referenceNames,
  referencePrefix,
  referenceShape,
  type SecretReference,
  secretNameOf,
} from './reference.ts';

const seconds = (options: { readonly min: number; readonly max: number; readonly default: number }) =>
  wholeNumber(options)
    .transform((value) => value * 1000)
    .meta({ defaultText: String(options.default) });

/** Settings of secrets by reference: intervals, and those of each provider. */
export const referenceSettings = {
  refreshMs: setting(
    'SECRET_REFRESH_SECONDS',
    seconds({ min: 5, max: 86_400, default: 300 }),
    `Seconds between two fetches of a secret that a \`${referencePrefix}*\` variable declares; files are read every second, and secrets with a lease earlier than it ends`,
  ),
  maxStaleMs: setting(
    'SECRET_MAX_STALE_SECONDS',
    seconds({ min: 0, max: 604_800, default: 3600 }),
    'Seconds after its last fetch for which a secret is still used while its provider does not respond; then runs that need it fail because of the location',
  ),
  providers: Object.fromEntries(providers.map(({ name, settings }) => [name, settings])) as SettingTree,
} satisfies SettingTree;

type Environment = Readonly<Record<string, string | undefined>>;

/** Everything that is needed to fetch the secrets; plain data. */
export interface ReferenceAccess {
  readonly references: readonly SecretReference[];
  readonly refreshMs: number;
  readonly maxStaleMs: number;
  readonly proxy: ProxySettings;
  /** The settings of the providers, by variable. */
  readonly variables: Readonly<Record<string, unknown>>;
  /** Environment of commands. */
  readonly environment: Environment;
}

/**
 * Reads the declared secrets out of variables that were read with `referenceShape` and `referenceSettings`.
 *
 * @param given.literalNames names of the secrets that are declared with their value.
 * @throws AppError CONFIG_INVALID for references that contradict other settings, or whose provider lacks some.
 */
export function referenceAccess(
  environment: Environment,
  variables: Readonly<Record<string, unknown>>,
  given: Pick<ReferenceAccess, 'refreshMs' | 'maxStaleMs' | 'proxy'> & {
    readonly literalNames: readonly string[];
  },
): ReferenceAccess {
  const settingNames = Object.keys(shapeOf(referenceSettings.providers));
  const access = {
    references: declaredReferences(referenceNames(environment), variables),
    refreshMs: given.refreshMs,
    maxStaleMs: given.maxStaleMs,
    proxy: given.proxy,
    variables: Object.fromEntries(settingNames.map((name) => [name, variables[name]])),
    environment: commandEnvironment(environment),
  };
  const problems = problemsOf(access, given.literalNames);
  if (problems.length === 0) return access;
  const count = problems.length === 1 ? '1 problem' : `${problems.length} problems`;
  const lines = problems.map((problem) => `  - ${problem}`).join('\n');
  throw new AppError('CONFIG_INVALID', `${count} in the configuration:\n${lines}`, {
    attributes: { problems },
  });
}

/**
 * Reads the secrets that an environment declares by reference, for runs without an agent.
 *
 * @throws AppError CONFIG_INVALID
 */
export function readReferences(environment: Environment, literalNames: readonly string[]): ReferenceAccess {
  const given = withLowerCaseProxies(environment);
  const schema = z.object(shapeOf(referenceSettings)).extend(referenceShape(referenceNames(environment)));
  const variables = readEnvironment(schema, given);
  const { refreshMs, maxStaleMs } = valuesOf(referenceSettings, variables);
  const { HTTPS_PROXY: https, HTTP_PROXY: http, ALL_PROXY: all, NO_PROXY: except } = given;
  const proxy = {
    https: https || undefined,
    http: http || undefined,
    all: all || undefined,
    except: except || undefined,
  };
  return referenceAccess(environment, variables, { refreshMs, maxStaleMs, proxy, literalNames });
}

function declaredReferences(
  names: readonly string[],
  variables: Readonly<Record<string, unknown>>,
): SecretReference[] {
  return names.flatMap((variable) => {
    const parts = variables[variable] as Omit<SecretReference, 'name'> | undefined;
    return parts === undefined ? [] : [{ name: secretNameOf(variable), ...parts }];
  });
}

/** Problems with the declared secrets together: each line starts with a variable and a colon. */
function problemsOf({ references, variables }: ReferenceAccess, literalNames: readonly string[]): string[] {
  const twice = references
    .filter(({ name }) => literalNames.includes(name))
    .map(({ name }) => `${variableOf(name)}: ${name} is set as well; set only one of them`);
  // Each line names a reference: without it the rest of the configuration can be examined.
  const ofProviders = byProvider(references).flatMap(({ provider, places, names }) => {
    const problems = provider.settingProblems(variables, places);
    return problems.length === 0 ? [] : names.map((name) => `${variableOf(name)}: ${problems.join('; ')}`);
  });
  return [...twice, ...ofProviders];
}

function variableOf(name: string): string {
  return name.replace('SERVICE_SECRET_', referencePrefix);
}

/** Credentials in the settings of providers. */
export function providerCredentials({ variables }: Pick<ReferenceAccess, 'variables'>): string[] {
  return providers.flatMap((provider) => provider.credentials(variables));
}

/** Files and folders with secrets, or with credentials of providers. */
export function referencePaths({
  references,
  variables,
}: Pick<ReferenceAccess, 'references' | 'variables'>): string[] {
  return byProvider(references).flatMap(({ provider, places }) => provider.privatePaths(variables, places));
}

function byProvider(references: readonly SecretReference[]) {
  return providers.flatMap((provider) => {
    const own = references.filter((reference) => reference.provider === provider.name);
    if (own.length === 0) return [];
    return [{ provider, places: own.map(({ place }) => place), names: own.map(({ name }) => name) }];
  });
}

/** The environment of commands that print a secret: that of the agent, without the keys and secrets of its checks. */
function commandEnvironment(environment: Environment): Environment {
  const isOurs = (name: string) => /^(?:(?:MODEL_)?API_KEY|SERVICE_SECRET_.*)$/.test(name);
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !isOurs(name)));
}
