import { randomUUID } from 'node:crypto';
import type { CheckType } from '@picket/checks/contract/check-type.ts';
import {
  type CheckDefinition,
  maskedValues,
  mergeDefinition,
} from '@picket/checks/contract/definition/definition.ts';
import { fillMasked, refuseMoved } from '@picket/checks/contract/masking.ts';
import { findCheckType } from '@picket/checks/index.ts';
import { AppError } from '@picket/lib/errors.ts';
import type { HandlerDeps } from '@picket/platform/feature/handler.ts';
import { requireGroup, requireLocations } from '@picket/platform/http/known-names.ts';
import { unknownFieldIssues } from '@picket/platform/http/unknown-names.ts';
import { fieldError, validationError } from '@picket/platform/http/validation.ts';
import type { Signal } from '@picket/platform/store/engine/signals.ts';
import { cancelledSignals } from '@picket/platform/store/engine/signals.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import { typedCheckRoutes } from '@picket/protocol/checks/check.ts';
import type { Route } from '@picket/protocol/http/route.ts';
import { z } from 'zod';
import { forgetAlerts } from '../incidents/forget-alerts.ts';
import { asWritten, keepingOf } from './addresses/address-values.ts';
import { changeSubscriptions, subscribeNew } from './alert-channels.ts';
import { type EffectiveCheck, withGroups } from './effective-check.ts';
import { writeParents } from './parents.ts';
import { addressed, writeHeartbeat } from './ping-address.ts';
import type { Check, CheckWrite } from './store.ts';
import { firstPlan } from './timing/planned-slots.ts';
import type { PlannedSlots } from './timing/slot-state.ts';
import { defaultOffset, locationsOf } from './timing/slots.ts';
import { intervalOf } from './timing/timing.ts';

type AnyBody = Readonly<Record<string, unknown>>;

/** The effective settings of a check, including those of its group. */
export type ScheduledCheck = Pick<Check, 'id' | 'checkType' | 'activated' | 'definition'>;

/**
 * Updates the runs of a check after a change to it or its group, in the transaction that stores the change.
 *
 * @returns when the check is due next, and the signals to send after the transaction.
 */
export type Reschedule = (
  repositories: Repositories,
  before: EffectiveCheck,
  after: ScheduledCheck,
  now: number,
) => Promise<{ planned: PlannedSlots; signals: Signal[] }>;

/** Dependencies of the routes of checks and groups. */
export type CheckDeps = HandlerDeps & { readonly reschedule: Reschedule };

export function checkNotFound(id: string): AppError {
  return new AppError('NOT_FOUND', `There is no check ${id}.`);
}

/** Creates, changes and deletes checks, including the effects on their runs. */
export class CheckWriter {
  readonly #deps: CheckDeps;

  constructor(deps: CheckDeps) {
    this.#deps = deps;
  }

  /** @param isAutoAssigned whether the check is subscribed to every alert channel. */
  async create(accountId: string, type: CheckType, body: AnyBody, isAutoAssigned: boolean): Promise<Check> {
    const id = randomUUID();
    const now = this.#deps.clock.wallMs();
    const definition = addressed(type, parseDefinition(type, id, body));
    const { store } = this.#deps;
    const check = await store.transaction(async (repositories) => {
      await requireGroup(repositories, accountId, definition.groupId);
      await requireLocations(repositories, accountId, definition);
      const { activated, groupId } = definition;
      const own = { id, accountId, groupId, checkType: type.name, activated, definition };
      const [inEffect] = await withGroups(repositories, [own]);
      const schedule = scheduleOf(inEffect ?? own, firstPlan(inEffect ?? own, now));
      await repositories.checks.insert(id, accountId, type.name, writeOf(own, schedule, now), now);
      await writeHeartbeat(repositories, inEffect ?? own, now);
      await writeParents(repositories, own, definition.parentCheckIds);
      const named = definition.alertChannelSubscriptions;
      await subscribeNew(repositories, { checkId: id }, { accountId, named, isAutoAssigned });
      return repositories.checks.find(accountId, id);
    });
    store.signals.send([{ kind: 'schedule' }]);
    if (!check) throw new Error('a check that was just inserted does not exist');
    return check;
  }

  /**
   * @param type on typed routes: a check of another type is not found.
   * @param unchangedSince time of the last change that the caller knows.
   */
  async update(
    accountId: string,
    id: string,
    body: AnyBody,
    {
      type,
      unchangedSince,
    }: { readonly type?: CheckType; readonly unchangedSince?: string | undefined } = {},
  ): Promise<Check> {
    const { store, clock } = this.#deps;
    const { check, queued } = await store.transaction(async (repositories) => {
      const now = clock.wallMs();
      await requireGroup(repositories, accountId, body.groupId);
      const stored = await repositories.checks.findForUpdate(accountId, id);
      if (!stored) throw checkNotFound(id);
      if (type && stored.checkType !== type.name) {
        const own = findCheckType(stored.checkType)?.route ?? stored.checkType;
        throw new AppError(
          'NOT_FOUND',
          `The check ${id} is of another type: ${type.title}. Change it at /v1/checks/${own}/${id}.`,
        );
      }
      refuseOvertaken(stored, unchangedSince);
      if (body.checkType !== undefined && body.checkType !== stored.checkType) {
        throw fieldError('payload', [
          { key: 'checkType', message: `cannot change: it is ${stored.checkType}` },
        ]);
      }
      const storedType = typeNamed(stored.checkType);
      const kept = [...maskedValues(storedType), ...(storedType.keptWhenEmpty ?? [])];
      const patch = fillMasked(kept, body, stored.definition);
      const parsed = parseDefinition(
        storedType,
        id,
        mergeDefinition(stored.definition, patch),
        // The route for all types does not know the fields of a single type.
        type ? missingOnUpdate(type, body) : unknownFieldIssues(routesOf(storedType).update, body),
      );
      const definition = addressed(storedType, parsed);
      refuseMoved(kept, {
        ...{ body, stored: stored.definition, after: definition },
        ...(await keepingOf(repositories, stored, asWritten(definition))),
      });
      await requireLocations(repositories, accountId, definition);
      const changed = { ...stored, activated: definition.activated, definition };
      const [before] = await withGroups(repositories, [stored]);
      const [after] = await withGroups(repositories, [
        { ...stored, ...changed, groupId: definition.groupId },
      ]);
      if (!before || !after) throw new Error('a check has no settings in effect');
      const { planned, signals } = await this.#deps.reschedule(repositories, before, after, now);
      await repositories.checks.update(id, writeOf(changed, scheduleOf(after, planned), now), now);
      const isNamed = body.alertChannelSubscriptions !== undefined;
      const named = isNamed ? definition.alertChannelSubscriptions : undefined;
      await changeSubscriptions(repositories, { checkId: id }, { accountId, named });
      if (body.parentCheckIds !== undefined) {
        const before = z.array(z.string()).catch([]).parse(stored.definition.parentCheckIds);
        await writeParents(repositories, stored, definition.parentCheckIds, before);
      }
      if (isAtRest(after)) await forgetAlerts(repositories, [id], now);
      else await lookAgain(repositories, id, now);
      await writeHeartbeat(repositories, after, now);
      return { check: await repositories.checks.find(accountId, id), queued: signals };
    });
    store.signals.send([{ kind: 'schedule' }, ...queued]);
    if (!check) throw checkNotFound(id);
    return check;
  }

  async delete(accountId: string, id: string): Promise<void> {
    const { store, clock } = this.#deps;
    const cancelled = await store.transaction(async (repositories) => {
      const stored = await repositories.checks.findForUpdate(accountId, id);
      if (!stored) throw checkNotFound(id);
      const now = clock.wallMs();
      const runs = await repositories.runs.cancelAll(id, 'deleted', now);
      await repositories.statuses.delete(id);
      await forgetAlerts(repositories, [id], now);
      await repositories.errorGroups.deleteOfCheck(accountId, id);
      await repositories.triggers.delete({ account_id: accountId, kind: 'check', target_id: id });
      await repositories.checks.delete(id);
      // There may be millions of results: the lease sweep job deletes them in small batches.
      await repositories.results.purgeLater(id, now);
      return runs;
    });
    store.signals.send(cancelledSignals(cancelled));
  }
}

/** Whether a check cannot report anything: it is deactivated, or has no location to run at. */
export function isAtRest({ activated, checkType, definition }: ScheduledCheck): boolean {
  return !activated || (!findCheckType(checkType)?.pings && locationsOf(definition).length === 0);
}

/** Suppressions of alerts of the check, or the notified channels, may have changed. */
async function lookAgain(repositories: Repositories, id: string, now: number): Promise<void> {
  await repositories.alerts.lookAgainAt(id, now);
  await repositories.gaps.lookAgainAt(id, now);
  await repositories.receiverIncidents.lookAgain({ checkId: id });
}

/**
 * Issues for fields that an update must name although the stored check has them. Clients that send `checkType` with
 * every update never send these fields.
 */
function missingOnUpdate(type: CheckType, body: AnyBody): readonly z.core.$ZodIssue[] | undefined {
  return body.checkType === undefined ? type.requiredOnUpdate?.safeParse(body).error?.issues : undefined;
}

/** @throws AppError CONFLICT if the object was changed after the caller had read it. */
export function refuseOvertaken(
  stored: { readonly created: number; readonly updated: number | null },
  unchangedSince: string | undefined,
): void {
  const changed = stored.updated ?? stored.created;
  if (unchangedSince === undefined || Date.parse(unchangedSince) === changed) return;
  const at = new Date(changed).toISOString();
  throw new AppError('CONFLICT', `It was changed at ${at}, after it was read. Read it again.`);
}

/**
 * Validates a complete definition and adds an offset if it names none.
 *
 * @param otherIssues further problems of the body; all problems are reported together.
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

/** Schedule of a check, from its effective settings. */
function scheduleOf(inEffect: Pick<Check, 'definition'>, slots: PlannedSlots) {
  return { slots, runParallel: inEffect.definition.runParallel === true };
}

function writeOf(
  { id, definition }: { readonly id: string; readonly definition: CheckDefinition },
  schedule: { readonly slots: PlannedSlots; readonly runParallel: boolean },
  now: number,
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
    intervalMs: intervalOf({ id, definition }, now),
    ...schedule,
    url: typeof request?.url === 'string' ? request.url : null,
  };
}

/** Typed routes of a check type. */
export function routesOf(type: CheckType): { create: Route; update: Route } {
  const routes = typedCheckRoutes.get(type.name);
  if (!routes) throw new Error(`there are no typed routes for ${type.name}`);
  return routes;
}

export function typeNamed(name: string): CheckType {
  const type = findCheckType(name);
  if (!type) {
    throw fieldError('payload', [{ key: 'checkType', message: 'is not a check type of this service' }]);
  }
  return type;
}
