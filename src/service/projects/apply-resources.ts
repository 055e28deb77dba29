import { AppError } from '@picket/lib/errors.ts';
import { validatedBody } from '@picket/platform/http/validated.ts';
import { fieldError } from '@picket/platform/http/validation.ts';
import type { Operations } from '@picket/platform/operations/operations.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import { alertChannelRoutes } from '@picket/protocol/alerts/alert-channel.ts';
import { checkRoutes } from '@picket/protocol/checks/check.ts';
import { idOf } from '@picket/protocol/projects/kind.ts';
import type { Change, PhysicalId } from '@picket/protocol/projects/project.ts';
import {
  type DesiredProject,
  type DesiredResource,
  keyOf,
  type Named,
  problemOf,
  ResourceError,
  withIds,
  withoutEmpty,
} from './desired-state.ts';
import { type Departure, departures } from './differences.ts';
import { isKind, kinds, physicalIdOf } from './kinds/index.ts';
import { type Body, differs, type ResourceKind } from './kinds/kind.ts';
import { ownerOf, subscriptionId, subscriptionIn } from './subscriptions.ts';
import type { ProjectResourceRow } from './tables.ts';
import { vacated } from './vacating.ts';

export interface AppliedResources {
  readonly changes: readonly Change[];
  /** Rows that now map the project's resources. */
  readonly rows: readonly Omit<ProjectResourceRow, 'project_id'>[];
  /** New, activated checks. */
  readonly createdCheckIds: readonly string[];
}

interface Work {
  readonly repositories: Repositories;
  readonly operations: Operations;
  readonly accountId: string;
  readonly desired: DesiredProject;
  /** Rows that map the project's resources so far. */
  readonly rows: readonly ProjectResourceRow[];
  readonly preserve: boolean;
  /** Nothing is written: ids of resources to be created are placeholders. */
  readonly isDry: boolean;
  /** Called after each resource with the completed share, from 0 to 1; may throw to abort the work. */
  readonly onProgress?: (done: number) => Promise<void>;
}

const mostProblems = 20;

/**
 * Makes the resources of a project match its code, one by one, through the same operations that users call. Resources
 * that already match are left unchanged. Within a transaction it is all or nothing; a dry run determines the changes
 * and validates every payload.
 *
 * @throws AppError naming the resources and fields that are rejected.
 */
export async function applyResources(work: Work): Promise<AppliedResources> {
  return new Apply(work).run();
}

class Apply {
  readonly #work: Work;
  readonly #ids = new Map<string, PhysicalId>();
  readonly #slugs = new Map<string, string>();
  readonly #rowsByKey: ReadonlyMap<string, ProjectResourceRow>;
  readonly #changes: Change[] = [];
  readonly #written: Omit<ProjectResourceRow, 'project_id'>[] = [];
  readonly #created: string[] = [];
  readonly #problems: AppError[] = [];
  /** Desired bodies of the project read so far, by id. */
  readonly #bodies = new Map<unknown, Body>();
  #madeUp = 0;

  constructor(work: Work) {
    this.#work = work;
    this.#rowsByKey = new Map(work.rows.map((row) => [`${row.type} ${row.logical_id}`, row]));
  }

  async run(): Promise<AppliedResources> {
    const { desired, rows, preserve, onProgress } = this.#work;
    for (const named of desired.named) await this.#collect(() => this.#name(named));
    const gone = departures(desired, rows, preserve);
    const count = desired.resources.length + gone.first.length + gone.last.length;
    let done = 0;
    const step = async (take: () => Promise<void>) => {
      await this.#collect(take);
      done += 1;
      await onProgress?.(done / count);
    };
    for (const one of gone.first) await step(() => this.#remove(one));
    if (!this.#work.isDry) await this.#vacate(gone.last);
    for (const one of desired.resources) await step(() => this.#write(one));
    for (const one of gone.last) await step(() => this.#remove(one));
    if (this.#problems.length > 0) throw together(this.#problems);
    return { changes: this.#changes, rows: this.#written, createdCheckIds: this.#created };
  }

  /** Makes pages release addresses that other pages of the project take over. */
  async #vacate(gone: readonly Departure[]): Promise<void> {
    const { desired, rows, operations } = this.#work;
    const written = new Set(desired.resources.map(keyOf));
    const deleted = gone.filter(({ change }) => change.action === 'DELETE').map(({ row }) => row);
    const present = rows.filter((row) => written.has(`${row.type} ${row.logical_id}`));
    const look = (kind: ResourceKind, id: PhysicalId) => this.#stored(kind, id);
    for (const { kind, id, body } of await vacated(desired.resources, [...present, ...deleted], look)) {
      if (kind.routes.update)
        await operations.callAny(kind.routes.update, { params: { [kind.key]: id }, body });
    }
  }

  /** A dry run collects all problems; otherwise the first one aborts the transaction. */
  async #collect(take: () => Promise<void>): Promise<void> {
    try {
      await take();
    } catch (thrown) {
      if (!this.#work.isDry || !(thrown instanceof AppError) || thrown.statusCode >= 500) throw thrown;
      this.#problems.push(thrown);
      if (this.#problems.length >= mostProblems) throw together(this.#problems);
    }
  }

  /** A resource of the account that the project names must exist. */
  async #name({ type, logicalId, index, physicalId }: Named): Promise<void> {
    if (!isKind(type)) throw problemOf({ type, logicalId }, index)('physicalId', 'names nothing by itself');
    this.#ids.set(keyOf({ type, logicalId }), physicalId);
    const stored = await this.#stored(kinds[type], physicalId);
    if (!stored) {
      throw problemOf({ type, logicalId }, index)(
        'physicalId',
        `names no ${type} of the account: ${physicalId}`,
      );
    }
    this.#record(type, logicalId, physicalId, 0);
    if (type === 'private-location') this.#slugs.set(logicalId, String(stored.slugName));
  }

  async #write(desired: DesiredResource): Promise<void> {
    const { type, logicalId, index } = desired;
    if (isKind(type)) {
      await naming(desired, () => this.#writeResource(desired, kinds[type]));
    } else {
      await naming(desired, () => this.#subscribe(desired));
    }
    if (!this.#ids.has(keyOf(desired))) {
      throw problemOf({ type, logicalId }, index)('payload', 'could not be written');
    }
  }

  async #writeResource(desired: DesiredResource, kind: ResourceKind): Promise<void> {
    const { type, logicalId } = desired;
    const row = this.#rowsByKey.get(keyOf(desired));
    const id = row && physicalIdOf(type, row.physical_id);
    const present = id === undefined ? undefined : await this.#stored(kind, id);
    // Ids of existing resources are known even if their payload is rejected.
    this.#ids.set(keyOf(desired), (present && id) ?? this.#placeholder(kind));
    const payload = withIds(desired, this.#work.desired.names, (key) => this.#idOf(key));
    const assigned = this.#assigned((kind.bodyOf ?? same)(payload), desired);
    const kept = kind.keepsFirst && present ? kind.keeping?.(assigned, present) : undefined;
    const route = kind.bodyRoute?.(assigned) ?? kind.routes.create;
    const body = withoutEmpty(route, kept ?? assigned);
    const parsed = { ...(validatedBody(route, body) as Body), ...pick(body, 'checkType') };
    if (type === 'private-location') this.#slugs.set(logicalId, String(body.slugName));
    // Subscriptions define which channels a check alerts, unless its payload does.
    const { alertChannelSubscriptions, ...others } = parsed as Body & { alertChannelSubscriptions?: unknown };
    const whole =
      body.alertChannelSubscriptions === undefined ? others : { ...others, alertChannelSubscriptions };
    this.#bodies.set(this.#idOf(keyOf(desired)), whole);
    if (this.#work.isDry) await kind.judge?.(whole, (of, named) => this.#lookUp(of, named));
    if (!present || id === undefined) {
      await this.#create(desired, kind, body);
      return;
    }
    const { repositories, accountId } = this.#work;
    const addresses = await kind.addresses?.(repositories, accountId, id, whole);
    const complete = kind.keeping?.(whole, present, addresses) ?? whole;
    if (kind.isReplaced?.(complete, present)) {
      await this.#delete(kind, { type, logicalId, physicalId: id });
      await this.#create(desired, kind, body);
      return;
    }
    this.#record(type, logicalId, id, 1, row?.import_id ?? null);
    if (!differs(complete, present)) return;
    this.#changes.push({ type, logicalId, physicalId: id, action: 'UPDATE' });
    if (this.#work.isDry || !kind.routes.update) return;
    await this.#work.operations.callAny(kind.routes.update, { params: { [kind.key]: id }, body: complete });
  }

  async #create(desired: DesiredResource, kind: ResourceKind, body: Body): Promise<void> {
    const { type, logicalId } = desired;
    if (this.#work.isDry) {
      this.#changes.push({ type, logicalId, action: 'CREATE' });
      return;
    }
    const answer = await this.#work.operations.callAny<Body>(kind.routes.create, {
      query: kind.createQuery ?? {},
      body,
    });
    const physicalId = idOf(kind, answer);
    this.#changes.push({ type, logicalId, physicalId, action: 'CREATE' });
    this.#record(type, logicalId, physicalId, 1);
    if (type === 'check' && answer.activated === true) this.#created.push(String(physicalId));
  }

  /** Adds the private locations that a resource is assigned to. */
  #assigned(body: Body, { locations, type }: DesiredResource): Body {
    if (type !== 'check' && type !== 'check-group') return body;
    const own = Array.isArray(body.privateLocations) ? (body.privateLocations as unknown[]) : [];
    const slugs = locations.map((logicalId) => this.#slugs.get(logicalId) ?? '');
    return { ...body, privateLocations: [...new Set([...own, ...slugs])] };
  }

  async #subscribe(desired: DesiredResource): Promise<void> {
    const { type, logicalId } = desired;
    const { repositories, operations, isDry, desired: project } = this.#work;
    const payload = withIds(desired, project.names, (key) => this.#idOf(key));
    const { alertChannelId, ...subscription } = payload;
    const {
      checkId = null,
      groupId = null,
      activated,
    } = validatedBody(alertChannelRoutes.updateAlertChannelSubscriptions, subscription) as {
      checkId: string | null;
      groupId: number | null;
      activated: boolean;
    };
    if (typeof alertChannelId !== 'number') {
      throw fieldError('payload', [{ key: 'alertChannelId', message: 'must name an alert channel' }]);
    }
    const id = subscriptionId({ alertChannelId, checkId, groupId });
    this.#record(type, logicalId, id, 1, this.#rowsByKey.get(keyOf(desired))?.import_id ?? null);
    const isNew = this.#isMadeUp([alertChannelId, checkId, groupId]);
    const present = isNew ? undefined : await subscriptionIn(repositories, id);
    if (present?.activated === activated) return;
    const action = present ? 'UPDATE' : 'CREATE';
    this.#changes.push({ type, logicalId, ...(isNew ? {} : { physicalId: id }), action });
    if (isDry) return;
    const params = { id: alertChannelId };
    await operations.callAny(alertChannelRoutes.updateAlertChannelSubscriptions, {
      params,
      body: subscription,
    });
  }

  async #remove({ row, change }: Departure): Promise<void> {
    const { physicalId } = change;
    if (change.action === 'DETACHED' || physicalId === undefined) {
      this.#changes.push(change);
      return;
    }
    if (isKind(change.type)) {
      await naming(change, () => this.#delete(kinds[change.type as keyof typeof kinds], change));
      return;
    }
    this.#changes.push(change);
    if (!this.#work.isDry) await this.#unsubscribe(row.physical_id);
  }

  async #delete(
    kind: ResourceKind,
    change: Pick<Change, 'type' | 'logicalId' | 'physicalId'>,
  ): Promise<void> {
    this.#changes.push({ ...change, action: 'DELETE' });
    if (this.#work.isDry || change.physicalId === undefined) return;
    if (change.type === 'check-group') await this.#emptyGroup(Number(change.physicalId));
    try {
      await this.#work.operations.callAny(kind.routes.delete, { params: { [kind.key]: change.physicalId } });
    } catch (thrown) {
      // Already deleted by someone else.
      if (!(thrown instanceof AppError) || thrown.code !== 'NOT_FOUND') throw thrown;
    }
  }

  /** Removes checks outside the project from a group that is to be deleted. */
  async #emptyGroup(groupId: number): Promise<void> {
    const { repositories, operations } = this.#work;
    for (;;) {
      const { checks } = await repositories.checks.listOfGroup(groupId, { limit: 100, offset: 0 });
      if (checks.length === 0) return;
      for (const { id } of checks) {
        await operations.callAny(checkRoutes.updateCheck, { params: { id }, body: { groupId: null } });
      }
    }
  }

  async #unsubscribe(id: string): Promise<void> {
    const { alertChannels } = this.#work.repositories;
    const { alertChannelId, subscriber } = ownerOf(id);
    const present =
      'checkId' in subscriber
        ? (await alertChannels.ofChecks([subscriber.checkId])).get(subscriber.checkId)
        : (await alertChannels.ofGroups([subscriber.groupId])).get(subscriber.groupId);
    const kept = (present ?? [])
      .filter(({ channel }) => channel.id !== alertChannelId)
      .map(({ channel, activated }) => ({ alertChannelId: channel.id, activated }));
    if (present) await alertChannels.setSubscriptions(subscriber, kept);
  }

  /** The stored resource of the account as its author wrote it; undefined if it does not exist. */
  async #stored(kind: ResourceKind, id: PhysicalId): Promise<Body | undefined> {
    const { repositories, operations, accountId } = this.#work;
    if (kind.stored) return kind.stored(repositories, accountId, id);
    const { get } = kind.routes;
    const isId = get.params?.safeParse({ [kind.key]: id }).success;
    if (!isId) return undefined;
    try {
      const shown = await operations.callAny<Body>(get, { params: { [kind.key]: id } });
      return kind.asWritten?.(shown) ?? shown;
    } catch (thrown) {
      if (thrown instanceof AppError && thrown.code === 'NOT_FOUND') return undefined;
      throw thrown;
    }
  }

  async #lookUp(type: keyof typeof kinds, id: unknown): Promise<Body | undefined> {
    if (typeof id !== 'string') return undefined;
    return this.#bodies.get(id) ?? (this.#isMadeUp([id]) ? undefined : this.#stored(kinds[type], id));
  }

  #idOf(key: string): PhysicalId {
    const id = this.#ids.get(key);
    if (id === undefined) throw new Error(`${key} is written before what it names`);
    return id;
  }

  #record(
    type: DesiredResource['type'],
    logicalId: string,
    id: PhysicalId,
    member: 0 | 1,
    importId: string | null = null,
  ) {
    this.#ids.set(keyOf({ type, logicalId }), id);
    this.#written.push({ type, logical_id: logicalId, physical_id: String(id), member, import_id: importId });
  }

  /** A placeholder id in the right format for a resource that does not exist yet. */
  #placeholder(kind: ResourceKind): PhysicalId {
    this.#madeUp += 1;
    if (kind.isNumbered) return Number.MAX_SAFE_INTEGER - this.#madeUp;
    return `${madeUpPrefix}${String(this.#madeUp).padStart(12, '0')}`;
  }

  #isMadeUp(ids: readonly (PhysicalId | null)[]): boolean {
    return ids.some((id) =>
      typeof id === 'number' ? id > Number.MAX_SAFE_INTEGER - 100_000 : id?.startsWith(madeUpPrefix),
    );
  }
}

const madeUpPrefix = '00000000-0000-4000-8000-';

function same(payload: Body): Body {
  return payload;
}

function pick(body: Body, field: string): Body {
  return body[field] === undefined ? {} : { [field]: body[field] };
}

/** Adds the name of the resource to its errors. */
async function naming<T>(
  { type, logicalId, ...at }: Pick<Change, 'type' | 'logicalId'> & { readonly index?: number },
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (!(thrown instanceof AppError) || thrown.statusCode >= 500) throw thrown;
    if (thrown instanceof ResourceError) throw thrown;
    const place = at.index === undefined ? '' : `resources.${at.index}.payload.`;
    throw new ResourceError(thrown.code, `${type} "${logicalId}": ${thrown.message}`, {
      cause: thrown,
      ...(thrown.validation
        ? { validation: { source: 'payload', keys: thrown.validation.keys.map((key) => `${place}${key}`) } }
        : {}),
    });
  }
}

function together(problems: readonly AppError[]): AppError {
  const [first] = problems;
  if (problems.length === 1 && first) return first;
  return new AppError('VALIDATION_FAILED', problems.map(({ message }) => message).join('\n'), {
    validation: { source: 'payload', keys: problems.flatMap(({ validation }) => validation?.keys ?? []) },
  });
}
