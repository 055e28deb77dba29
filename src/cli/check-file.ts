import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import type { CheckType } from '@picket/checks/contract/check-type.ts';
import { codeBundleKey } from '@picket/checks/contract/code-bundle.ts';
import { definitionSchema, runnableSpec } from '@picket/checks/contract/definition/definition.ts';
import type { Lifecycle, ScriptFile } from '@picket/checks/contract/lifecycle.ts';
import { checkTypes, findCheckType } from '@picket/checks/index.ts';
import { AppError, toError } from '@picket/lib/errors.ts';
import { isRecord } from '@picket/lib/json/record.ts';
import { findUnknownFields } from '@picket/lib/names/unknown-fields.ts';
import type { Fields } from '@picket/protocol/projects/kind.ts';
import { kindIn } from '@picket/protocol/projects/kinds.ts';
import { standInOf } from './project/canonical.ts';
import { mapEnvironmentValues } from './project/environment-values.ts';
import { parseYaml } from './project/files.ts';
import { toApi } from './project/references.ts';

/** A check read from a file, ready to run. */
export interface FileCheck {
  readonly type: CheckType;
  readonly name: string;
  readonly spec: Record<string, unknown>;
  readonly variables: Record<string, string>;
  readonly secretNames: readonly string[];
  /** Scripts around the run. */
  readonly lifecycle: Lifecycle;
  readonly runtimeId: string | undefined;
  /** For suites: the folder or archive in `codeBundlePath`, as written in the file. */
  readonly suiteSource: string | undefined;
  /** Name of the file of the check's group; a run of a single file does not have the group's settings. */
  readonly groupName: string | undefined;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Placeholder for the key of a suite's archive, which is unknown before packing. */
const unknownKey = `${'0'.repeat(64)}-1`;

/**
 * Reads one check from a YAML or JSON file: the fields of the API plus `checkType`. People write files by hand, so a
 * key that the check type does not know is an error here (a typo would otherwise silently change the check).
 *
 * @throws AppError CHECK_FILE_INVALID naming every problem with its field.
 */
export async function readCheckFile(path: string, environment: Environment): Promise<FileCheck> {
  const content = await readFile(path, 'utf8').catch((thrown: unknown) => {
    throw invalid(path, [`cannot read the file: ${toError(thrown).message}`]);
  });
  return parseCheck(path, content, environment);
}

/**
 * Does the same for a text that has been read; `path` only appears in messages. References of a project file to other
 * files have no effect on a single run; `!env` values are read from the environment.
 */
export function parseCheck(path: string, content: string, environment: Environment = {}): FileCheck {
  const read = parseYaml(content);
  if ('problems' in read) throw invalid(path, read.problems);
  if (!isRecord(read.value)) throw invalid(path, ['the file must hold one check: a mapping of fields']);
  const unset: string[] = [];
  const filled = mapEnvironmentValues(read.value, ({ name }, field) => {
    const value = environment[name];
    if (value === undefined) unset.push(`${field.join('.')}: the environment variable ${name} is not set`);
    return value ?? '';
  }) as Fields;
  if (unset.length > 0) throw invalid(path, unset);
  const groupName = typeof filled['group'] === 'string' ? filled['group'] : undefined;
  const input = toApi(kindIn('checks').references, filled, (to) => standInOf(to, '1'));

  const { checkType, ...fields } = input;
  const type = typeof checkType === 'string' ? findCheckType(checkType) : undefined;
  if (!type) {
    const known = checkTypes.map(({ name }) => name).join(', ');
    throw invalid(path, [`checkType: must be one of [${known}]`]);
  }
  const suiteSource = type.needsSuites ? suiteSourceOf(path, fields.codeBundlePath) : undefined;
  const known = suiteSource === undefined ? fields : { ...fields, codeBundlePath: unknownKey };
  const parsed = definitionSchema(type).safeParse({ name: basename(path), ...known });
  const problems = [
    ...findUnknownFields([definitionSchema(type)], fields).map(({ path: key, nearest }) => {
      const meant = nearest === undefined ? '' : `; did you mean "${nearest}"?`;
      return `${key.join('.')}: unknown field${meant}`;
    }),
    ...(parsed.error?.issues ?? []).map((issue) => `${issue.path.join('.') || 'check'}: ${issue.message}`),
  ];
  for (const key of type.usesLifecycleScripts ? (['setupSnippetId', 'tearDownSnippetId'] as const) : []) {
    if (parsed.data?.[key] == null) continue;
    const field = key in filled ? key : key.replace(/Id$/, '');
    problems.push(`${field}: only the service knows snippets; a file has the script itself`);
  }
  if (!parsed.success || problems.length > 0) throw invalid(path, problems);

  const { data } = parsed;
  const { localSetupScript, localTearDownScript, runtimeId } = data;
  const phase = (script: string | null, path: string | null, files: readonly ScriptFile[] | null) =>
    type.usesLifecycleScripts && (script ?? '').trim() !== ''
      ? [
          {
            name: 'script of the check',
            script: script ?? '',
            ...(files?.length ? { path: path ?? 'script.js', files } : {}),
          },
        ]
      : [];
  const variables = parsed.data.environmentVariables ?? [];
  return {
    type,
    name: parsed.data.name,
    spec: runnableSpec(type, parsed.data),
    variables: Object.fromEntries(variables.map(({ key, value }) => [key, value ?? ''])),
    secretNames: variables.filter(({ secret }) => secret).map(({ key }) => key),
    lifecycle: {
      setup: phase(localSetupScript, data.setupScriptPath, data.setupScriptDependencies),
      teardown: phase(localTearDownScript, data.tearDownScriptPath, data.tearDownScriptDependencies),
    },
    runtimeId: runtimeId ?? undefined,
    suiteSource,
    groupName,
  };
}

/** @throws AppError CHECK_FILE_INVALID for the key of an uploaded archive, which only the service has. */
function suiteSourceOf(file: string, written: unknown): string | undefined {
  if (typeof written !== 'string' || written === '') return undefined;
  if (!codeBundleKey.test(written)) return written;
  throw invalid(file, [
    'codeBundlePath: only the service has uploaded archives; name the folder of the suite or its tar.gz, as seen from this file',
  ]);
}

function invalid(path: string, problems: readonly string[]): AppError {
  return new AppError(
    'CHECK_FILE_INVALID',
    `${path}:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`,
  );
}
