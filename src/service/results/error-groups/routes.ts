import { AppError } from '../../../lib/errors.ts';
import {
  type ErrorGroup,
  type ErrorGroupPatch,
  errorGroupRoutes,
  maxListed,
  rootCauseAnalysisRoutes,
  type TestSessionErrorGroup,
} from '../../../protocol/results/error-group.ts';
import { type AnyHandler, type Call, type HandlerDeps, handlersById } from '../../http/handler.ts';
import { describePage, pageOffset } from '../../http/paging.ts';
import type { ErrorGroupRow } from '../tables.ts';

type ListCall = Pick<Call, 'request' | 'reply'> & {
  readonly caller: { readonly accountId: string };
  readonly query: { readonly limit: number; readonly page: number; readonly includeArchived: boolean };
};

/** The routes of error groups, those of checks and those of test sessions. */
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
  return handlersById(errorGroupRoutes, {
    async listErrorGroups(call) {
      return (await list('check', call)).map(groupView);
    },
    async listErrorGroupsOfCheck(call) {
      const { caller, params } = call;
      const check = await store.checks.find(caller.accountId, params.checkId);
      if (!check) throw new AppError('NOT_FOUND', `There is no check ${params.checkId}.`);
      return (await list('check', call, check.id)).map(groupView);
    },
    async getErrorGroup({ caller, params }) {
      return groupView(await find(caller.accountId, 'check', params.id));
    },
    async updateErrorGroup({ caller, params, body }) {
      return groupView(await archive(caller.accountId, 'check', params.id, body));
    },
    async listTestSessionErrorGroups(call) {
      return (await list('test-session', call)).map(testGroupView);
    },
    async listTestSessionErrorGroupsOfProject(call) {
      const query = { ...call.query, limit: call.query.limit ?? maxListed };
      return (await list('test-session', { ...call, query }, call.params.projectId)).map(testGroupView);
    },
    async getTestSessionErrorGroup({ caller, params }) {
      return testGroupView(await find(caller.accountId, 'test-session', params.id));
    },
    async updateTestSessionErrorGroup({ caller, params, body }) {
      return testGroupView(await archive(caller.accountId, 'test-session', params.id, body));
    },
  });
}

/** The routes of root cause analyses. They need a model provider, which this build has none of. */
export function rootCauseAnalysisHandlers({ store }: HandlerDeps): [string, AnyHandler][] {
  const analyse = async (accountId: string, kind: ErrorGroupRow['kind'], id: string): Promise<never> => {
    if (!(await store.errorGroups.find(accountId, kind, id))) throw noGroup(id);
    throw new AppError(
      'MODEL_PROVIDER_MISSING',
      'Root cause analysis needs a model provider, and none is configured.',
      { attributes: {} },
    );
  };
  return handlersById(rootCauseAnalysisRoutes, {
    analyseErrorGroup: ({ caller, params }) => analyse(caller.accountId, 'check', params.id),
    analyseTestSessionErrorGroup: ({ caller, params }) =>
      analyse(caller.accountId, 'test-session', params.id),
    async getRootCauseAnalysis({ params }) {
      throw new AppError('NOT_FOUND', `There is no root cause analysis ${params.id}.`);
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
    // Taken back is taken back: a group that is shown again is archived in neither way.
    ...(archivedUntilNextEvent === false ? { is_archived_for_ever: 0 as const } : {}),
    ...(archiveForEver === undefined ? {} : { is_archived_for_ever: archiveForEver ? 1 : 0 }),
  };
}

function commonView(row: ErrorGroupRow) {
  return {
    id: row.id,
    errorHash: row.error_hash,
    rawErrorMessage: row.raw_message,
    cleanedErrorMessage: row.cleaned_message,
    firstSeen: new Date(row.first_seen).toISOString(),
    lastSeen: new Date(row.last_seen).toISOString(),
    count: row.count,
    archivedUntilNextEvent: row.is_archived === 1 || row.is_archived_for_ever === 1,
    rootCauseAnalyses: [],
  };
}

function groupView(row: ErrorGroupRow): ErrorGroup {
  return { ...commonView(row), checkId: row.owner_id };
}

function testGroupView(row: ErrorGroupRow): TestSessionErrorGroup {
  return {
    ...commonView(row),
    projectId: row.owner_id === '' ? null : row.owner_id,
    environments: JSON.parse(row.environments),
    pwtMetadata: row.tests === null ? null : JSON.parse(row.tests),
  };
}
