import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import type { CheckType } from '@picket/checks/contract/check-type.ts';
import { codeBundleKey } from '@picket/checks/contract/code-bundle.ts';
import { definitionSchema, runnableSpec } from '@picket/checks/contract/definition/definition.ts';
import type { Lifecycle, ScriptFile } from '@picket/checks/contract/lifecycle.ts';
import { findCheckType } from '@picket/checks/index.ts';
import { AppError, toError } from '@picket/lib/errors.ts';
import { isRecord } from '@picket/lib/json/record.ts';
import type { Fields } from '@picket/protocol/projects/kind.ts';
import { kindIn } from '@picket/protocol/projects/kinds.ts';
import { standInOf } from './project/canonical.ts';
import { mapEnvironmentValues } from './project/environment-values.ts';
import { fieldProblems } from './project/field-problems.ts';
import { parseYaml } from './project/files.ts';
import { toApi } from './project/references.ts';
import { expandCheck } from './shorthand/expand.ts';

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
 * Reads the checks of a YAML or JSON file: one check, a list, or a list under `checks`, in the fields of the API plus
 * `checkType`, or in short forms (`expandCheck`). People write files by hand, so an unknown key is an error (a typo would
 * otherwise silently change the check).
 *
 * @throws AppError CHECK_FILE_INVALID naming every problem with its field.
 */
export async function readCheckFile(path: string, environment: Environment): Promise<FileChecks> {
  const content = await readFile(path, 'utf8').catch((thrown: unknown) => {
    throw invalid(path, [`cannot read the file: ${toError(thrown).message}`]);
  });
  return parseCheckFile(path, content, environment);
}

/** The checks of a file, and whether it has a list of them. */
export interface FileChecks {
  readonly checks: readonly FileCheck[];
  readonly isList: boolean;
}

/** As `readCheckFile`, for the text of a file; `path` only names it in messages. */
export function parseCheckFile(path: string, content: string, environment: Environment = {}): FileChecks {
  const value = contentOf(path, content);
  const list = Array.isArray(value)
    ? value
    : isRecord(value) && Array.isArray(value['checks'])
      ? value['checks']
      : undefined;
  if (!list)
    return { checks: [checkOf(value, { path, environment, defaultName: basename(path) })], isList: false };
  if (list.length === 0) throw invalid(path, ['the list has no check']);
  const checks = list.map((item, index) => {
    const place = {
      path: `${path}: check ${index + 1}`,
      environment,
      defaultName: `${basename(path)} ${index + 1}`,
    };
    return checkOf(item, place);
  });
  return { checks, isList: true };
}

/** As `readCheckFile`, for the text of a file with one check. */
export function parseCheck(path: string, content: string, environment: Environment = {}): FileCheck {
  return checkOf(contentOf(path, content), { path, environment, defaultName: basename(path) });
}

function contentOf(path: string, content: string): unknown {
  const read = parseYaml(content);
  if ('problems' in read) throw invalid(path, read.problems);
  return read.value;
}

interface Place {
  /** Names the check in messages. */
  readonly path: string;
  readonly environment: Environment;
  readonly defaultName: string;
}

function checkOf(value: unknown, { path, environment, defaultName }: Place): FileCheck {
  if (!isRecord(value)) throw invalid(path, ['a check must be a mapping of fields']);
  const unset: string[] = [];
  const filled = mapEnvironmentValues(value, ({ name }, field) => {
    const found = environment[name];
    if (found === undefined) unset.push(`${field.join('.')}: the environment variable ${name} is not set`);
    return found ?? '';
  }) as Fields;
  if (unset.length > 0) throw invalid(path, unset);
  const groupName = typeof filled['group'] === 'string' ? filled['group'] : undefined;
  const expanded = expandCheck(filled);
  if (expanded.problems.length > 0) throw invalid(path, expanded.problems);
  const input = toApi(kindIn('checks').references, expanded.fields, (to) => standInOf(to, '1'));

  const { checkType, ...fields } = input;
  const type = findCheckType(String(checkType));
  if (!type) throw new Error(`no check type ${String(checkType)}`);
  if (type.pings) {
    throw invalid(path, [
      `checkType: a ${type.title.toLowerCase()} waits for pings, so there is nothing to run; create it with picket deploy`,
    ]);
  }
  const suiteSource = type.needsSuites ? suiteSourceOf(path, fields.codeBundlePath) : undefined;
  const known = {
    name: defaultName,
    ...fields,
    ...(suiteSource === undefined ? {} : { codeBundlePath: unknownKey }),
  };
  const parsed = definitionSchema(type).safeParse(known);
  const problems = fieldProblems(definitionSchema(type), known).map(
    ({ path: field, text }) => `${field.join('.') || 'check'}: ${text}`,
  );
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
