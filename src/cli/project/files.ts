import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { AppError, toError } from '@picket/lib/errors.ts';
import { nearestName } from '@picket/lib/names/nearest-name.ts';
import { type Folder, folders } from '@picket/protocol/projects/kinds.ts';
import { parseDocument, stringify } from 'yaml';
import { z } from 'zod';
import { expandCheck } from '../shorthand/expand.ts';
import { environmentTag } from './environment-values.ts';
import { type Definition, type Project, pathOf } from './project.ts';

/** The file that makes a folder a project. */
export const projectFile = 'picket.yaml';
const fileEnding = /\.(ya?ml|json)$/;

const ProjectFields = z.strictObject({
  project: z
    .string()
    .regex(/^[\w./-]{1,100}$/, 'must be letters, digits, "_", "-", "." and "/"')
    .describe('The service identifies the project by it'),
  name: z.string().min(1).max(255).optional(),
});

/** Formats a value as YAML; `!env` values are preserved. */
export function yamlText(value: unknown): string {
  return stringify(value, { lineWidth: 0, customTags: [environmentTag], aliasDuplicateObjects: false });
}

/** @returns the value of a YAML or JSON text, or its problem. */
export function parseYaml(
  text: string,
): { readonly value: unknown } | { readonly problems: readonly string[] } {
  const document = parseDocument(text, { prettyErrors: true, customTags: [environmentTag] });
  const found = [...document.errors, ...document.warnings];
  if (found.length > 0) return { problems: found.map(({ message }) => message.trimEnd()) };
  try {
    // The default limit of aliases keeps a "billion laughs" file small.
    return { value: document.toJS() };
  } catch (thrown) {
    return { problems: [toError(thrown).message] };
  }
}

/** @throws AppError CHECK_FILE_INVALID naming every file that cannot be read. */
export async function readProject(folder: string): Promise<Project> {
  const isFolder = await stat(folder).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (!isFolder) throw new AppError('CHECK_FILE_INVALID', `${folder}: the folder does not exist`);
  const problems: string[] = [];
  const head = await readHead(folder, problems);
  for (const { name } of (await readdir(folder, { withFileTypes: true })).filter((one) =>
    one.isDirectory(),
  )) {
    const isKnown = folders.some((one) => one === name);
    const meant = isKnown ? undefined : nearestName(name, folders);
    if (meant !== undefined) problems.push(`${name}: no such kind of files; did you mean "${meant}"?`);
  }
  const definitions: Definition[] = [];
  for (const kind of folders) {
    for (const path of await filesBelow(join(folder, kind))) {
      const definition = await readDefinition(folder, kind, path, problems);
      const twin = definitions.find((one) => one.folder === kind && one.logicalId === definition?.logicalId);
      if (definition && twin) problems.push(`${path}: another file has the same name`);
      if (definition) definitions.push(definition);
    }
  }
  if (problems.length > 0 || !head) throw invalidProject(folder, problems);
  return { logicalId: head.project, name: head.name ?? head.project, definitions };
}

/** Returns one error for all problems of a project. */
export function invalidProject(folder: string, problems: readonly string[]): AppError {
  return new AppError('CHECK_FILE_INVALID', `${folder}:\n${problems.map((one) => `  - ${one}`).join('\n')}`);
}

/**
 * Writes a project to a new or empty folder.
 *
 * @param others additional files, by their paths in the folder.
 * @throws AppError CHECK_FILE_INVALID if the folder is not empty.
 */
export async function writeProject(
  folder: string,
  project: Project,
  others: Readonly<Record<string, string | Uint8Array>> = {},
): Promise<void> {
  const present = await readdir(folder).catch(() => []);
  if (present.some((name) => !name.startsWith('.git'))) {
    throw new AppError(
      'CHECK_FILE_INVALID',
      `${folder}: must be a new or empty folder; existing files are not overwritten`,
    );
  }
  const texts: Record<string, string | Uint8Array> = {
    [projectFile]: yamlText({ project: project.logicalId, name: project.name }),
    ...Object.fromEntries(project.definitions.map((one) => [pathOf(one), yamlText(one.fields)])),
    ...others,
  };
  for (const [path, content] of Object.entries(texts)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
}

async function readHead(folder: string, problems: string[]) {
  const path = join(folder, projectFile);
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (thrown) {
    const isMissing = thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT';
    problems.push(
      isMissing
        ? `${projectFile}: is missing; it names the project, such as "project: shop"`
        : `${projectFile}: cannot be read: ${toError(thrown).message}`,
    );
    return undefined;
  }
  const read = parseYaml(text);
  if ('problems' in read) {
    problems.push(...read.problems.map((one) => `${projectFile}: ${one}`));
    return undefined;
  }
  const parsed = ProjectFields.safeParse(read.value);
  for (const { path: field, message } of parsed.error?.issues ?? []) {
    problems.push(`${projectFile}: ${field.length > 0 ? `${field.join('.')}: ` : ''}${message}`);
  }
  return parsed.data;
}

async function readDefinition(
  root: string,
  folder: Folder,
  path: string,
  problems: string[],
): Promise<Definition | undefined> {
  const shown = relative(root, path);
  const read = parseYaml(await readFile(path, 'utf8'));
  if ('problems' in read) {
    problems.push(...read.problems.map((one) => `${shown}: ${one}`));
    return undefined;
  }
  const { value } = read;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    const example = Array.isArray(value)
      ? `, such as ${folder}/home.yaml and ${folder}/shop.yaml for two`
      : '';
    problems.push(`${shown}: a file must hold one mapping of fields${example}`);
    return undefined;
  }
  const logicalId = relative(join(root, folder), path).replace(fileEnding, '').replaceAll('\\', '/');
  if (folder !== 'checks') return { folder, logicalId, fields: value as Definition['fields'] };
  return { folder, logicalId, ...expandCheck(value as Definition['fields']) };
}

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch(() => []);
  return entries
    .filter((one) => one.isFile() && fileEnding.test(one.name))
    .map((one) => join(one.parentPath, one.name))
    .sort();
}
