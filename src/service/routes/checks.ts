import { randomUUID } from 'node:crypto';
import type { CheckType } from '../../checks/check-type.ts';
import type { checkTypeNames, EnvironmentVariable } from '../../checks/common-fields.ts';
import { type CheckDefinition, mergeDefinition } from '../../checks/definition.ts';
import { checkTypes, findCheckType } from '../../checks/index.ts';
import { AppError } from '../../lib/errors.ts';
import { checkRoutes } from '../../protocol/check.ts';
import { allRoutes } from '../../protocol/index.ts';
import type { Route } from '../../protocol/route.ts';
import { firstSlotOf, gridOf } from '../scheduler.ts';
import { defaultOffset, locationsOf } from '../slots.ts';
import type { Check, CheckWrite } from '../store/checks.ts';
import type { Nouns } from '../store/store.ts';
import { fieldError, validationError } from '../validation.ts';
import { type AnyHandler, type Call, type HandlerDeps, handlersById } from './handler.ts';
import { describePage, pageOffset } from './paging.ts';

type AnyBody = Readonly<Record<string, unknown>>;

/** The routes of checks: the generic ones and those of each type. */
export function checkHandlers(deps: HandlerDeps): [string, AnyHandler][] {
  const writer = new CheckWriter(deps);
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
      return checks.map(checkView);
    },
    async createCheck({ caller, body }) {
      const { checkType, ...fields } = body;
      return checkView(await writer.create(caller.accountId, typeNamed(checkType), fields));
    },
    async getCheck({ caller, params }) {
      const check = await deps.store.checks.find(caller.accountId, params.id);
      if (!check) throw notFound(params.id);
      return checkView(check);
    },
    async updateCheck({ caller, params, body }) {
      return checkView(await writer.update(caller.accountId, params.id, body));
    },
    async deleteCheck({ caller, params }) {
      await writer.delete(caller.accountId, params.id);
    },
  });
  return [...generic, ...checkTypes.flatMap((type) => typedHandlers(type, writer))];
}

function typedHandlers(type: CheckType, writer: CheckWriter): [string, AnyHandler][] {
  const { create, update } = routesOf(type);
  return [
    [
      create.operationId,
      async ({ caller, body }: Call) =>
        checkView(await writer.create(accountOf(caller), type, body as unknown as AnyBody)),
    ],
    [
      update.operationId,
      async ({ caller, params, body }: Call) => {
        const { id } = params as unknown as { id: string };
        return checkView(await writer.update(accountOf(caller), id, body as unknown as AnyBody, type));
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

function notFound(id: string): AppError {
  return new AppError('NOT_FOUND', `There is no check ${id}.`);
}

/** Creates, changes and deletes checks, with everything that follows from it for their runs. */
class CheckWriter {
  readonly #deps: HandlerDeps;

  constructor(deps: HandlerDeps) {
    this.#deps = deps;
  }

  async create(accountId: string, type: CheckType, body: AnyBody): Promise<Check> {
    const id = randomUUID();
    const now = this.#deps.clock.wallMs();
    const definition = parseDefinition(type, id, body);
    const { store } = this.#deps;
    const check = await store.transaction(async (nouns) => {
      await requireLocations(nouns, accountId, definition);
      const activated = definition.activated;
      const nextSlotAt = firstSlotOf({ id, activated, definition }, now);
      await nouns.checks.insert(id, accountId, type.name, writeOf(definition, nextSlotAt), now);
      return nouns.checks.find(accountId, id);
    });
    store.signals.send([{ kind: 'schedule' }]);
    if (!check) throw new Error('a check that was just inserted is not there');
    return check;
  }

  /** `type` is given on typed routes: a check of another type is not found there. */
  async update(accountId: string, id: string, body: AnyBody, type?: CheckType): Promise<Check> {
    const { store, clock } = this.#deps;
    const check = await store.transaction(async (nouns) => {
      const now = clock.wallMs();
      const stored = await nouns.checks.findForUpdate(accountId, id);
      if (!stored || (type && stored.checkType !== type.name)) throw notFound(id);
      const patch = keepSecrets(body, stored.definition);
      const definition = parseDefinition(
        typeNamed(stored.checkType),
        id,
        mergeDefinition(stored.definition, patch),
      );
      await requireLocations(nouns, accountId, definition);
      const changed = { id, activated: definition.activated, definition };
      const nextSlotAt = isSameSchedule(stored, changed) ? stored.nextSlotAt : firstSlotOf(changed, now);
      await nouns.checks.update(id, writeOf(definition, nextSlotAt), now);
      if (!definition.activated) await nouns.runs.cancelQueued(id, 'deactivated', [], now);
      else await nouns.runs.cancelQueued(id, 'location-removed', locationsOf(definition), now);
      return nouns.checks.find(accountId, id);
    });
    store.signals.send([{ kind: 'schedule' }]);
    if (!check) throw notFound(id);
    return check;
  }

  async delete(accountId: string, id: string): Promise<void> {
    const { store, clock } = this.#deps;
    await store.transaction(async (nouns) => {
      const stored = await nouns.checks.findForUpdate(accountId, id);
      if (!stored) throw notFound(id);
      await nouns.runs.cancelAll(id, 'deleted', clock.wallMs());
      await nouns.results.deleteOfCheck(id);
      await nouns.statuses.delete(id);
      await nouns.checks.delete(id);
    });
  }
}

/** Validates a whole definition and gives it an offset when it names none. */
function parseDefinition(type: CheckType, id: string, body: AnyBody): CheckDefinition {
  const schema = routesOf(type).create.body;
  const parsed = schema?.safeParse(body);
  if (!parsed) throw new Error(`the create route of ${type.name} has no body`);
  if (!parsed.success) throw validationError('payload', parsed.error.issues);
  const definition = parsed.data as CheckDefinition;
  return {
    ...definition,
    frequencyOffset: definition.frequencyOffset ?? defaultOffset(id, definition.frequency),
  };
}

/** Every named private location must exist, and stays while this transaction runs. */
async function requireLocations(nouns: Nouns, accountId: string, definition: CheckDefinition): Promise<void> {
  const slugs = definition.privateLocations ?? [];
  const known = await nouns.locations.findBySlugs(accountId, slugs);
  const problems = slugs.flatMap((slug, index) =>
    known.has(slug)
      ? []
      : [{ key: `privateLocations.${index}`, message: `names no private location: ${JSON.stringify(slug)}` }],
  );
  if (problems.length > 0) throw fieldError('payload', problems);
}

function isSameSchedule(stored: Check, changed: Pick<Check, 'id' | 'activated' | 'definition'>): boolean {
  const before = gridOf(stored);
  const after = gridOf(changed);
  const isRunnable = changed.activated && locationsOf(changed.definition).length > 0;
  return (
    before.intervalMs === after.intervalMs &&
    before.phaseMs === after.phaseMs &&
    (stored.nextSlotAt !== null) === isRunnable
  );
}

function writeOf(definition: CheckDefinition, nextSlotAt: number | null): CheckWrite {
  return {
    name: definition.name,
    activated: definition.activated,
    muted: definition.muted,
    groupId: definition.groupId,
    tags: definition.tags,
    locations: locationsOf(definition),
    definition,
    nextSlotAt,
  };
}

/**
 * Answers show the values of secret variables as "". Writing such an answer back must not wipe them: the "" of a
 * variable that is secret and stored keeps the stored value.
 */
function keepSecrets(body: AnyBody, stored: AnyBody): AnyBody {
  if (!Array.isArray(body.environmentVariables)) return body;
  const secrets = new Map(
    variablesOf(stored)
      .filter((variable) => variable.secret)
      .map((variable) => [variable.key, variable.value]),
  );
  const environmentVariables = body.environmentVariables.map((variable: unknown) => {
    if (typeof variable !== 'object' || variable === null) return variable;
    const { key, value, secret } = variable as Partial<EnvironmentVariable>;
    const isMasked = secret === true && value === '' && key !== undefined && secrets.has(key);
    return isMasked ? { ...variable, value: secrets.get(key) } : variable;
  });
  return { ...body, environmentVariables };
}

function variablesOf(definition: AnyBody): EnvironmentVariable[] {
  return Array.isArray(definition.environmentVariables)
    ? (definition.environmentVariables as EnvironmentVariable[])
    : [];
}

/** A check as answers show it. */
function checkView(check: Check) {
  const definition = check.definition as CheckDefinition;
  return {
    ...definition,
    environmentVariables:
      definition.environmentVariables === null
        ? null
        : variablesOf(definition).map((variable) =>
            variable.secret ? { ...variable, value: '' } : variable,
          ),
    id: check.id,
    checkType: check.checkType as (typeof checkTypeNames)[number],
    frequencyOffset: definition.frequencyOffset ?? defaultOffset(check.id, definition.frequency),
    alertChannels: { email: [], webhook: [], slack: [], sms: [] },
    created_at: new Date(check.created).toISOString(),
    updated_at: check.updated === null ? null : new Date(check.updated).toISOString(),
  };
}
