import type { KeyObject } from 'node:crypto';
import type { CheckType } from '@picket/checks/contract/check-type.ts';
import { definitionSchema } from '@picket/checks/contract/definition/definition.ts';
import { findCheckType } from '@picket/checks/index.ts';
import { isRecord } from '@picket/lib/json/record.ts';
import { CheckGroupInput } from '@picket/protocol/checks/check-group.ts';
import { variableApi } from '@picket/protocol/checks/variable.ts';
import { privateLocationRoutes } from '@picket/protocol/locations/private-location.ts';
import { signCheck } from '@picket/protocol/signing/check-signature.ts';
import { contentOf } from '@picket/protocol/signing/signed-run.ts';
import { type AccountResources, composedRun } from '@picket/service/checks/composed-run.ts';
import { z } from 'zod';
import { ApiError } from '../api/api-error.ts';
import type { ApiClient } from '../api/client.ts';
import type { ProjectResource, UnsetValue } from '../project/resources.ts';

export interface SigningOptions {
  readonly key: KeyObject;
  /** Until when the signatures are valid, in milliseconds since 1970; null: as long as the key. */
  readonly notAfter: number | null;
  /** Number of the new versions. */
  readonly serial: number;
}

/** Resources of a project by their type and name. */
class ProjectFiles {
  readonly #resources: readonly ProjectResource[];

  constructor(resources: readonly ProjectResource[]) {
    this.#resources = resources;
  }

  of(type: string): readonly ProjectResource[] {
    return this.#resources.filter((one) => one.type === type);
  }

  /** A number for a snippet of the project: the service gives it another one, which is not signed. */
  snippetNumber(name: string): number {
    return this.of('snippet').findIndex(({ logicalId }) => logicalId === name) + 1;
  }

  /** Everything of the project that its runs may use. */
  get shared(): AccountResources {
    return {
      variables: [],
      snippets: this.of('snippet').map(({ logicalId, payload }) => ({
        id: this.snippetNumber(logicalId),
        name: String(payload['name']),
        script: String(payload['script']),
      })),
      certificates: this.of('client-certificate').map(({ payload }) => ({
        host: String(payload['host']),
        cert: String(payload['cert']),
        private_key: '',
        ca: typeof payload['ca'] === 'string' ? payload['ca'] : null,
        passphrase: null,
      })),
    };
  }

  /** Slugs of the locations of a check or group, and the proxies that the project gives them. */
  proxiesOf(owner: ProjectResource): { readonly proxies: string[]; readonly otherSlugs: string[] } {
    const [type, field] =
      owner.type === 'check'
        ? (['private-location-check-assignment', 'checkId'] as const)
        : (['private-location-group-assignment', 'groupId'] as const);
    const own = this.of(type).filter(({ payload }) => refOf(payload[field]) === owner.logicalId);
    const names = new Set(own.map(({ payload }) => refOf(payload['privateLocationId'])));
    const proxies = this.of('private-location').flatMap(({ logicalId, payload }) =>
      names.has(logicalId) && typeof payload['proxyUrl'] === 'string' ? [payload['proxyUrl']] : [],
    );
    const { privateLocations } = owner.payload;
    return { proxies, otherSlugs: Array.isArray(privateLocations) ? privateLocations.map(String) : [] };
  }
}

/**
 * Adds signatures to the checks of a project, over what the files say: the service is asked only for names of variables
 * and for proxies of locations outside the project.
 *
 * @throws ApiError for files with parts that are not in the project, and for values that are not set.
 */
export async function withSignatures(
  api: ApiClient,
  projectName: string,
  resources: readonly ProjectResource[],
  unset: readonly UnsetValue[],
  options: SigningOptions,
): Promise<readonly ProjectResource[]> {
  const missing = unset.filter(({ file }) => /^(?:checks|groups|snippets)\//.test(file));
  if (missing.length > 0) {
    const names = missing.map(({ variable, file }) => `\n  - ${variable}: ${file}`).join('');
    throw new ApiError(`values are missing. A signature needs all of them:${names}`, true);
  }
  const files = new ProjectFiles(resources);
  const names = await variableNames(api, files);
  const proxies = new AccountProxies(api);
  const signed: ProjectResource[] = [];
  for (const resource of resources) {
    const type = resource.type === 'check' ? findCheckType(String(resource.payload['checkType'])) : undefined;
    if (!type || type.pings) {
      signed.push(resource);
      continue;
    }
    const { run, group } = composed(resource, type, files);
    const places = [resource, ...(group ? [group] : [])].map((one) => files.proxiesOf(one));
    const others = await proxies.of(places.flatMap(({ otherSlugs }) => otherSlugs));
    const { runtimeId } = run.effective.definition;
    const statement = contentOf(
      {
        ...run,
        runtimeId: typeof runtimeId === 'string' ? runtimeId : null,
        proxies: [...places.flatMap((place) => place.proxies), ...others],
      },
      names,
    );
    const signature = signCheck(
      {
        subject: `${projectName}/${resource.logicalId}`,
        serial: options.serial,
        notAfter: options.notAfter,
        ...statement,
      },
      options.key,
    );
    signed.push({ ...resource, payload: { ...resource.payload, signature } });
  }
  return signed;
}

/** A check of the project as its runs will be. */
function composed(resource: ProjectResource, type: CheckType, files: ProjectFiles) {
  const { payload, sourceFile } = resource;
  const groupName = refOf(payload['groupId']);
  const group = files.of('check-group').find(({ logicalId }) => logicalId === groupName);
  if (
    isRecord(payload['groupId']) ? !group : payload['groupId'] !== undefined && payload['groupId'] !== null
  ) {
    throw new ApiError(`${sourceFile}: its group is not a file of the project, so it cannot be signed`, true);
  }
  const definition = read(definitionSchema(type), resource, files);
  const run = composedRun(
    { accountId: '', groupId: group ? 1 : null, checkType: type.name, activated: true, definition },
    group && {
      id: 1,
      accountId: '',
      definition: read(CheckGroupInput, group, files),
      created: 0,
      updated: null,
    },
    files.shared,
  );
  return { run, group };
}

/** The fields of a check or group that decide what runs, as the service will store them. */
function read(
  schema: { parse(value: unknown): unknown },
  { payload, sourceFile }: ProjectResource,
  files: ProjectFiles,
): Record<string, unknown> {
  const snippets = (['setupSnippetId', 'tearDownSnippetId'] as const).flatMap((field) => {
    const value = payload[field];
    if (value === undefined || value === null) return [];
    const name = refOf(value);
    if (name !== undefined) return [[field, files.snippetNumber(name)] as const];
    throw new ApiError(`${sourceFile}: ${field} is not a file of the project, so it cannot be signed`, true);
  });
  const references = { groupId: null, parentCheckIds: [], triggerIncident: null };
  const { checkType: _type, ...fields } = payload;
  const kept = Object.fromEntries(Object.entries(fields).filter(([key]) => !Object.hasOwn(references, key)));
  return schema.parse({ ...kept, ...Object.fromEntries(snippets) }) as Record<string, unknown>;
}

/** Names of the variables of the account: those that it has, and those of the project. */
async function variableNames(api: ApiClient, files: ProjectFiles): Promise<string[]> {
  const stored = await api.all({ ...variableApi.routes.list, response: z.array(variableApi.shown) });
  const own = files.of('variable').map(({ payload }) => String(payload['key']));
  return [...new Set([...stored.map(({ key }) => key), ...own])].sort();
}

/** Proxies of locations that are not files of the project. */
class AccountProxies {
  readonly #api: ApiClient;
  #bySlug: ReadonlyMap<string, string> | undefined;

  constructor(api: ApiClient) {
    this.#api = api;
  }

  async of(slugs: readonly string[]): Promise<string[]> {
    if (slugs.length === 0) return [];
    this.#bySlug ??= new Map(
      (await this.#api.call(privateLocationRoutes.listPrivateLocations)).flatMap(({ slugName, proxyUrl }) =>
        proxyUrl ? [[slugName, proxyUrl] as const] : [],
      ),
    );
    return slugs.flatMap((slug) => this.#bySlug?.get(slug) ?? []);
  }
}

function refOf(value: unknown): string | undefined {
  return isRecord(value) && typeof value['ref'] === 'string' ? value['ref'] : undefined;
}
