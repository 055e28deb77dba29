import { readFile, stat } from 'node:fs/promises';
import type { Shown } from '@picket/cli/api/command.ts';
import { printable } from '@picket/cli/api/text.ts';
import type { Stored } from '@picket/cli/project/export.ts';
import { parseYaml, writeProject } from '@picket/cli/project/files.ts';
import { type Definition, pathOf } from '@picket/cli/project/project.ts';
import { problemsOf } from '@picket/cli/project/validate.ts';
import { AppError, toError } from '@picket/lib/errors.ts';
import { importAccount } from './account/account.ts';
import { importBlackbox } from './blackbox/blackbox.ts';
import { type Imported, shortened } from './collection.ts';
import { environmentFile } from './environment-file.ts';
import { importGatus } from './gatus/gatus.ts';
import { kumaBackup, readKumaDatabase } from './kuma/dump.ts';
import { importKuma } from './kuma/kuma.ts';
import type { Loss } from './source.ts';

export interface ImportCommandOptions {
  /** The slug of an existing private location; otherwise the folder defines its own. */
  readonly location?: string;
  readonly project?: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

const ownLocation = 'main';
const listFile = 'not-carried-over.txt';
const shownAtMost = 30;

/** `picket import kuma FILE FOLDER` */
export async function importKumaCommand(
  file: string,
  folder: string,
  options: ImportCommandOptions,
): Promise<Shown> {
  const head = (await readBytes(file)).subarray(0, 16).toString('latin1');
  const dump = head.startsWith('SQLite format 3')
    ? readKumaDatabase(file)
    : kumaBackup(recordOf(file, (await readBytes(file)).toString('utf8')));
  return await written(importKuma(dump, whereOf(options)), folder, 'uptime-kuma', options);
}

/** `picket import gatus FILE FOLDER` */
export async function importGatusCommand(
  file: string,
  folder: string,
  options: ImportCommandOptions,
  environment: Environment,
): Promise<Shown> {
  const text = (await readBytes(file)).toString('utf8');
  const { filled, unset } = withVariables(text, environment);
  const imported = importGatus(recordOf(file, filled), whereOf(options));
  const losses = unset.map((name) => ({
    field: `$${name}`,
    reason: 'the variable is not set here; its name is used instead of its value',
  }));
  return await written({ ...imported, losses: [...losses, ...imported.losses] }, folder, 'gatus', options);
}

/** `picket import blackbox MODULES TARGETS FOLDER` */
export async function importBlackboxCommand(
  modulesFile: string,
  targetsFile: string,
  folder: string,
  options: ImportCommandOptions,
): Promise<Shown> {
  const modules = recordOf(modulesFile, (await readBytes(modulesFile)).toString('utf8'));
  if (!('modules' in modules)) throw unreadable(modulesFile, 'it has no "modules"');
  const targets = parsedFile(targetsFile, (await readBytes(targetsFile)).toString('utf8'));
  return await written(importBlackbox({ modules, targets }, whereOf(options)), folder, 'blackbox', options);
}

/** `picket import account FOLDER`: imports the data read from an account of a comparable service. */
export async function importAccountCommand(
  { stored, losses: unread }: { readonly stored: readonly Stored[]; readonly losses: readonly Loss[] },
  folder: string,
  options: ImportCommandOptions,
): Promise<Shown> {
  const { definitions, missing, losses } = importAccount(stored);
  const given = missing.map(({ variable, file, field }) => ({
    field: `${file} ${field}`,
    reason: `the service does not show it: set the variable ${variable}`,
  }));
  const imported = { definitions, values: {}, losses: [...unread, ...losses, ...given] };
  // Its checks define where they run.
  return await written(imported, folder, 'account', { location: '', ...options });
}

function whereOf({ location }: ImportCommandOptions) {
  return { location: location ?? ownLocation };
}

async function written(
  { definitions, values, losses: found }: Imported,
  folder: string,
  source: string,
  { location, project: named }: ImportCommandOptions,
): Promise<Shown> {
  const own: readonly Definition[] =
    location === undefined && definitions.length > 0
      ? [{ folder: 'locations', logicalId: ownLocation, fields: { name: 'Main', slugName: ownLocation } }]
      : [];
  const project = {
    logicalId: named ?? source,
    name: named ?? source,
    definitions: [...own, ...shortened(definitions)],
  };
  const { text, unwritten } = environmentFile(values);
  const losses: readonly Loss[] = [
    ...found,
    ...unwritten.map((name) => ({
      field: name,
      reason: 'its value does not fit into .env: set the variable by hand',
    })),
  ];
  await writeProject(folder, project, {
    ...(losses.length > 0 ? { [listFile]: losses.map(lineOf).join('') } : {}),
    ...(text === '' ? {} : { '.env': text, '.gitignore': '.env\n' }),
  });
  // The source itself may be invalid; problems are shown here, and again by every plan.
  const problems = problemsOf(project, values);
  const rest = losses.length - shownAtMost;
  return {
    json: {
      folder,
      files: project.definitions.map(pathOf),
      losses,
      problems,
      variables: Object.keys(values),
    },
    lines: () => [
      `${project.definitions.length} files are in ${folder}.`,
      ...(text === ''
        ? []
        : [`Secrets in its .env, which is to stay out of version control: ${Object.keys(values).length}.`]),
      ...(losses.length === 0
        ? ['Everything was converted.']
        : ['', `Not carried over (${listFile} has all ${losses.length}):`]),
      ...losses.slice(0, shownAtMost).map((loss) => `  ${printable(lineOf(loss))}`),
      ...(rest > 0 ? [`  and ${rest} more`] : []),
      ...(problems.length > 0 ? ['', 'To fix before it can be deployed:'] : []),
      ...problems.map((problem) => `  ${printable(problem)}`),
      '',
      `Next: picket plan ${folder}`,
    ],
  };
}

function lineOf({ field, reason }: Loss): string {
  return `${field}: ${reason}\n`;
}

async function readBytes(file: string): Promise<Buffer> {
  try {
    const { size } = await stat(file);
    if (size > 2 ** 30) throw new Error('it is larger than 1 GB');
    return await readFile(file);
  } catch (thrown) {
    throw unreadable(file, toError(thrown).message);
  }
}

function parsedFile(file: string, text: string): unknown {
  const read = parseYaml(text);
  if ('problems' in read) throw unreadable(file, read.problems.join('; '));
  return read.value;
}

function recordOf(file: string, text: string): Readonly<Record<string, unknown>> {
  const value = parsedFile(file, text);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  throw unreadable(file, 'it contains no mapping of fields');
}

function unreadable(file: string, reason: string): AppError {
  return new AppError('CHECK_FILE_INVALID', `${file}: cannot be imported: ${reason}`);
}

/** Expands `$NAME` and `${NAME}` from the environment, and `$$` to "$", as Gatus does. */
function withVariables(
  text: string,
  environment: Environment,
): { readonly filled: string; readonly unset: readonly string[] } {
  const unset = new Set<string>();
  const filled = text.replaceAll(
    /\$\$|\$\{(\w+)\}|\$(\w+)/g,
    (written: string, braced?: string, bare?: string) => {
      if (written === '$$') return '$';
      const name = braced ?? bare ?? '';
      const value = environment[name];
      if (value === undefined) unset.add(name);
      return value ?? written;
    },
  );
  return { filled, unset: [...unset] };
}
