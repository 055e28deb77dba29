import { randomUUID } from 'node:crypto';
import type { z } from 'zod';
import type { CheckType } from '../../checks/contract/check-type.ts';
import { type CheckDefinition, maskedValues, mergeDefinition } from '../../checks/contract/definition.ts';
import { keepMasked } from '../../checks/contract/masking.ts';
import { checkTypes, findCheckType } from '../../checks/index.ts';
import { AppError } from '../../lib/errors.ts';
import { checkRoutes } from '../../protocol/checks/check.ts';
import type { Route } from '../../protocol/http/route.ts';
import { changeSubscriptions, subscribeNew } from '../alerts/channels/subscriptions.ts';
import { addressed, writeHeartbeat } from '../heartbeats/heartbeats.ts';
import { type AnyHandler, type Call, type HandlerDeps, handlersById } from '../http/handler.ts';
import { requireGroup, requireLocations } from '../http/known-names.ts';
import { describePage, pageOffset } from '../http/paging.ts';
import { allRoutes } from '../http/route-table.ts';
import { fieldError, validationError } from '../http/validation.ts';
import { firstSlotOf, gridOf, RunNumbers } from '../runs/due-runs.ts';
import { cancelledSignals } from '../runs/ledger.ts';
import { reschedule } from '../runs/rescheduling.ts';
import { defaultOffset, locationsOf } from '../runs/slots.ts';
import { withGroups } from './effective-check.ts';
import type { Check, CheckWrite } from './store.ts';
import { type CheckView, checkListView, oneCheckView } from './view.ts';

type AnyBody = Readonly<Record<string, unknown>>;

/** The routes of checks: the generic ones and those of each type. */
export function checkHandlers(deps: HandlerDeps): [string, AnyHandler][] {
  const writer = new CheckWriter(deps);
  const viewOf = (check: Check) => oneCheckView(deps, check);
  const generic = handlersById(checkRoutes, {
    async listChecks({ caller, query, request, reply }) {
      const { total, checks } = await deps.store.checks.list(
        caller.accountId,
        {
          tags: query.tag === undefined ? undefined : [query.tag].flat(),
          checkType: query.checkType,
          search: query.search,
          status: query.status,
          urlPart: query.apiCheckUrlFilterPattern,
        },
        { limit: query.limit, offset: pageOffset(query) },
      );
      describePage(request, reply, { query, total, publicUrl: deps.publicUrl });
      const shown = query.applyGroupSettings ? await withGroups(deps.store, checks) : checks;
      return checkListView(deps, shown);
    },
    async createCheck({ caller, body, query }) {
      const { checkType, ...fields } = body;
      const { autoAssignAlerts } = query;
      return viewOf(await writer.create(caller.accountId, typeNamed(checkType), fields, autoAssignAlerts));
    },
    async getCheck({ caller, params, query }) {
      const check = await deps.store.checks.find(caller.accountId, params.id);
      if (!check) throw checkNotFound(params.id);
      const [inEffect] = query.applyGroupSettings ? await withGroups(deps.store, [check]) : [check];
      const view = await viewOf(inEffect ?? check);
      return query.includeDependencies ? view : ({ ...view, dependencies: undefined } as typeof view);
    },
    async updateCheck({ caller, params, body }) {
      return viewOf(await writer.update(caller.accountId, params.id, body));
    },
    async deleteCheck({ caller, params }) {
      await writer.delete(caller.accountId, params.id);
    },
  });
  return [...generic, ...checkTypes.flatMap((type) => typedHandlers(type, writer, viewOf))];
}

function typedHandlers(
  type: CheckType,
  writer: CheckWriter,
  viewOf: (check: Check) => Promise<CheckView>,
): [string, AnyHandler][] {
  const { create, update } = routesOf(type);
  return [
    [
      create.operationId,
      async ({ caller, body, query }: Call) => {
        const { autoAssignAlerts } = query as unknown as { autoAssignAlerts: boolean };
        return viewOf(
          await writer.create(accountOf(caller), type, body as unknown as AnyBody, autoAssignAlerts),
        );
      },
    ],
    [
      update.operationId,
      async ({ caller, params, body }: Call) => {
        const { id } = params as unknown as { id: string };
        return viewOf(await writer.update(accountOf(caller), id, body as unknown as AnyBody, type));
      },
    ],
  ];
}

function accountOf(caller: unknown): string {
  return (caller as { accountId: string }).accountId;
}

/** The typed routes of a check type, as they stand in the table. */
function routesOf(type: CheckType): { create: Route; update: Route } {
  const path = `/v1/checks/${type.route}`;
  const create = allRoutes.find((route) => route.method === 'POST' && route.path === path);
  const update = allRoutes.find((route) => route.method === 'PUT' && route.path === `${path}/{id}`);
  if (!create || !update) throw new Error(`the table of routes has no typed routes for ${type.name}`);
  return { create, update };
}

function typeNamed(name: string): CheckType {
  const type = findCheckType(name);
  if (!type) {
    throw fieldError('payload', [{ key: 'checkType', message: 'is not a type this service can run' }]);
  }
  return type;
}

export function checkNotFound(id: string): AppError {
  return new AppError('NOT_FOUND', `There is no check ${id}.`);
}

/** Creates, changes and deletes checks, with everything that follows from it for their runs. */
class CheckWriter {
  readonly #deps: HandlerDeps;
  readonly #numbers = new RunNumbers();

  constructor(deps: HandlerDeps) {
    this.#deps = deps;
  }

  /** `isAutoAssigned`: the check is subscribed to every alert channel there is. */
  async create(accountId: string, type: CheckType, body: AnyBody, isAutoAssigned: boolean): Promise<Check> {
    const id = randomUUID();
    const now = this.#deps.clock.wallMs();
    const definition = addressed(type, parseDefinition(type, id, body));
    const { store } = this.#deps;
    const check = await store.transaction(async (nouns) => {
      await requireGroup(nouns, accountId, definition.groupId);
      await requireLocations(nouns, accountId, definition);
      const { activated, groupId } = definition;
      const own = { id, accountId, groupId, checkType: type.name, activated, definition };
      const [inEffect] = await withGroups(nouns, [own]);
      const schedule = scheduleOf(inEffect ?? own, firstSlotOf(inEffect ?? own, now));
      await nouns.checks.insert(id, accountId, type.name, writeOf(own, schedule), now);
      await writeHeartbeat(nouns, own);
      const named = definition.alertChannelSubscriptions;
      await subscribeNew(nouns, { checkId: id }, { accountId, named, isAutoAssigned });
      return nouns.checks.find(accountId, id);
    });
    store.signals.send([{ kind: 'schedule' }]);
    if (!check) throw new Error('a check that was just inserted is not there');
    return check;
  }

  /** `type` is given on typed routes: a check of another type is not found there. */
  async update(accountId: string, id: string, body: AnyBody, type?: CheckType): Promise<Check> {
    const { store, clock } = this.#deps;
    const { check, queued } = await store.transaction(async (nouns) => {
      const now = clock.wallMs();
      await requireGroup(nouns, accountId, body.groupId);
      const stored = await nouns.checks.findForUpdate(accountId, id);
      if (!stored || (type && stored.checkType !== type.name)) throw checkNotFound(id);
      if (body.checkType !== undefined && body.checkType !== stored.checkType) {
        throw fieldError('payload', [
          { key: 'checkType', message: `cannot change: it is ${stored.checkType}` },
        ]);
      }
      const patch = keepMasked(maskedValues(findCheckType(stored.checkType)), body, stored.definition);
      const storedType = typeNamed(stored.checkType);
      const parsed = parseDefinition(
        storedType,
        id,
        mergeDefinition(stored.definition, patch),
        type?.requiredOnUpdate?.safeParse(body).error?.issues,
      );
      const definition = addressed(storedType, parsed);
      await requireLocations(nouns, accountId, definition);
      const changed = { ...stored, activated: definition.activated, definition };
      const [before] = await withGroups(nouns, [stored]);
      const [after] = await withGroups(nouns, [{ ...stored, ...changed, groupId: definition.groupId }]);
      if (!before || !after) throw new Error('a check has no settings in effect');
      const { nextSlotAt, signals } = await reschedule(nouns, before, after, { now, numbers: this.#numbers });
      await nouns.checks.update(id, writeOf(changed, scheduleOf(after, nextSlotAt)), now);
      const isNamed = body.alertChannelSubscriptions !== undefined;
      const named = isNamed ? definition.alertChannelSubscriptions : undefined;
      await changeSubscriptions(nouns, { checkId: id }, { accountId, named });
      if (!after.activated) await nouns.alerts.forgetStates([id]);
      await writeHeartbeat(nouns, after);
      return { check: await nouns.checks.find(accountId, id), queued: signals };
    });
    store.signals.send([{ kind: 'schedule' }, ...queued]);
    if (!check) throw checkNotFound(id);
    return check;
  }

  async delete(accountId: string, id: string): Promise<void> {
    const { store, clock } = this.#deps;
    const cancelled = await store.transaction(async (nouns) => {
      const stored = await nouns.checks.findForUpdate(accountId, id);
      if (!stored) throw checkNotFound(id);
      const now = clock.wallMs();
      const runs = await nouns.runs.cancelAll(id, 'deleted', now);
      await nouns.statuses.delete(id);
      await nouns.alerts.forgetStates([id]);
      await nouns.errorGroups.deleteOfCheck(accountId, id);
      await nouns.triggers.delete({ account_id: accountId, kind: 'check', target_id: id });
      await nouns.checks.delete(id);
      // There may be millions of results: the sweeper removes them by and by.
      await nouns.results.purgeLater(id, now);
      return runs;
    });
    store.signals.send(cancelledSignals(cancelled));
  }
}

/**
 * Validates a whole definition and gives it an offset when it names none.
 *
 * @param otherIssues what else is wrong with the body it came in; all of it is told at once.
 */
function parseDefinition(
  type: CheckType,
  id: string,
  body: AnyBody,
  otherIssues: readonly z.core.$ZodIssue[] = [],
): CheckDefinition {
  const schema = routesOf(type).create.body;
  const parsed = schema?.safeParse(body);
  if (!parsed) throw new Error(`the create route of ${type.name} has no body`);
  const issues = [...otherIssues, ...(parsed.error?.issues ?? [])];
  if (!parsed.success || issues.length > 0) throw validationError('payload', issues);
  const definition = parsed.data as CheckDefinition;
  return {
    ...definition,
    frequencyOffset: definition.frequencyOffset ?? defaultOffset(id, definition.frequency),
  };
}

/** How a check is scheduled, from its settings in effect. */
function scheduleOf(inEffect: Pick<Check, 'definition'>, nextSlotAt: number | null) {
  return { nextSlotAt, runParallel: inEffect.definition.runParallel === true };
}

function writeOf(
  { id, definition }: { readonly id: string; readonly definition: CheckDefinition },
  schedule: { readonly nextSlotAt: number | null; readonly runParallel: boolean },
): CheckWrite {
  const { request } = definition as { request?: { url?: unknown } };
  return {
    name: definition.name,
    activated: definition.activated,
    muted: definition.muted,
    groupId: definition.groupId,
    groupOrder: definition.groupOrder,
    tags: definition.tags,
    locations: locationsOf(definition),
    definition,
    intervalMs: gridOf({ id, definition }).intervalMs,
    ...schedule,
    url: typeof request?.url === 'string' ? request.url : null,
  };
}
