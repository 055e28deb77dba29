import { AppError } from '@picket/lib/errors.ts';
import { isRecord } from '@picket/lib/json/record.ts';
import { unknownFieldIssues } from '@picket/platform/http/unknown-names.ts';
import { fieldError } from '@picket/platform/http/validation.ts';
import type { Route } from '@picket/protocol/http/route.ts';
import type {
  DeploymentInput,
  PhysicalId,
  ProjectResource,
  ProjectResourceType,
  SharedFile,
} from '@picket/protocol/projects/project.ts';
import { typeNamedBy } from './kinds/named-types.ts';

type Payload = Readonly<Record<string, unknown>>;

/** A resource as the code defines it. Its payload still names others by `{ref}`; files are inlined. */
export interface DesiredResource {
  readonly type: ProjectResourceType;
  readonly logicalId: string;
  /** Position in the request, for error messages. */
  readonly index: number;
  readonly payload: Payload;
  /** Names of the private locations it is assigned to, besides those in its payload. */
  readonly locations: readonly string[];
}

/** A resource of the account that a project references without owning it. */
export interface Named {
  readonly type: ProjectResourceType;
  readonly logicalId: string;
  readonly index: number;
  readonly physicalId: PhysicalId;
}

/** A project as its code defines it: every resource after those that it references. */
export interface DesiredProject {
  readonly resources: readonly DesiredResource[];
  readonly named: readonly Named[];
  readonly names: Names;
}

const fileLists = ['dependencies', 'setupScriptDependencies', 'tearDownScriptDependencies'] as const;
/** One file may be named by thousands of checks, each with its own copy. */
const mostCharacters = 64 * 1024 * 1024;
const deepestLevels = 64;

/**
 * Parses the desired state of a request, without reading existing resources.
 *
 * @throws AppError VALIDATION_FAILED for duplicate names, unresolved or circular refs, and invalid file indexes.
 */
export function parseDesiredState({
  resources,
  sharedFiles,
}: Pick<DeploymentInput, 'resources' | 'sharedFiles'>): DesiredProject {
  requireOwnNames(resources);
  const names = new Names(resources);
  const named: Named[] = [];
  const desired: DesiredResource[] = [];
  const assigned = new Map<string, string[]>();
  let characters = 0;
  for (const [index, resource] of resources.entries()) {
    const { type, logicalId, member, physicalId } = resource;
    const wrong = problemOf(resource, index);
    if (!member) {
      if (physicalId === undefined) throw wrong('physicalId', 'is required with "member": false');
      named.push({ type, logicalId, index, physicalId });
      continue;
    }
    if (physicalId !== undefined) {
      throw wrong(
        'physicalId',
        'is only for resources with "member": false; an import makes a resource a member',
      );
    }
    const payload = withFiles(resource.payload ?? {}, sharedFiles, wrong);
    refsIn(payload, wrong); // Its depth is checked here, before anything else traverses it.
    if (isAssignment(type)) {
      const [owner, location] = assignmentOf(type, payload, names, wrong);
      assigned.set(owner, [...(assigned.get(owner) ?? []), location]);
      continue;
    }
    characters += charactersIn(payload);
    if (characters > mostCharacters) {
      throw wrong('payload', 'makes the project too large: files count once for each check that names them');
    }
    desired.push({ type, logicalId, index, payload, locations: [] });
  }
  const whole = desired.map((one) => ({ ...one, locations: assigned.get(keyOf(one)) ?? [] }));
  return { resources: inOrder(whole, names, resources), named, names };
}

/** Unique key of a resource within its project. */
export function keyOf({
  type,
  logicalId,
}: {
  readonly type: ProjectResourceType;
  readonly logicalId: string;
}): string {
  return `${type} ${logicalId}`;
}

/**
 * Replaces names of resources in a payload by their ids.
 *
 * @param idOf the id of a resource by its key.
 */
export function withIds(
  { payload, type, logicalId, index }: DesiredResource,
  names: Names,
  idOf: (key: string) => PhysicalId,
): Payload {
  const wrong = problemOf({ type, logicalId }, index);
  const walk = (value: unknown, field: string, path: string): unknown => {
    if (Array.isArray(value)) return value.map((item, at) => walk(item, field, `${path}.${at}`));
    if (!isRecord(value)) return value;
    const ref = refOf(value);
    if (ref !== undefined) return idOf(names.find(ref, { type, field }, (message) => wrong(path, message)));
    return Object.fromEntries(
      Object.entries(value).map(([key, child]) => [
        key,
        walk(child, key, path === '' ? key : `${path}.${key}`),
      ]),
    );
  };
  return walk(payload, '', '') as Payload;
}

/** Names in a project, and the resources that refs resolve to. */
export class Names {
  readonly #byLogicalId: ReadonlyMap<string, readonly ProjectResourceType[]>;

  constructor(resources: readonly Pick<ProjectResource, 'type' | 'logicalId'>[]) {
    const groups = Map.groupBy(resources, ({ logicalId }) => logicalId);
    this.#byLogicalId = new Map([...groups].map(([id, some]) => [id, some.map(({ type }) => type)]));
  }

  /** Key of the resource that a ref in a field resolves to. */
  find(
    ref: string,
    { type: owner, field }: { readonly type: ProjectResourceType; readonly field: string },
    wrong: (message: string) => Error,
  ): string {
    const types = this.#byLogicalId.get(ref) ?? [];
    const wanted = typeNamedBy(owner, field);
    const fitting = wanted === undefined ? types : types.filter((type) => type === wanted);
    const [type] = fitting;
    const what = wanted === undefined ? 'resource' : wanted;
    if (type === undefined) throw wrong(`names no ${what} of the project: ${JSON.stringify(ref)}`);
    if (fitting.length > 1) throw wrong(`is the name of several resources: ${JSON.stringify(ref)}`);
    return keyOf({ type, logicalId: ref });
  }
}

/** An error whose message names the resource that it concerns. */
export class ResourceError extends AppError {}

/** Formats problems of a resource, with its name and the field. */
export function problemOf(
  { type, logicalId }: Pick<ProjectResource, 'type' | 'logicalId'>,
  index: number,
): (field: string, message: string) => Error {
  return (field, message) => {
    const inPayload = field === 'physicalId' || field === 'payload' ? field : `payload.${field}`;
    return new ResourceError('VALIDATION_FAILED', `${type} "${logicalId}": "${field}" ${message}`, {
      validation: { source: 'payload', keys: [`resources.${index}.${inPayload}`] },
    });
  };
}

function requireOwnNames(resources: readonly ProjectResource[]): void {
  const seen = new Set<string>();
  const twice = resources.flatMap((resource, index) => {
    const key = keyOf(resource);
    const isTaken = seen.has(key);
    seen.add(key);
    return isTaken
      ? [
          {
            key: `resources.${index}.logicalId`,
            message: `stands twice: ${resource.type} "${resource.logicalId}"`,
          },
        ]
      : [];
  });
  if (twice.length > 0) throw fieldError('payload', twice);
}

type Wrong = (field: string, message: string) => Error;

/** Replaces file indexes by the files themselves. */
function withFiles(payload: Payload, files: readonly SharedFile[], wrong: Wrong): Payload {
  const lists = fileLists.flatMap((field) => {
    const list = payload[field];
    if (!Array.isArray(list)) return [];
    const inlined = list.map((one: unknown, at) => {
      if (typeof one !== 'number') return one;
      const file = files[one];
      if (!file) throw wrong(`${field}.${at}`, `is not an index of sharedFiles: ${one}`);
      return file;
    });
    return [[field, inlined] as const];
  });
  return lists.length === 0 ? payload : { ...payload, ...Object.fromEntries(lists) };
}

function isAssignment(type: ProjectResourceType): boolean {
  return type === 'private-location-check-assignment' || type === 'private-location-group-assignment';
}

/** Key of the assigned resource, and logicalId of the location. */
function assignmentOf(
  type: ProjectResourceType,
  payload: Payload,
  names: Names,
  wrong: Wrong,
): [string, string] {
  const field = type === 'private-location-check-assignment' ? 'checkId' : 'groupId';
  const find = (name: string) => {
    const ref = refOf(payload[name]);
    if (ref === undefined) throw wrong(name, 'must be a {"ref": "<logicalId>"}');
    return { ref, key: names.find(ref, { type, field: name }, (message) => wrong(name, message)) };
  };
  return [find(field).key, find('privateLocationId').ref];
}

/** Sorts resources after those that they reference: a valid order of creation. */
function inOrder(
  desired: readonly DesiredResource[],
  names: Names,
  resources: readonly ProjectResource[],
): DesiredResource[] {
  const byKey = new Map(desired.map((one) => [keyOf(one), one]));
  const needs = (one: DesiredResource): string[] => {
    const wrong = problemOf(one, one.index);
    const refs = refsIn(one.payload, wrong).map(({ ref, field, path }) =>
      names.find(ref, { type: one.type, field }, (message) => wrong(path, message)),
    );
    return [...refs, ...one.locations.map((logicalId) => keyOf({ type: 'private-location', logicalId }))];
  };
  const done = new Set<string>();
  const ordered: DesiredResource[] = [];
  for (const first of byKey.keys()) {
    // Iterative depth-first search: a chain may be as long as the project.
    const open: { readonly key: string; readonly left: string[] }[] = [];
    const isOpen = new Set<string>();
    const enter = (key: string) => {
      const one = byKey.get(key);
      if (!one || done.has(key)) return;
      if (isOpen.has(key)) {
        const circle = [...open.map((entry) => entry.key), key];
        const names = circle
          .slice(circle.indexOf(key))
          .map((part) => `"${part.slice(part.indexOf(' ') + 1)}"`);
        const { logicalId, type } = resources[one.index] ?? one;
        throw problemOf({ type, logicalId }, one.index)(
          'payload',
          `refers to itself in a circle: ${names.join(' → ')}`,
        );
      }
      isOpen.add(key);
      open.push({ key, left: needs(one) });
    };
    enter(first);
    for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
      const next = top.left.shift();
      if (next !== undefined) {
        enter(next);
        continue;
      }
      open.pop();
      isOpen.delete(top.key);
      done.add(top.key);
      const one = byKey.get(top.key);
      if (one) ordered.push(one);
    }
  }
  return ordered;
}

interface FoundRef {
  readonly ref: string;
  readonly field: string;
  readonly path: string;
}

/** All refs in a payload. */
function refsIn(payload: Payload, wrong: Wrong): FoundRef[] {
  const found: FoundRef[] = [];
  const walk = (value: unknown, field: string, path: string, level: number): void => {
    if (level > deepestLevels) throw wrong('payload', `is nested deeper than ${deepestLevels} levels`);
    if (Array.isArray(value)) {
      for (const [at, item] of value.entries()) walk(item, field, `${path}.${at}`, level + 1);
    } else if (isRecord(value)) {
      const ref = refOf(value);
      if (ref !== undefined) found.push({ ref, field, path });
      else {
        for (const [key, child] of Object.entries(value)) {
          walk(child, key, path === '' ? key : `${path}.${key}`, level + 1);
        }
      }
    }
  };
  walk(payload, '', '', 0);
  return found;
}

function charactersIn(payload: Payload): number {
  const walk = (value: unknown): number => {
    if (typeof value === 'string') return value.length;
    if (typeof value !== 'object' || value === null) return 8;
    return Object.entries(value).reduce((sum, [key, child]) => sum + key.length + walk(child), 2);
  };
  return walk(payload);
}

/** Removes empty fields unknown to the operation: clients send empty lists and nulls for all fields that they know. */
export function withoutEmpty(route: Route, body: Payload): Payload {
  const unknown = unknownFieldIssues(route, body).filter(({ path }) => path.length === 1);
  const empty = new Set(unknown.map(({ path }) => String(path[0])).filter((field) => isEmpty(body[field])));
  return Object.fromEntries(Object.entries(body).filter(([field]) => !empty.has(field)));
}

function isEmpty(value: unknown): boolean {
  return value === null || (typeof value === 'object' && Object.keys(value).length === 0);
}

/** The name in `{"ref": "name"}`; undefined for anything else. */
function refOf(value: unknown): string | undefined {
  if (!isRecord(value)) return undefined;
  const { ref, ...others } = value;
  return typeof ref === 'string' && Object.keys(others).length === 0 ? ref : undefined;
}
