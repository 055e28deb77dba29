import { createHash } from 'node:crypto';
import type { Operations } from '@picket/platform/operations/operations.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import { titlesOf } from '@picket/protocol/projects/kind.ts';
import type { KindName } from '@picket/protocol/projects/kinds.ts';
import type { PhysicalId, ProjectResourceType } from '@picket/protocol/projects/project.ts';
import type { ImportChanges } from '@picket/protocol/projects/project-import.ts';
import { kinds } from '../kinds/index.ts';
import type { Body, Identity } from '../kinds/kind.ts';

/** A resource of the account that belongs to no project yet. */
export interface Candidate extends Identity {
  readonly type: KindName;
  readonly payload: Body;
}

export interface Filter {
  readonly type: 'include' | 'exclude';
  readonly resource?: { readonly type: string; readonly physicalId?: PhysicalId | undefined } | undefined;
}

/** Resources of an account that pass the filters and belong to no project. */
export async function candidates(
  repositories: Repositories,
  operations: Operations,
  accountId: string,
  filters: readonly Filter[],
): Promise<Candidate[]> {
  const managed = await repositories.projects.managed(accountId);
  const taken = new Set(managed.map(({ type, physical_id: id }) => `${type} ${id}`));
  const found: Candidate[] = [];
  for (const type of Object.keys(kinds) as KindName[]) {
    const kind = kinds[type];
    for (const { physicalId, shownId } of await kind.ids(repositories, accountId)) {
      if (taken.has(`${type} ${physicalId}`) || !isLetIn(filters, type, shownId)) continue;
      const payload = await operations.callAny<Body>(kind.routes.get, { params: { [kind.key]: physicalId } });
      found.push({ type, physicalId, shownId, payload });
    }
  }
  return found;
}

/** The last matching filter decides; without filters, all kinds are included that need not be named explicitly. */
function isLetIn(filters: readonly Filter[], type: KindName, id: PhysicalId): boolean {
  const isByName = kinds[type].isImportedByName === true;
  const fitting = filters.findLast(({ resource }) => {
    if (!resource) return !isByName;
    const { physicalId = id } = resource;
    return resource.type === type && String(physicalId).toLowerCase() === String(id).toLowerCase();
  });
  return fitting ? fitting.type === 'include' : filters.length === 0 && !isByName;
}

/** Contents of an import: each resource with a name, and the alert subscriptions. */
export function planned(
  found: readonly Candidate[],
  taken: ReadonlySet<string>,
): Pick<ImportChanges, 'resources'> & { readonly ids: ReadonlyMap<string, string> } {
  const used = new Set(taken);
  const names = new Map<string, string>();
  const resources: ImportChanges['resources'] = [];
  const ids = new Map<string, string>();
  const add = (
    type: ProjectResourceType,
    logicalId: string,
    physicalId: PhysicalId,
    shown: PhysicalId,
    payload: Body,
  ) => {
    ids.set(`${type} ${logicalId}`, String(physicalId));
    resources.push({ type, logicalId, physicalId: shown, member: true, payload: { ...payload } });
  };
  for (const { type, physicalId, shownId, payload } of found) {
    const logicalId = freeName(type, physicalId, payload, used);
    names.set(`${type} ${physicalId}`, logicalId);
    add(type, logicalId, physicalId, shownId, payload);
  }
  for (const { type, physicalId, payload } of found) {
    if (type !== 'check' && type !== 'check-group') continue;
    const owner = names.get(`${type} ${physicalId}`) ?? '';
    const field = type === 'check' ? 'checkId' : 'groupId';
    const subscriptions = payload.alertChannelSubscriptions as {
      alertChannelId: number;
      activated: boolean;
    }[];
    for (const { alertChannelId, activated } of subscriptions) {
      // The names that clients generate for subscriptions.
      const channel = names.get(`alert-channel ${alertChannelId}`) ?? `alert-channel-${alertChannelId}`;
      const id = `${alertChannelId}/${type === 'check' ? 'check' : 'group'}/${physicalId}`;
      add('alert-channel-subscription', `${type}-alert-channel-subscription#${owner}#${channel}`, id, id, {
        alertChannelId,
        activated,
        [field]: physicalId,
      });
    }
  }
  return { resources, ids };
}

/** Private locations of resources, as assignments of a project. */
export function assignments(
  found: readonly Candidate[],
  locationIds: ReadonlyMap<string, string>,
): ImportChanges['resources'] {
  return found.flatMap(({ type, physicalId, payload }) => {
    if (type !== 'check' && type !== 'check-group') return [];
    const slugs = (payload.privateLocations ?? []) as string[];
    return slugs.flatMap((slug) => {
      const privateLocationId = locationIds.get(slug);
      if (privateLocationId === undefined) return [];
      const id = `${physicalId}/${slug}`;
      const name = type === 'check' ? 'check' : 'group';
      return [
        {
          type: `private-location-${name}-assignment` as const,
          logicalId: `private-location-${name}-assignment#${physicalId}#${slug}`,
          physicalId: id,
          member: true as const,
          payload: { privateLocationId, [`${name}Id`]: physicalId },
        },
      ];
    });
  });
}

/** A name derived from the title of the resource, with part of its id if that name is taken. */
function freeName(type: string, id: PhysicalId, payload: Body, used: Set<string>): string {
  const called = titlesOf(payload).find((text) => /[A-Za-z0-9]/.test(text));
  const base = (called ?? type)
    .normalize('NFKD')
    .replaceAll(/[^A-Za-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .toLowerCase()
    .slice(0, 100);
  const suffix = createHash('sha256').update(`${type} ${id}`).digest('hex').slice(0, 8);
  const free = [base, `${base}-${suffix}`].find((name) => name !== '' && !used.has(`${type} ${name}`));
  const name = free ?? `${type}-${suffix}`;
  used.add(`${type} ${name}`);
  return name;
}
