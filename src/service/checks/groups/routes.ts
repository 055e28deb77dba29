import { mergeDefinition } from '@picket/checks/contract/definition/definition.ts';
import { keepMasked, maskDefinition } from '@picket/checks/contract/masking.ts';
import { AppError } from '@picket/lib/errors.ts';
import { type AnyHandler, handlersById } from '@picket/platform/feature/handler.ts';
import { found, requireLocations } from '@picket/platform/http/known-names.ts';
import { describePage, pageOffset } from '@picket/platform/http/paging.ts';
import { validationError } from '@picket/platform/http/validation.ts';
import type { Signal } from '@picket/platform/store/engine/signals.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import {
  CheckGroupInput,
  checkGroupRoutes,
  type GroupDefinition,
  maskedInGroups,
  mergedInGroups,
} from '@picket/protocol/checks/check-group.ts';
import { outweighedHours } from '@picket/protocol/checks/outweighed.ts';
import { weakSecrets } from '@picket/protocol/http/weak-secrets.ts';
import { forgetAlerts } from '../../incidents/forget-alerts.ts';
import { refuseMovedByGroup } from '../addresses/address-values.ts';
import {
  type CheckChannel,
  changeSubscriptions,
  subscribeNew,
  subscriptionsView,
} from '../alert-channels.ts';
import { completeGroup, withGroup } from '../effective-check.ts';
import { visibleTo, writeHeartbeat } from '../ping-address.ts';
import type { Check } from '../store.ts';
import { locationsOf } from '../timing/slots.ts';
import { checkListView, oneCheckView } from '../view.ts';
import { type CheckDeps, checkNotFound, isAtRest, refuseOvertaken } from '../writer.ts';
import type { CheckGroup, CheckGroupWrite } from './store.ts';

const namesInMessage = 3;

/** Routes of check groups, including the effects of changes on the runs of their checks. */
export function checkGroupHandlers(deps: CheckDeps): [string, AnyHandler][] {
  const { store, clock, publicUrl } = deps;
  const viewsOf = async (groups: readonly CheckGroup[]) => {
    const channels = await store.alertChannels.ofGroups(groups.map(({ id }) => id));
    return groups.map((group) => view(group, channels.get(group.id) ?? []));
  };
  const viewOf = async (group: CheckGroup) => found((await viewsOf([group]))[0], `check group ${group.id}`);
  return handlersById(checkGroupRoutes, {
    async listCheckGroups({ caller, query, request, reply }) {
      const { total, rows: groups } = await store.groups.listMatching(
        caller.accountId,
        { tags: query.tag === undefined ? undefined : [query.tag].flat(), name: query.name },
        { limit: query.limit, offset: pageOffset(query) },
      );
      describePage(request, reply, { query, total, publicUrl });
      return viewsOf(groups);
    },
    async createCheckGroup({ caller, body, query }) {
      const group = await store.transaction(async (repositories) => {
        const definition = body as GroupDefinition;
        await requireLocations(repositories, caller.accountId, definition);
        const created = await repositories.groups.add(caller.accountId, writeOf(definition), clock.wallMs());
        const named = definition.alertChannelSubscriptions ?? [];
        await subscribeNew(
          repositories,
          { groupId: created.id },
          { accountId: caller.accountId, named, isAutoAssigned: query.autoAssignAlerts },
        );
        return created;
      });
      return viewOf(group);
    },
    async getCheckGroup({ caller, params }) {
      return viewOf(found(await store.groups.find(caller.accountId, params.id), `check group ${params.id}`));
    },
    async updateCheckGroup({ caller, params, query, body }) {
      const { group, signals } = await store.transaction(async (repositories) => {
        const now = clock.wallMs();
        const before = found(
          await repositories.groups.findForUpdate(caller.accountId, params.id),
          `check group ${params.id}`,
        );
        refuseOvertaken(before, query.unchangedSince);
        const definition = changedDefinition(before, body);
        await requireLocations(repositories, caller.accountId, definition);
        await refuseMovedByGroup(repositories, caller, before, { ...before, definition });
        await repositories.groups.change(before.id, writeOf(definition), now);
        const isNamed = (body as Readonly<Record<string, unknown>>).alertChannelSubscriptions !== undefined;
        const named = isNamed ? (definition.alertChannelSubscriptions ?? []) : undefined;
        await changeSubscriptions(
          repositories,
          { groupId: before.id },
          { accountId: caller.accountId, named },
        );
        const after = { ...before, definition, updated: now };
        // Suppressions of alerts of its checks, or the notified channels, may have changed.
        await repositories.alerts.lookAgain(caller.accountId, now);
        await repositories.gaps.lookAgain(caller.accountId, now);
        await repositories.receiverIncidents.lookAgain({ accountId: caller.accountId });
        return {
          group: after,
          signals: await rescheduleChecks(deps, repositories, before, after, now),
        };
      });
      store.signals.send([{ kind: 'schedule' }, ...signals]);
      return viewOf(group);
    },
    async deleteCheckGroup({ caller, params }) {
      await store.transaction(async (repositories) => {
        const group = found(
          await repositories.groups.findForUpdate(caller.accountId, params.id),
          `check group ${params.id}`,
        );
        const { checks } = await repositories.checks.listOfGroup(group.id, {
          limit: namesInMessage + 1,
          offset: 0,
        });
        if (checks.length > 0) throw hasChecks(group, checks);
        await repositories.groups.delete(caller.accountId, group.id);
      });
    },
    async listChecksOfGroup({ caller, params, query, request, reply }) {
      const group = found(await store.groups.find(caller.accountId, params.id), `check group ${params.id}`);
      const page = { limit: query.limit, offset: pageOffset(query) };
      const { checks, total } = await store.checks.listOfGroup(group.id, page);
      describePage(request, reply, { query, total, publicUrl });
      return checkListView(
        deps,
        checks.map((check) => visibleTo(caller, withGroup(check, group))),
        'in-effect',
      );
    },
    async getCheckOfGroup({ caller, params }) {
      const group = found(
        await store.groups.find(caller.accountId, params.groupId),
        `check group ${params.groupId}`,
      );
      const check = await store.checks.find(caller.accountId, params.checkId);
      if (!check || check.groupId !== group.id) throw checkNotFound(params.checkId);
      return oneCheckView(deps, visibleTo(caller, withGroup(check, group)), 'in-effect');
    },
  });
}

/** Merges a partial body into a stored group and validates the result as a whole. */
function changedDefinition(stored: CheckGroup, body: Readonly<Record<string, unknown>>): GroupDefinition {
  const complete = completeGroup(stored);
  const merge = (patch: Readonly<Record<string, unknown>>) =>
    mergeDefinition(complete, patch, mergedInGroups);
  const patch = keepMasked(maskedInGroups, body, complete, { merge });
  const parsed = CheckGroupInput.safeParse(merge(patch));
  if (!parsed.success) throw validationError('payload', parsed.error.issues);
  return parsed.data as GroupDefinition;
}

/**
 * Reschedules the checks of a changed group that it now lets run or stops, moves to other locations or makes run in
 * parallel. Everything else takes effect with their next lease.
 */
async function rescheduleChecks(
  { reschedule }: CheckDeps,
  repositories: Repositories,
  before: CheckGroup,
  after: CheckGroup,
  now: number,
): Promise<Signal[]> {
  const signals: Signal[] = [];
  for (const check of await repositories.checks.ofGroupForUpdate(before.id)) {
    const [was, is] = [withGroup(check, before), withGroup(check, after)];
    if (isAtRest(is) && !isAtRest(was)) await forgetAlerts(repositories, [check.id], now);
    if (placement(was) === placement(is)) continue;
    if (is.activated !== was.activated) await writeHeartbeat(repositories, is, now);
    const followed = await reschedule(repositories, was, is, now);
    const runParallel = is.definition.runParallel === true;
    await repositories.checks.setSchedule(check.id, { slots: followed.planned, runParallel });
    signals.push(...followed.signals);
  }
  return signals;
}

/** The parts of a check's schedule that a group can change, as text for comparison. */
function placement({ activated, definition }: Check): string {
  return JSON.stringify([activated, definition.runParallel, definition.activeHours, locationsOf(definition)]);
}

function hasChecks(group: CheckGroup, checks: readonly Check[]): AppError {
  const named = checks.slice(0, namesInMessage).map(({ name }) => `"${name}"`);
  const more = checks.length > namesInMessage ? ' and others' : '';
  return new AppError(
    'CONFLICT',
    `The group ${group.id} has checks: ${named.join(', ')}${more}. Remove them from the group or delete them first.`,
  );
}

function writeOf(definition: GroupDefinition): CheckGroupWrite {
  return { name: definition.name, tags: definition.tags, locations: locationsOf(definition), definition };
}

/** A group as responses show it: complete, with masked values hidden. */
function view(group: CheckGroup, subscribed: readonly CheckChannel[]) {
  return {
    ...(maskDefinition(maskedInGroups, completeGroup(group)) as GroupDefinition),
    id: group.id,
    warnings: [
      ...outweighedHours(group.definition.activeHours),
      ...weakSecrets(maskedInGroups, group.definition),
    ],
    alertChannelSubscriptions: subscriptionsView(subscribed),
    created_at: new Date(group.created).toISOString(),
    updated_at: group.updated === null ? null : new Date(group.updated).toISOString(),
  };
}
