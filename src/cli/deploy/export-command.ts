import { join } from 'node:path';
import { accountRoutes } from '@picket/protocol/accounts/account.ts';
import { codeBundleRoutes } from '@picket/protocol/agent/code-bundle.ts';
import type { ApiClient } from '../api/client.ts';
import type { Shown } from '../api/command.ts';
import { showProgress } from '../api/show.ts';
import { exportAccount, type MissingValue } from '../project/export.ts';
import { writeProject } from '../project/files.ts';
import { type Definition, logicalIdOf, type Project, pathOf } from '../project/project.ts';
import { readAccount } from './account.ts';
import { planAdoption } from './adoption.ts';

export interface ExportOptions {
  /** The project's name in deployments; derived from the name of the account when absent. */
  readonly project?: string;
  /** Whether the account is deployed from the files from now on. */
  readonly adopt?: boolean;
}

/**
 * `picket export FOLDER`: writes an account as files; with `--adopt` the account is deployed from these files from then
 * on.
 */
export async function exportCommand(
  api: ApiClient,
  folder: string,
  { project: given, adopt = false }: ExportOptions,
): Promise<Shown> {
  const progress = showProgress();
  const account = await api.call(accountRoutes.getOwnAccount);
  const logicalId = given ?? logicalIdOf(account.name, new Set());
  const adoption = adopt ? await planAdoption(api, { logicalId, name: account.name }) : undefined;
  try {
    const all = await readAccount(api, (what) => progress.say(`reading ${what}`));
    const stored = adoption?.adopted(all) ?? all;
    const { definitions, missing, notes } = exportAccount(stored, adoption?.nameOf);
    progress.say('reading code bundles');
    const bundles = await withBundles(api, definitions);
    const project = { logicalId, name: account.name, definitions: bundles.definitions };
    const values: Record<string, string> =
      missing.length > 0 ? { '.env.example': environmentFile(missing) } : {};
    await writeProject(folder, project, { ...bundles.files, ...values });
    await adoption?.finish();
    progress.end();
    return shownExport(folder, project, missing, notes, adopt);
  } catch (thrown) {
    progress.end();
    await adoption?.cancel();
    throw thrown;
  }
}

function shownExport(
  folder: string,
  { logicalId, definitions }: Project,
  missing: readonly MissingValue[],
  notes: readonly string[],
  isAdopted: boolean,
): Shown {
  const files = definitions.map(pathOf);
  return {
    json: { folder, project: logicalId, isAdopted, files, valuesToGive: missing, notes },
    lines: () => [
      `${files.length} files are in ${folder}.`,
      ...(isAdopted ? [`From now on the account is deployed from them, as the project ${logicalId}.`] : []),
      ...(missing.length > 0
        ? [
            '',
            `Values that are not exported: ${missing.length}. Set these variables to deploy (${join(folder, '.env.example')} has them):`,
          ]
        : []),
      ...missing.map(({ variable, file, field }) => `  ${variable}  ${file} ${field}`),
      ...(notes.length > 0 ? ['', 'To know:'] : []),
      ...notes.map((note) => `  ${note}`),
    ],
  };
}

/** Returns the required variables as a file for shells and `docker run --env-file`. */
function environmentFile(missing: readonly MissingValue[]): string {
  const lines = missing.map(({ variable, file, field }) => `# ${file}: ${field}\n${variable}=\n`);
  return `# Values that are not in the files. Do not commit the file with the values.\n${lines.join('')}`;
}

/** Downloads the archives of suites, which checks refer to by key, and replaces the keys with paths. */
async function withBundles(api: ApiClient, definitions: readonly Definition[]) {
  const files: Record<string, Uint8Array> = {};
  const named: Definition[] = [];
  for (const definition of definitions) {
    const { codeBundlePath: key } = definition.fields;
    if (typeof key !== 'string') {
      named.push(definition);
      continue;
    }
    const path = `suites/${definition.logicalId}.tar.gz`;
    files[path] = await api.bytes(codeBundleRoutes.getCodeBundle, { params: { key } });
    const up = '../'.repeat(definition.logicalId.split('/').length);
    named.push({ ...definition, fields: { ...definition.fields, codeBundlePath: `${up}${path}` } });
  }
  return { definitions: named, files };
}
