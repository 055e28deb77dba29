import type { EnvironmentVariable } from '../../checks/contract/common-fields.ts';
import type { RunLocation } from '../../protocol/sessions/definition-run.ts';
import type { HandlerDeps } from '../http/handler.ts';
import { fieldError } from '../http/validation.ts';
import type { TestSessionPlan } from './sessions.ts';

type Commit = Readonly<Record<string, unknown>> | null | undefined;

/** What clients of the field say of a session they start, as it is stored. */
export function followedPlan(given: {
  readonly name: string;
  readonly suiteId: string | null;
  readonly runLocation: string;
  readonly environment?: string | null | undefined;
  readonly environmentVariables: readonly EnvironmentVariable[];
  readonly repoInfo?: Commit;
  readonly project?: { readonly repoUrl?: string | null | undefined } | null | undefined;
}): Omit<TestSessionPlan, 'project_id' | 'retry_strategy' | 'streams_logs'> {
  const { name, suiteId, runLocation, environment = null, environmentVariables } = given;
  const said = (key: string) => {
    const value = given.repoInfo?.[key];
    return typeof value === 'string' && value !== '' ? value : null;
  };
  const metadata = {
    environment,
    repoUrl: said('repoUrl') ?? given.project?.repoUrl ?? null,
    commitId: said('commitId'),
    commitOwner: said('commitOwner'),
    commitMessage: said('commitMessage'),
    branchName: said('branchName'),
    provider: said('provider'),
  };
  return {
    name,
    name_search: name.toLowerCase(),
    run_location: runLocation,
    environment_variables: JSON.stringify(environmentVariables),
    metadata: JSON.stringify(
      Object.fromEntries(Object.entries(metadata).filter(([, value]) => value !== null)),
    ),
    environment,
    branch: metadata.branchName,
    author: metadata.commitOwner,
    provider: metadata.provider,
    suite_id: suiteId,
  };
}

const namesInMessage = 5;

/**
 * Where all runs of a session go. Nothing runs at a region by itself; a private location may have the name of
 * one, so that projects which name regions need no change.
 *
 * @throws AppError VALIDATION_FAILED, with the locations that there are.
 */
export async function locationOf(
  { store }: Pick<HandlerDeps, 'store'>,
  accountId: string,
  place: RunLocation,
): Promise<string> {
  const [field, name] = place.type === 'PRIVATE' ? ['slugName', place.slugName] : ['region', place.region];
  const known = await store.locations.idsBySlug([accountId]);
  if (known.has(`${accountId}/${name}`)) return name;
  const own = [...known.keys()].map((key) => key.slice(accountId.length + 1)).sort();
  const choice =
    own.length === 0
      ? 'there is none yet'
      : `there are ${own.slice(0, namesInMessage).join(', ')}${own.length > namesInMessage ? ', …' : ''}`;
  const hint = place.type === 'PRIVATE' ? choice : `name one (--private-location): ${choice}`;
  throw fieldError('payload', [
    { key: `runLocation.${field}`, message: `names no private location: ${JSON.stringify(name)}; ${hint}` },
  ]);
}
