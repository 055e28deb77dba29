import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parseEnv } from 'node:util';
import { AppError } from '@picket/lib/errors.ts';
import { type Change, DeploymentResult, projectRoutes } from '@picket/protocol/projects/project.ts';
import { ApiError } from '../api/api-error.ts';
import type { ApiClient } from '../api/client.ts';
import { showProgress } from '../api/show.ts';
import { type FileWarning, fileWarnings, warningLines } from '../project/file-warnings.ts';
import { invalidProject, readProject } from '../project/files.ts';
import { type Project, pathOf } from '../project/project.ts';
import { type ProjectResource, resourcesOf, type UnsetValue } from '../project/resources.ts';
import { problemsOf } from '../project/validate.ts';
import { withSignatures } from '../signing/sign-project.ts';
import { signingOptions } from '../signing/signing-options.ts';
import { readAccount } from './account.ts';
import { withBundles } from './bundles.ts';
import { fileOf, type PlannedChange, plannedChanges } from './changes.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Effect of a deployment of a folder. */
export interface Plan {
  readonly project: Project;
  readonly changes: readonly PlannedChange[];
  /** Parts of the files that have no effect, or less than they seem to have. */
  readonly warnings: readonly FileWarning[];
  /** The request that executes it. */
  readonly body: unknown;
}

export interface PlanOptions {
  /** Whether resources whose files were removed stay in the account. */
  readonly keep?: boolean;
  /** File of the private key that signs the checks. */
  readonly sign?: string;
  /** Days for which the signatures are valid, as typed; as long as the key if absent. */
  readonly validDays?: string;
}

/**
 * Reads a folder, requests the changes from the service, and compares them with the account.
 *
 * @throws AppError CHECK_FILE_INVALID naming every problem with the files, or values that are not set.
 */
export async function makePlan(
  api: ApiClient,
  folder: string,
  { keep = false, ...signing }: PlanOptions,
  variables: Environment,
): Promise<Plan> {
  const progress = showProgress();
  try {
    progress.say('reading files');
    const environment = { ...(await ownVariables(folder)), ...variables };
    const read = await readProject(folder);
    const problems = problemsOf(read, environment);
    if (problems.length > 0) throw invalidProject(folder, problems);
    progress.say('reading suites');
    const definitions = await withBundles(api, read.definitions, (one) => dirname(join(folder, pathOf(one))));
    const project = { ...read, definitions };
    const { resources: written, unset } = resourcesOf(project, environment);
    const { logicalId, name } = project;
    const others = Object.fromEntries(unset.map(({ variable }) => [variable, 'another value']));
    const otherwise =
      unset.length === 0 ? written : resourcesOf(project, { ...environment, ...others }).resources;
    const options = await signingOptions(signing);
    if (options) progress.say('signing the checks');
    const { resources, warnings } = options
      ? await withSignatures(api, logicalId, { resources: written, unset, otherwise }, options)
      : { resources: written, warnings: [] };
    const body = { project: { logicalId, name }, sharedFiles: [], resources };
    progress.say('requesting the plan');
    const diff = await askDiff(api, body, keep, unset);
    requireValues(folder, diff, unset);
    const isCompared = diff.some(({ action }) => action === 'UPDATE');
    const ids = new Set(diff.map((change) => `${fileOf(change).folder}/${change.physicalId}`));
    const stored = isCompared
      ? (await readAccount(api, (what) => progress.say(`comparing ${what}`))).filter(({ folder: of, id }) =>
          ids.has(`${of}/${id}`),
        )
      : [];
    const changes = plannedChanges(diff, withSigned(project, resources), stored);
    return { project, changes, warnings: [...fileWarnings(resources), ...warnings], body };
  } finally {
    progress.end();
  }
}

/** The project with the signatures of its checks, as it is deployed. */
function withSigned(project: Project, resources: readonly ProjectResource[]): Project {
  const signatures = new Map(
    resources.flatMap(({ type, logicalId, payload }) =>
      type === 'check' && payload['signature'] !== undefined
        ? [[logicalId, payload['signature']] as const]
        : [],
    ),
  );
  return {
    ...project,
    definitions: project.definitions.map((one) =>
      one.folder === 'checks' && signatures.has(one.logicalId)
        ? { ...one, fields: { ...one.fields, signature: signatures.get(one.logicalId) } }
        : one,
    ),
  };
}

async function askDiff(
  api: ApiClient,
  body: unknown,
  keep: boolean,
  unset: readonly UnsetValue[],
): Promise<readonly Change[]> {
  const query = { dryRun: 'true', ...(keep ? { preserveResources: 'true' } : {}) };
  try {
    const answer = DeploymentResult.safeParse(await api.call(projectRoutes.deployProject, { query, body }));
    if (answer.success) return answer.data.diff;
    throw new ApiError('The service did not return a plan.');
  } catch (thrown) {
    if (!(thrown instanceof ApiError) || !thrown.isBadInput || unset.length === 0) throw thrown;
    throw new ApiError(`${thrown.message}\n${unsetText(unset)}`, true);
  }
}

/** New resources need every value; existing ones keep values that are not set. */
function requireValues(folder: string, diff: readonly Change[], unset: readonly UnsetValue[]): void {
  const created = new Set(
    diff.filter(({ action }) => action === 'CREATE').map((change) => pathOf(fileOf(change))),
  );
  const missing = unset.filter(({ file }) => created.has(file));
  if (missing.length > 0) throw new AppError('CHECK_FILE_INVALID', `${folder}: ${unsetText(missing)}`);
}

function unsetText(unset: readonly UnsetValue[]): string {
  const lines = unset.map(({ variable, file }) => `\n  - ${variable}: ${file}`);
  return `values are missing. Set these variables, or add them to .env of the folder:${lines.join('')}`;
}

/** Variables of `.env` in the folder; the environment takes precedence. */
async function ownVariables(folder: string): Promise<Environment> {
  const text = await readFile(join(folder, '.env'), 'utf8').catch(() => '');
  return parseEnv(text) as Environment;
}

const signs = { CREATE: '+', UPDATE: '~', REPLACE: '±', DELETE: '-', DETACHED: 'o' } as const;
const words = {
  CREATE: 'create',
  UPDATE: 'update',
  REPLACE: 'replace',
  DELETE: 'delete',
  DETACHED: 'keep, without the project',
} as const;
const longest = 60;

/** Formats a plan: every file with its fields, the number of changes of each kind, and the warnings. */
export function planLines({ changes, warnings }: Pick<Plan, 'changes' | 'warnings'>): string[] {
  const warned = warningLines(warnings);
  if (changes.length === 0) return ['No changes: the account matches the files.', ...warned];
  const lines = changes.flatMap(({ action, file, fields }) => [
    `${signs[action]} ${file}  ${words[action]}`,
    ...fields.map(
      ({ field, account, file: wished }) => `    ${field}: ${valueText(account)} → ${valueText(wished)}`,
    ),
  ]);
  const counts = Object.entries(words).flatMap(([action, word]) => {
    const { length } = changes.filter((one) => one.action === action);
    return length === 0 ? [] : [`${length} to ${word}`];
  });
  return [...lines, '', `${counts.join(', ')}.`, ...warned];
}

function valueText(value: unknown): string {
  if (value === undefined) return '(nothing)';
  const text = JSON.stringify(value);
  return text.length > longest ? `${text.slice(0, longest - 1)}…` : text;
}
