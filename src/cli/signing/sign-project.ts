import { isDeepStrictEqual } from 'node:util';
import { definitionSchema } from '@picket/checks/contract/definition/definition.ts';
import { findCheckType } from '@picket/checks/index.ts';
import { isRecord } from '@picket/lib/json/record.ts';
import { CheckGroupInput } from '@picket/protocol/checks/check-group.ts';
import type { AccountResources } from '@picket/service/checks/composed-run.ts';
import { z } from 'zod';
import { ApiError } from '../api/api-error.ts';
import type { ApiClient } from '../api/client.ts';
import type { FileWarning } from '../project/file-warnings.ts';
import type { ProjectResource, UnsetValue } from '../project/resources.ts';
import { AccountProxies, type OpenVariable, storedVariables } from './account-facts.ts';
import { openHosts } from './open-hosts.ts';
import { contentToSign, type SigningOptions, signDefinition } from './sign-definition.ts';

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
  get shared(): Omit<AccountResources, 'variables'> {
    return {
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

/** Resources of a project, and values that the environment lacks. */
export interface ToDeploy {
  readonly resources: readonly ProjectResource[];
  readonly unset: readonly UnsetValue[];
  /** The same with other texts in place of these values: a signature must not depend on them. */
  readonly otherwise: readonly ProjectResource[];
}

/**
 * Adds signatures to the checks of a project, over what the files say: the service contributes only names of
 * variables, and proxies of locations outside the project.
 *
 * @throws ApiError for files with parts that are not in the project, and for missing values that would be signed.
 */
export async function withSignatures(
  api: ApiClient,
  projectName: string,
  { resources, unset, otherwise }: ToDeploy,
  options: SigningOptions,
): Promise<SignedResources> {
  const files = new ProjectFiles(resources);
  const others = new ProjectFiles(otherwise);
  const variables = await openVariables(api, files);
  const names = variables.map(({ key }) => key);
  const proxies = new AccountProxies(api);
  const signed: ProjectResource[] = [];
  const warnings: FileWarning[] = [];
  for (const [index, resource] of resources.entries()) {
    const type = resource.type === 'check' ? findCheckType(String(resource.payload['checkType'])) : undefined;
    if (!type || type.pings) {
      signed.push(resource);
      continue;
    }
    const group = groupOf(resource, files);
    const owners = [resource, ...(group ? [group] : [])];
    warnings.push(...openHostWarnings(resource, openNames(names, owners)));
    const places = owners.map((one) => files.proxiesOf(one));
    const shared = {
      subject: `${projectName}:${resource.logicalId}`,
      openVariables: variables,
      proxies: [
        ...places.flatMap((place) => place.proxies),
        ...(await proxies.of(places.flatMap(({ otherSlugs }) => otherSlugs))),
      ],
    };
    const definitionIn = (one: ProjectResource, own: ProjectFiles) => {
      const ofGroup = groupOf(one, own);
      return {
        ...shared,
        type,
        definition: read(definitionSchema(type), one, own),
        group: ofGroup && read(CheckGroupInput, ofGroup, own),
        shared: own.shared,
      };
    };
    if (unset.length > 0) {
      refuseMissing(unset, () =>
        isDeepStrictEqual(
          contentToSign(definitionIn(resource, files)),
          contentToSign(definitionIn(otherwise[index] ?? resource, others)),
        ),
      );
    }
    const signature = signDefinition(definitionIn(resource, files), options);
    signed.push({ ...resource, payload: { ...resource.payload, signature } });
  }
  return { resources: signed, warnings };
}

/** @throws ApiError if a signature would depend on values that are not set: the service keeps its own in their place. */
function refuseMissing(unset: readonly UnsetValue[], isIndependent: () => boolean): void {
  try {
    if (isIndependent()) return;
  } catch (thrown) {
    // A field that must have another form than the text in its place is one that is signed.
    if (!(thrown instanceof z.ZodError)) throw thrown;
  }
  const names = unset
    .filter(({ file }) => /^(?:checks|groups|snippets|client-certificates)\//.test(file))
    .map(({ variable, file }) => `\n  - ${variable}: ${file}`)
    .join('');
  throw new ApiError(`values are missing. A signature needs all of them that are not secrets:${names}`, true);
}

/** Resources with signatures, and parts of them that others decide nevertheless. */
interface SignedResources {
  readonly resources: readonly ProjectResource[];
  readonly warnings: readonly FileWarning[];
}

/** Names of the variables of a check's runs whose values are not signed. */
function openNames(ofAccount: readonly string[], owners: readonly ProjectResource[]): string[] {
  const own = owners.flatMap(({ payload: { environmentVariables } }) =>
    Array.isArray(environmentVariables) ? environmentVariables.filter(isRecord) : [],
  );
  const names = (some: typeof own) => some.map(({ key }) => String(key));
  const isSecret = ({ secret, locked }: (typeof own)[number]) => secret === true || locked === true;
  const closed = new Set(names(own.filter((one) => !isSecret(one))));
  return [...ofAccount, ...names(own.filter(isSecret))].filter((name) => !closed.has(name));
}

function openHostWarnings({ payload, sourceFile }: ProjectResource, open: readonly string[]): FileWarning[] {
  return openHosts(payload, open).map(({ field, variable }) => ({
    file: sourceFile,
    field,
    message: `The host in ${field} comes from the variable ${variable}, whose value is not signed: it can be changed to send the check elsewhere. Use a variable of the check or its group that is not secret.`,
  }));
}

/** The group of a check, as the project has it. */
function groupOf({ payload, sourceFile }: ProjectResource, files: ProjectFiles): ProjectResource | undefined {
  const { groupId } = payload;
  if (groupId === undefined || groupId === null) return undefined;
  const name = refOf(groupId);
  const group = files.of('check-group').find(({ logicalId }) => logicalId === name);
  if (group) return group;
  throw new ApiError(`${sourceFile}: its group is not a file of the project, so it cannot be signed`, true);
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

/** Variables of the account: those that it has, and those of the project, which replace them. */
async function openVariables(api: ApiClient, files: ProjectFiles): Promise<OpenVariable[]> {
  const own = files.of('variable').map(({ payload: { key, valueFrom } }) => ({
    key: String(key),
    valueFrom: typeof valueFrom === 'string' ? valueFrom : null,
  }));
  const all = [...(await storedVariables(api)), ...own].map((one) => [one.key, one] as const);
  return [...new Map(all).values()].sort((left, right) => (left.key < right.key ? -1 : 1));
}

function refOf(value: unknown): string | undefined {
  return isRecord(value) && typeof value['ref'] === 'string' ? value['ref'] : undefined;
}
