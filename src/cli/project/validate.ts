import { codeBundleKey, codeBundleKeyOf } from '@picket/checks/contract/code-bundle.ts';
import type { Fields } from '@picket/protocol/projects/kind.ts';
import { kindIn } from '@picket/protocol/projects/kinds.ts';
import { standInOf } from './canonical.ts';
import { mapEnvironmentValues } from './environment-values.ts';
import { fieldProblems } from './field-problems.ts';
import { type Definition, type Project, pathOf } from './project.ts';
import { fieldInFile, toApi } from './references.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Returns the problems with the files of a project, with file and field: violated rules of the API, and names without a
 * file.
 */
export function problemsOf(project: Project, environment: Environment = {}): string[] {
  const names = new Map(
    project.definitions.map(({ folder, logicalId }, index) => [`${folder}/${logicalId}`, String(index + 1)]),
  );
  return project.definitions.flatMap((definition) => definitionProblems(definition, names, environment));
}

/** Replaces the paths of suites with a key, as an upload does. */
function withBundleKey(fields: Fields): Fields {
  const { codeBundlePath: path } = fields;
  if (typeof path !== 'string' || path === '' || codeBundleKey.test(path)) return fields;
  return { ...fields, codeBundlePath: codeBundleKeyOf({ sha256: '0'.repeat(64), sizeBytes: 1 }) };
}

function definitionProblems(
  definition: Definition,
  names: ReadonlyMap<string, string>,
  environment: Environment,
): string[] {
  const kind = kindIn(definition.folder);
  const file = pathOf(definition);
  if (definition.problems?.length) return definition.problems.map((one) => `${file}: ${one}`);
  const problems: string[] = [];
  const unset: string[] = [];
  const filled = mapEnvironmentValues(definition.fields, ({ name }, path) => {
    const value = environment[name];
    if (value === undefined) unset.push(path.join('.'));
    return value ?? '';
  }) as Fields;
  const api = toApi(kind.references, withBundleKey(filled), (to, name, path) => {
    const found = names.get(`${to}/${String(name)}`);
    if (found === undefined) problems.push(`${file}: ${path}: there is no file ${to}/${String(name)}.yaml`);
    return standInOf(to, found ?? '1');
  });
  const schema = kind.schema(api);
  if (!schema) {
    const field = kind.decidedBy ?? '';
    return [`${file}: ${field}: ${JSON.stringify(api[field]) ?? 'absent'} is not one that Picket knows`];
  }
  for (const { path, text } of fieldProblems(schema, api)) {
    const field = fieldInFile(kind.references, path);
    // Missing environment variables are reported at deployment.
    if (unset.includes(field)) continue;
    problems.push(`${file}: ${field === '' ? '' : `${field}: `}${text}`);
  }
  return problems;
}
