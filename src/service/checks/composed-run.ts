import type { EnvironmentVariable } from '@picket/checks/contract/definition/common-fields.ts';
import { runnableSpec } from '@picket/checks/contract/definition/definition.ts';
import { findCheckType } from '@picket/checks/index.ts';
import type { LeasedRun } from '@picket/protocol/agent/agent.ts';
import { completeGroup, type EffectiveCheck, type GroupMember, withGroup } from './effective-check.ts';
import type { CheckGroup } from './groups/store.ts';
import { lifecycleScripts } from './lifecycle-scripts.ts';

/** Resources of an account that runs of its checks use. */
export interface AccountResources {
  readonly variables: readonly {
    readonly key: string;
    readonly value: string;
    readonly secret: 0 | 1;
    readonly locked: 0 | 1;
    /** Name of the secret of locations that is the value; null for a value of its own. */
    readonly value_from: string | null;
  }[];
  /** Oldest first. */
  readonly snippets: readonly { readonly id: number; readonly name: string; readonly script: string }[];
  readonly certificates: readonly {
    readonly host: string;
    readonly cert: string;
    readonly private_key: string;
    readonly ca: string | null;
    readonly passphrase: string | null;
  }[];
}

/** Part of a lease that decides what an agent does: composed of a check, its group and its account. */
export interface ComposedRun<C>
  extends Pick<
    LeasedRun,
    'variables' | 'secretNames' | 'valuesFrom' | 'lifecycle' | 'snippets' | 'clientCertificates'
  > {
  readonly check: Pick<LeasedRun['check'], 'checkType' | 'spec'>;
  readonly effective: EffectiveCheck<C>;
}

/** Composes a run. The service leases it, and `picket deploy --sign` signs it. */
export function composedRun<C extends GroupMember>(
  check: C,
  group: CheckGroup | undefined,
  { variables, snippets, certificates }: AccountResources,
): ComposedRun<C> {
  const type = findCheckType(check.checkType);
  const effective = withGroup(check, group);
  const settings = group && completeGroup(group);
  const { definition } = effective;
  const lifecycle = type?.usesLifecycleScripts
    ? lifecycleScripts(definition, settings, snippets)
    : { setup: [], teardown: [] };
  const runsScripts = type?.usesSnippets || lifecycle.setup.length + lifecycle.teardown.length > 0;
  const defaults = type?.groupDefaults;
  const fromGroup = settings && defaults ? defaults.variables(settings[defaults.field] as Fields) : {};
  return {
    effective,
    check: { checkType: check.checkType, spec: type ? runnableSpec(type, definition) : {} },
    ...variablesOf(variables, fromGroup, definition.environmentVariables),
    lifecycle,
    snippets: runsScripts ? snippets.map(({ id, name, script }) => ({ id, name, script })) : [],
    clientCertificates: type?.usesClientCertificates
      ? certificates.map(({ host, cert, private_key: key, ca, passphrase }) => ({
          host,
          cert,
          key,
          ca,
          passphrase,
        }))
      : [],
  };
}

type Fields = Readonly<Record<string, unknown>>;

/** Variables of the account, the group and the check; of those with one name the last wins, with its secrecy. */
function variablesOf(
  account: AccountResources['variables'],
  fromGroup: Readonly<Record<string, string>>,
  environment: unknown,
): Pick<LeasedRun, 'variables' | 'secretNames' | 'valuesFrom'> {
  const own = Array.isArray(environment) ? (environment as EnvironmentVariable[]) : [];
  const merged = new Map<
    string,
    { readonly value: string; readonly isHidden: boolean; readonly from?: string | null }
  >([
    ...account.map(
      ({ key, value, secret, locked, value_from: from }) =>
        [key, { value, isHidden: secret === 1 || locked === 1, from }] as const,
    ),
    ...Object.entries(fromGroup).map(([key, value]) => [key, { value, isHidden: false }] as const),
    // Values that the API hides are hidden in results, too.
    ...own.map(
      ({ key, value, secret, locked }) => [key, { value: value ?? '', isHidden: secret || locked }] as const,
    ),
  ]);
  return {
    variables: Object.fromEntries(
      [...merged].flatMap(([key, { value, from }]) => (from ? [] : [[key, value]])),
    ),
    valuesFrom: Object.fromEntries([...merged].flatMap(([key, { from }]) => (from ? [[key, from]] : []))),
    secretNames: [...merged].flatMap(([key, { isHidden }]) => (isHidden ? [key] : [])),
  };
}
