import { readFile, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { findCheckType } from '@picket/checks/index.ts';
import { AppError, toError } from '@picket/lib/errors.ts';
import { isRecord } from '@picket/lib/json/record.ts';
import type { Fields } from '@picket/protocol/projects/kind.ts';
import { kindIn } from '@picket/protocol/projects/kinds.ts';
import { definitionRunRoutes } from '@picket/protocol/sessions/definition-run.ts';
import { type TestSession, testSessionRoutes } from '@picket/protocol/sessions/test-session.ts';
import type { ApiClient } from '../api/client.ts';
import type { Shown } from '../api/command.ts';
import { showProgress } from '../api/show.ts';
import { table } from '../api/text.ts';
import { mapEnvironmentValues } from '../project/environment-values.ts';
import { invalidProject, parseYaml, readProject } from '../project/files.ts';
import { type Definition, pathOf } from '../project/project.ts';
import { withSnippets } from '../project/snippets.ts';
import { problemsOf } from '../project/validate.ts';
import { expandCheck } from '../shorthand/expand.ts';
import { definitionSigner } from '../signing/sign-test.ts';
import { withBundles } from './bundles.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export interface TestOptions {
  /** File of the private key that signs the checks, for agents with TRUSTED_KEYS. */
  readonly sign?: string;
  /** The slug of the private location whose agents run the checks. */
  readonly location: string;
}

const pauseMs = 500;
const mostJobs = 200;

/**
 * `picket test FILE-OR-FOLDER`: lets agents of a location run checks as defined in files, without deploying them.
 *
 * @returns exit code 1 if one did not pass.
 */
export async function testCommand(
  api: ApiClient,
  path: string,
  { location, sign }: TestOptions,
  environment: Environment,
): Promise<Shown> {
  const read = await readDefinitions(path, environment);
  const definitions = await withBundles(api, read.definitions, read.folderOf);
  const groups = new Map(
    definitions.flatMap((one) => (one.folder === 'groups' ? [[one.logicalId, one.fields]] : [])),
  );
  const snippets = new Map(
    definitions.flatMap(({ folder, logicalId, fields }) =>
      folder === 'snippets' ? [[logicalId, String(fields['script'])] as const] : [],
    ),
  );
  const runnable = (folder: 'checks' | 'groups', fields: Fields, name: string) =>
    withoutOthers(folder, withSnippets(name, filled(fields, environment), snippets));
  const checks = definitions.filter(
    ({ folder, fields }) =>
      folder === 'checks' && findCheckType(String(fields['checkType']))?.pings === undefined,
  );
  if (checks.length === 0) throw new AppError('CHECK_FILE_INVALID', `${path}: no check can run`);
  if (checks.length > mostJobs) {
    throw new AppError(
      'CHECK_FILE_INVALID',
      `${path}: ${checks.length} checks are too many; the maximum is ${mostJobs}`,
    );
  }
  const signed = await definitionSigner(api, location, sign);
  const body = {
    name: `picket test ${basename(path)}`.slice(0, 255),
    runLocation: { type: 'PRIVATE', slugName: location },
    checkRunJobs: checks.map(({ logicalId, fields }) => {
      const group = groups.get(String(fields['group']));
      return signed({
        ...runnable('checks', fields, `checks/${logicalId}.yaml`),
        logicalId,
        ...(group ? { group: runnable('groups', group, `groups/${String(fields['group'])}.yaml`) } : {}),
      });
    }),
  };
  const { testSessionId: id } = await api.call(definitionRunRoutes.runDefinitions, { body });
  const progress = showProgress();
  let session: TestSession;
  do {
    await setTimeout(pauseMs);
    session = await api.call(testSessionRoutes.getTestSession, { params: { id } });
    progress.say(`${session.running.length} of ${checks.length} are running`);
  } while (session.status === 'RUNNING');
  progress.end();
  const finals = session.results.filter(({ resultType }) => resultType !== 'ATTEMPT');
  return {
    json: session,
    lines: (width) => [
      ...table(
        ['RESULT', 'TYPE', 'NAME'],
        finals.map((one) => [resultOf(one), one.checkType, one.name]),
        width,
      ),
      ...new Set(finals.flatMap(({ message }) => message ?? [])),
      '',
      `${session.status}: ${session.testSessionLink}`,
    ],
    exitCode: session.status === 'PASSED' ? 0 : 1,
  };
}

function resultOf({ status, aborted, isDegraded }: TestSession['results'][number]): string {
  if (aborted) return 'no agent ran it';
  return status === 'PASSED' && isDegraded ? 'degraded' : status.toLowerCase();
}

interface ReadDefinitions {
  readonly definitions: readonly Definition[];
  /** Returns the base folder of a definition's paths. */
  readonly folderOf: (definition: Definition) => string;
}

async function readDefinitions(path: string, environment: Environment): Promise<ReadDefinitions> {
  const isFolder = await stat(path).then(
    (found) => found.isDirectory(),
    (thrown: unknown) => {
      throw new AppError('CHECK_FILE_INVALID', `${path}: ${toError(thrown).message}`);
    },
  );
  if (isFolder) {
    const project = await readProject(path);
    const problems = problemsOf(project, environment);
    if (problems.length > 0) throw invalidProject(path, problems);
    return { definitions: project.definitions, folderOf: (one) => dirname(join(path, pathOf(one))) };
  }
  const read = parseYaml(await readFile(path, 'utf8'));
  if ('problems' in read) throw invalidProject(path, read.problems);
  const logicalId = basename(path).replace(/\.[^.]*$/, '');
  if (!isRecord(read.value))
    throw invalidProject(path, ['the file must hold one check: a mapping of fields']);
  const definition = { folder: 'checks', logicalId, ...expandCheck(read.value) } as const;
  const problems = problemsOf({ logicalId, name: logicalId, definitions: [definition] }, environment);
  const others = kindIn('checks').references.map(({ file }) => `${pathOf(definition)}: ${file}`);
  const own = problems.filter((problem) => !others.some((start) => problem.startsWith(start)));
  if (own.length > 0) throw invalidProject(path, own);
  return { definitions: [definition], folderOf: () => dirname(path) };
}

/** @throws AppError CHECK_FILE_INVALID naming variables that are not set. */
function filled(fields: Fields, environment: Environment): Fields {
  const unset: string[] = [];
  const values = mapEnvironmentValues(fields, ({ name }) => {
    const value = environment[name];
    if (value === undefined) unset.push(name);
    return value ?? '';
  }) as Fields;
  if (unset.length === 0) return values;
  throw new AppError('CHECK_FILE_INVALID', `these variables are not set: ${unset.join(', ')}`);
}

/**
 * Removes references that a single run does not use: channels, other checks, incidents, and the check's own locations.
 */
function withoutOthers(folder: 'checks' | 'groups', fields: Fields): Fields {
  const others = new Set([
    ...kindIn(folder).references.map(({ file }) => file.split('.')[0] ?? ''),
    ...kindIn(folder).references.map(({ api }) => api.split('.')[0] ?? ''),
    ...['privateLocations', 'locations'],
  ]);
  return Object.fromEntries(Object.entries(fields).filter(([key]) => !others.has(key)));
}
