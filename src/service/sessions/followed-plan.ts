import type { EnvironmentVariable } from '@picket/checks/contract/definition/common-fields.ts';
import type { HandlerDeps } from '@picket/platform/feature/handler.ts';
import { fieldError } from '@picket/platform/http/validation.ts';
import type { RunLocation } from '@picket/protocol/sessions/definition-run.ts';
import { agentsNow } from './able-agents.ts';
import type { TestSessionPlan } from './sessions.ts';

type Commit = Readonly<Record<string, unknown>> | null | undefined;

/** Parameters of a session from existing clients, in stored form. */
export function followedPlan(given: {
  readonly name: string;
  readonly suiteId: string | null;
  readonly place: SessionPlace;
  readonly environment?: string | null | undefined;
  readonly environmentVariables: readonly EnvironmentVariable[];
  readonly repoInfo?: Commit;
  readonly project?: { readonly repoUrl?: string | null | undefined } | null | undefined;
}): Omit<TestSessionPlan, 'project_id' | 'retry_strategy' | 'streams_logs'> {
  const { name, suiteId, place, environment = null, environmentVariables } = given;
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
    askedLocation: place.asked,
  };
  return {
    name,
    name_search: name.toLowerCase(),
    run_location: place.location,
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

/** Location of all runs of a session. */
export interface SessionPlace {
  readonly location: string;
  /** Location that the client requested, if different. */
  readonly asked: string | null;
}

/** Default that clients send if neither a flag nor their configuration names a location. */
const unsaidRegion = 'eu-central-1';
const namesInMessage = 5;

/**
 * Location of all runs of a session. Regions have no agents of their own; a private location may be named like one, so
 * that projects that name regions work unchanged. The default region of clients without a configured location stands
 * for the only private location with agents of the account.
 *
 * @throws AppError VALIDATION_FAILED, with the available locations.
 */
export async function placeOf(
  { store, clock }: Pick<HandlerDeps, 'store' | 'clock'>,
  accountId: string,
  place: RunLocation,
): Promise<SessionPlace> {
  const [field, name] = place.type === 'PRIVATE' ? ['slugName', place.slugName] : ['region', place.region];
  const agents = await agentsNow(store, accountId, clock.wallMs());
  if (agents.ids.has(name)) return { location: name, asked: null };
  const own = [...agents.ids.keys()].sort();
  const served = own.filter((slug) => agents.at(slug).length > 0);
  const wrong = (message: string) => fieldError('payload', [{ key: `runLocation.${field}`, message }]);
  if (place.type === 'PUBLIC' && name === unsaidRegion && own.length > 0) {
    const [only, ...others] = served.length > 0 ? served : own;
    if (only !== undefined && others.length === 0) return { location: only, asked: name };
    const where = served.length > 0 ? 'agents are at' : 'there are';
    throw wrong(
      `is not a private location, and ${where} several private locations; name one (--private-location): ${listed(served.length > 0 ? served : own)}`,
    );
  }
  const choice = own.length === 0 ? 'there is no private location yet' : `there are ${listed(own)}`;
  const hint = place.type === 'PRIVATE' ? choice : `name one (--private-location): ${choice}`;
  throw wrong(`names no private location: ${JSON.stringify(name)}; ${hint}`);
}

function listed(slugs: readonly string[]): string {
  return `${slugs.slice(0, namesInMessage).join(', ')}${slugs.length > namesInMessage ? ', …' : ''}`;
}
