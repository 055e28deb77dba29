import type { CheckType } from '@picket/checks/contract/check-type.ts';
import { maskedValues } from '@picket/checks/contract/definition/definition.ts';
import { isRecord } from '@picket/lib/json/record.ts';
import { withoutDefaults } from '@picket/lib/json/without-defaults.ts';
import { stringify } from 'yaml';

type Fields = Readonly<Record<string, unknown>>;

export interface FileSources {
  readonly type: CheckType;
  /** The check with the settings of its group, as shown by the API: masked values are "". */
  readonly check: Fields;
  /** Variables of the account; the value of a hidden one is null. */
  readonly variables: readonly { readonly key: string; readonly value: string | null }[];
  /** The scripts of the check's snippets, by id. */
  readonly snippets: ReadonlyMap<number, string>;
}

export interface CheckFile {
  /** YAML that `picket run` accepts. */
  readonly text: string;
  /** Variables with hidden values: to be passed with `--env`. */
  readonly hidden: readonly string[];
  /** Descriptions of other missing values. */
  readonly notes: readonly string[];
}

/** Fields of a check, besides those of its type, that affect a single run. */
const lifecycleKeys = [
  ['setupSnippetId', 'localSetupScript'],
  ['tearDownSnippetId', 'localTearDownScript'],
] as const;

/** Converts a check to a file for `picket run`: the fields that affect its run, without defaults, and its variables. */
export function checkFile({ type, check, variables, snippets }: FileSources): CheckFile {
  const notes: string[] = [];
  const spec = withoutDefaults(
    type.spec,
    Object.fromEntries(Object.keys(type.spec.shape).map((key) => [key, check[key]])),
  );
  for (const { path, flags } of maskedValues(type)) {
    if (flags === undefined && valueAt(check, path) === '') notes.push(`${path.join('.')} is not shown`);
  }
  if (type.needsSuites) {
    spec['codeBundlePath'] = './suite';
    notes.push('codeBundlePath must name the folder of the suite, as seen from the file');
  }
  const scripts = type.usesLifecycleScripts ? lifecycle(check, snippets) : {};
  const said = JSON.stringify([spec, scripts]);
  const own = entries(check['environmentVariables']);
  const isOwn = (name: string) => own.some(({ key }) => key === name);
  const isNamed = ({ key }: { readonly key: string }) => new RegExp(`\\b${key}\\b`).test(said);
  const named = [
    ...variables.filter((one) => isNamed(one) && !isOwn(one.key)),
    ...own.map(({ key, value, secret, locked }) => ({ key, value: secret || locked ? null : value })),
  ];
  const shown = named.filter(({ value }) => value !== null);
  const { runtimeId } = check;
  const file = {
    checkType: type.name,
    name: check['name'],
    ...spec,
    ...scripts,
    ...(typeof runtimeId === 'string' && said.includes('script') ? { runtimeId } : {}),
    ...(shown.length > 0 ? { environmentVariables: shown } : {}),
  };
  return {
    text: stringify(file, { lineWidth: 0 }),
    hidden: named.filter(({ value }) => value === null).map(({ key }) => key),
    notes,
  };
}

/** Returns the scripts around a run: a referenced snippet precedes the check's own script. */
function lifecycle(check: Fields, snippets: ReadonlyMap<number, string>): Record<string, string> {
  return Object.fromEntries(
    lifecycleKeys.flatMap(([snippetKey, scriptKey]) => {
      const [id, own] = [check[snippetKey], check[scriptKey]];
      const parts = [
        typeof id === 'number' ? (snippets.get(id) ?? '') : '',
        typeof own === 'string' ? own : '',
      ];
      const script = parts.filter((part) => part.trim() !== '').join('\n');
      return script === '' ? [] : [[scriptKey, script]];
    }),
  );
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((at, key) => (isRecord(at) ? at[key] : undefined), value);
}

interface Entry {
  readonly key: string;
  readonly value: string;
  readonly secret?: boolean;
  readonly locked?: boolean;
}

function entries(value: unknown): Entry[] {
  return Array.isArray(value) ? value.filter((one) => isRecord(one) && typeof one['key'] === 'string') : [];
}
