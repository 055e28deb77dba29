import { AppError } from '@picket/lib/errors.ts';
import {
  type AnyHandler,
  type Call,
  type HandlerDeps,
  handlersById,
} from '@picket/platform/feature/handler.ts';
import { describePage, pageOffset } from '@picket/platform/http/paging.ts';
import { storedValue } from '@picket/platform/store/stored-json.ts';
import {
  type ErrorGroup,
  type ErrorGroupPatch,
  errorGroupRoutes,
  maxListed,
  type TestSessionErrorGroup,
} from '@picket/protocol/results/error-group.ts';
import type { RootCauseAnalysis } from '@picket/protocol/results/root-cause-analysis.ts';
import type { ErrorGroupRow } from '../tables.ts';
import { groupEnvironments } from './group-errors.ts';

const testsOf = storedValue<readonly NonNullable<TestSessionErrorGroup['pwtMetadata']>[number][]>(
  'error_groups.tests',
  [],
);

type ListCall = Pick<Call, 'request' | 'reply'> & {
  readonly caller: { readonly accountId: string };
  readonly query: { readonly limit: number; readonly page: number; readonly includeArchived: boolean };
};

/** Routes of error groups, those of checks and those of test sessions. */
export function errorGroupHandlers(deps: HandlerDeps): [string, AnyHandler][] {
  const { store } = deps;
  const list = async (
    kind: ErrorGroupRow['kind'],
    { caller, query, request, reply }: ListCall,
    ownerId?: string,
  ): Promise<ErrorGroupRow[]> => {
    const { total, groups } = await store.errorGroups.list(
      { accountId: caller.accountId, kind, ownerId, includeArchived: query.includeArchived },
      { limit: query.limit, offset: pageOffset(query) },
    );
    describePage(request, reply, { query, total, publicUrl: deps.publicUrl });
    return groups;
  };
  const find = async (accountId: string, kind: ErrorGroupRow['kind'], id: string): Promise<ErrorGroupRow> => {
    const group = await store.errorGroups.find(accountId, kind, id);
    if (!group) throw noGroup(id);
    return group;
  };
  const archive = async (
    accountId: string,
    kind: ErrorGroupRow['kind'],
    id: string,
    patch: ErrorGroupPatch,
  ) => {
    const changed = await store.transaction(async (repositories) => {
      const group = await repositories.errorGroups.find(accountId, kind, id);
      return group && repositories.errorGroups.archive(group, changeOf(patch));
    });
    if (!changed) throw noGroup(id);
    return changed;
  };
  const views = async <View>(
    groups: readonly ErrorGroupRow[],
    of: (row: ErrorGroupRow, analyses: RootCauseAnalysis[]) => View,
  ): Promise<View[]> => {
    const analyses = await store.analyses.ofGroups(groups.map(({ id }) => id));
    return groups.map((group) => of(group, analyses.get(group.id) ?? []));
  };
  const view = async <View>(
    group: ErrorGroupRow,
    of: (row: ErrorGroupRow, analyses: RootCauseAnalysis[]) => View,
  ): Promise<View> => of(group, (await store.analyses.ofGroups([group.id])).get(group.id) ?? []);
  return handlersById(errorGroupRoutes, {
    async listErrorGroups(call) {
      return views(await list('check', call), groupView);
    },
    async listErrorGroupsOfCheck(call) {
      const { caller, params } = call;
      const check = await store.checks.find(caller.accountId, params.checkId);
      if (!check) throw new AppError('NOT_FOUND', `There is no check ${params.checkId}.`);
      return views(await list('check', call, check.id), groupView);
    },
    async getErrorGroup({ caller, params }) {
      return view(await find(caller.accountId, 'check', params.id), groupView);
    },
    async updateErrorGroup({ caller, params, body }) {
      return view(await archive(caller.accountId, 'check', params.id, body), groupView);
    },
    async listTestSessionErrorGroups(call) {
      return views(await list('test-session', call), testGroupView);
    },
    async listTestSessionErrorGroupsOfProject(call) {
      const query = { ...call.query, limit: call.query.limit ?? maxListed };
      return views(await list('test-session', { ...call, query }, call.params.projectId), testGroupView);
    },
    async getTestSessionErrorGroup({ caller, params }) {
      return view(await find(caller.accountId, 'test-session', params.id), testGroupView);
    },
    async updateTestSessionErrorGroup({ caller, params, body }) {
      return view(await archive(caller.accountId, 'test-session', params.id, body), testGroupView);
    },
  });
}

function noGroup(id: string): AppError {
  return new AppError('NOT_FOUND', `There is no error group ${id}.`);
}

function changeOf(
  patch: ErrorGroupPatch,
): Partial<Pick<ErrorGroupRow, 'is_archived' | 'is_archived_for_ever'>> {
  const { archivedUntilNextEvent, archiveForEver } = patch;
  return {
    ...(archivedUntilNextEvent === undefined ? {} : { is_archived: archivedUntilNextEvent ? 1 : 0 }),
    // Unarchiving removes permanent archiving, too.
    ...(archivedUntilNextEvent === false ? { is_archived_for_ever: 0 as const } : {}),
    ...(archiveForEver === undefined ? {} : { is_archived_for_ever: archiveForEver ? 1 : 0 }),
  };
}

function commonView(row: ErrorGroupRow, rootCauseAnalyses: RootCauseAnalysis[]) {
  return {
    id: row.id,
    errorHash: row.error_hash,
    rawErrorMessage: row.raw_message,
    cleanedErrorMessage: row.cleaned_message,
    firstSeen: new Date(row.first_seen).toISOString(),
    lastSeen: new Date(row.last_seen).toISOString(),
    count: row.count,
    archivedUntilNextEvent: row.is_archived === 1 || row.is_archived_for_ever === 1,
    rootCauseAnalyses,
  };
}

function groupView(row: ErrorGroupRow, analyses: RootCauseAnalysis[]): ErrorGroup {
  return { ...commonView(row, analyses), checkId: row.owner_id };
}

function testGroupView(row: ErrorGroupRow, analyses: RootCauseAnalysis[]): TestSessionErrorGroup {
  return {
    ...commonView(row, analyses),
    projectId: row.owner_id === '' ? null : row.owner_id,
    environments: [...groupEnvironments(row.environments)],
    pwtMetadata: row.tests === null ? null : [...testsOf(row.tests)],
  };
}
