import { AppError } from '@picket/lib/errors.ts';
import {
  type AnyHandler,
  type Call,
  type HandlerDeps,
  handlersById,
} from '@picket/platform/feature/handler.ts';
import { requireLocation } from '@picket/platform/http/known-names.ts';
import { fieldError } from '@picket/platform/http/validation.ts';
import { storedValue } from '@picket/platform/store/stored-json.ts';
import { parseTimestamp } from '@picket/protocol/http/query.ts';
import { type CheckSession, checkSessionRoutes } from '@picket/protocol/sessions/check-session.ts';
import {
  type Metadata,
  type TestSession,
  type TestSessionTrigger,
  testSessionRoutes,
  unknownProvider,
} from '@picket/protocol/sessions/test-session.ts';
import type { z } from 'zod';
import { resultView } from '../results/routes.ts';
import type { ResultRow } from '../results/tables.ts';
import type { Ledger } from '../runs/ledger.ts';
import type { RunRow } from '../runs/tables.ts';
import { whyUnmeasured } from './able-agents.ts';
import { waitUntilDone } from './completion.ts';
import { definitionRunHandlers } from './definition-runs.ts';
import { followedSessionHandlers } from './followed-sessions.ts';
import { noSession, Sessions, type TestSessionPlan } from './sessions.ts';
import { resultStatus, runStatus, sequencesByStatus, sessionState } from './stored/session-state.ts';
import type { CheckSessionRow } from './stored/tables.ts';
import type { ResultVerdict, TestSession as StoredTestSession } from './stored/test-session-store.ts';

const groupIds = storedValue<readonly string[]>('test_results.error_group_ids', []);
const metadataOf = storedValue<z.output<typeof Metadata.schema>>('test_sessions.metadata', {});

/** Routes of check sessions and test sessions. */
export function sessionHandlers(deps: HandlerDeps & { readonly ledger: Ledger }): [string, AnyHandler][] {
  const sessions = new Sessions(deps);
  const views = new SessionViews(deps);
  const stopOf = ({ request }: Pick<Call, 'request'>) =>
    AbortSignal.any([deps.ledger.draining, request.signal]);
  const checkHandlers = handlersById(checkSessionRoutes, {
    async triggerCheckSessions({ caller, body }) {
      const target = { matchTags: body.target?.matchTags, checkIds: idsOf(body.target?.checkId) };
      const started = await sessions.startChecks(caller.accountId, target, { runSource: 'TRIGGER_API' });
      return { sessions: await views.started(started) };
    },
    async getCheckSession({ caller, params }) {
      return (await views.checkSession(caller.accountId, params.id)).value;
    },
    async awaitCheckSession({ caller, params, query, request }) {
      return waitUntilDone(() => views.checkSession(caller.accountId, params.id), {
        clock: deps.clock,
        maxWaitMs: query.maxWaitSeconds * 1000,
        stop: stopOf({ request }),
      });
    },
    async cancelCheckSession({ caller, params, body }) {
      const session = { kind: 'check_session_id', id: params.id } as const;
      await sessions.cancel(caller.accountId, session, body?.sequenceId);
    },
  });
  const testHandlers = handlersById(testSessionRoutes, {
    async triggerTestSession({ caller, body }) {
      const { accountId } = caller;
      await requireLocation(deps, accountId, body.runLocation, { source: 'payload', key: 'runLocation' });
      const target = {
        matchTags: body.target?.matchTags,
        checkIds: idsOf(body.target?.checkId),
        allowDeactivated: body.target?.allowDeactivated,
      };
      const { session } = await sessions.startTest(caller, target, planOf(body));
      return (await views.testSession(accountId, session.id)).value;
    },
    async listTestSessions({ caller, query }) {
      const { accountId } = caller;
      const before = query.nextId && (await deps.store.testSessions.find(accountId, query.nextId));
      if (query.nextId !== undefined && !before) {
        throw fieldError('query', [{ key: 'nextId', message: 'is not a cursor of an earlier page' }]);
      }
      const found = await deps.store.testSessions.list(
        {
          accountId,
          from: query.from === undefined ? undefined : (parseTimestamp(query.from) ?? undefined),
          to: query.to === undefined ? undefined : (parseTimestamp(query.to) ?? undefined),
          statuses: query.statuses,
          branches: query.branches,
          users: query.users,
          providers: query.providers,
          textSearch: query.textSearch,
          errorGroupId: query.errorGroupId,
          after: before ? { started: before.started, id: before.id } : undefined,
        },
        query.limit + 1,
      );
      const entries = found.slice(0, query.limit);
      return {
        length: entries.length,
        entries: await Promise.all(entries.map((session) => views.testSessionSummary(session))),
        nextId: found.length > query.limit ? (entries.at(-1)?.id ?? null) : null,
      };
    },
    async getTestSession({ caller, params }) {
      return (await views.testSession(caller.accountId, params.id)).value;
    },
    async awaitTestSession({ caller, params, query, request }) {
      return waitUntilDone(() => views.testSession(caller.accountId, params.id), {
        clock: deps.clock,
        maxWaitMs: query.maxWaitSeconds * 1000,
        stop: stopOf({ request }),
      });
    },
    async cancelTestSession({ caller, params, body }) {
      const session = { kind: 'test_session_id', id: params.id } as const;
      await sessions.cancel(caller.accountId, session, body?.sequenceId);
    },
    async getTestSessionResult({ caller, params }) {
      const session = await deps.store.testSessions.find(caller.accountId, params.id);
      if (!session) throw noSession({ kind: 'test_session_id', id: params.id });
      const row = await deps.store.testSessions.resultOfSession(session.id, params.resultId);
      if (!row) throw new AppError('NOT_FOUND', `The session has no result ${params.resultId}.`);
      const names = await namesOf(deps, [row.check_id]);
      const artifacts = await deps.store.artifacts.ofResults([row.id]);
      return resultView(row, names.get(row.check_id) ?? row.check_id, artifacts.get(row.id), deps.publicUrl);
    },
  });
  return [
    ...checkHandlers,
    ...testHandlers,
    ...definitionRunHandlers(deps),
    ...followedSessionHandlers(deps),
  ];
}

function idsOf(ids: string | readonly string[] | undefined): string[] | undefined {
  return ids === undefined ? undefined : [ids].flat().map((id) => id.toLowerCase());
}

function planOf(body: TestSessionTrigger): TestSessionPlan {
  const metadata = body.metadata ?? {};
  return {
    name: body.name,
    name_search: body.name.toLowerCase(),
    project_id: body.projectId ?? null,
    run_location: body.runLocation,
    environment_variables: JSON.stringify(body.environmentVariables),
    retry_strategy: body.retryStrategy === undefined ? null : JSON.stringify(body.retryStrategy),
    metadata: JSON.stringify(metadata),
    environment: metadata.environment ?? null,
    branch: metadata.branchName ?? null,
    author: metadata.commitOwner ?? null,
    provider: metadata.provider ?? null,
    suite_id: null,
    streams_logs: 0,
  };
}

/** Names of checks, and of definitions that are not checks. */
async function namesOf({ store }: HandlerDeps, ids: readonly string[]): Promise<Map<string, string>> {
  const [checks, definitions] = await Promise.all([
    store.checks.findMany(ids),
    store.testDefinitions.findMany(ids),
  ]);
  const all = [...checks.values(), ...[...definitions.values()].map(({ check }) => check)];
  return new Map(all.map(({ id, name }) => [id, name]));
}

/** Sessions as responses show them. */
export class SessionViews {
  readonly #deps: HandlerDeps;
  readonly #base: string;

  constructor(deps: HandlerDeps) {
    this.#deps = deps;
    this.#base = deps.publicUrl?.replace(/\/+$/, '') ?? '';
  }

  /** Check sessions right after they were started. */
  async started(sessions: readonly CheckSessionRow[]) {
    const runs = Map.groupBy(
      await this.#deps.store.checkSessions.runs(sessions.map(({ id }) => id)),
      (run) => run.check_session_id,
    );
    const checks = await this.#deps.store.checks.findMany(sessions.map((session) => session.check_id));
    return sessions.flatMap((session) => {
      const check = checks.get(session.check_id);
      return check ? [this.#checkSummary(session, check, runs.get(session.id) ?? [], [])] : [];
    });
  }

  /**
   * A check session with its results, and whether it has ended.
   *
   * @throws AppError NOT_FOUND if the account has no such session.
   */
  async checkSession(accountId: string, id: string): Promise<{ isDone: boolean; value: CheckSession }> {
    const { store } = this.#deps;
    const session = await store.checkSessions.find(accountId, id);
    const check = session && (await store.checks.find(accountId, session.check_id));
    if (!session || !check) throw noSession({ kind: 'check_session_id', id });
    const runs = await store.checkSessions.runs([id]);
    const results = await store.checkSessions.results(session);
    const measured = results.map((row) => ({
      ...resultLine(row, check.name),
      checkResultId: row.id,
      checkResultLink: `${this.#base}/v1/check-results/${row.check_id}/${row.id}`,
      resultType: row.result_type,
    }));
    const unmeasured = unmeasuredRuns(runs, results).map((run) => ({
      ...runLine(run, check.name),
      checkResultId: null,
      checkResultLink: null,
      resultType: 'FINAL' as const,
    }));
    return {
      isDone: sessionState(runs, results).isFinal,
      value: {
        ...this.#checkSummary(session, check, runs, results),
        results: [...measured, ...unmeasured.filter((line) => line.aborted || line.isCancelled)],
      },
    };
  }

  #checkSummary(
    session: CheckSessionRow,
    check: { readonly name: string; readonly checkType: string },
    runs: readonly RunRow[],
    results: readonly ResultRow[],
  ) {
    const { status, stopped } = sessionState(runs, results);
    return {
      checkSessionId: session.id,
      checkSessionLink: `${this.#base}/v1/check-sessions/${session.id}`,
      checkId: session.check_id,
      checkType: check.checkType,
      name: check.name,
      status,
      ...this.#times(session.started, stopped),
      runLocations: [...new Set(runs.map((run) => run.location))],
      runSource: session.run_source,
    };
  }

  /**
   * A test session with its results, and whether it has ended.
   *
   * @throws AppError NOT_FOUND if the account has no such session.
   */
  async testSession(accountId: string, id: string): Promise<{ isDone: boolean; value: TestSession }> {
    const { store } = this.#deps;
    const session = await store.testSessions.find(accountId, id);
    if (!session) throw noSession({ kind: 'test_session_id', id });
    const runs = await store.testSessions.runs(id);
    const results = await store.testSessions.results(id);
    const names = await namesOf(
      this.#deps,
      [...runs, ...results].map(({ check_id: checkId }) => checkId),
    );
    const nameOf = (checkId: string) => names.get(checkId) ?? checkId;
    const base = `${this.#base}/v1/test-sessions/${id}`;
    const measured = results.map((row) => ({
      ...resultLine(row, nameOf(row.check_id)),
      testSessionResultId: row.id,
      testSessionResultLink: `${base}/results/${row.id}`,
      resultType: row.result_type,
      status: resultStatus(row),
      errorGroupIds: [...groupIds(row.error_group_ids)],
    }));
    const unmeasured = unmeasuredRuns(runs, results).map((run) => ({
      ...runLine(run, nameOf(run.check_id)),
      testSessionResultId: run.id,
      testSessionResultLink: null,
      resultType: run.ended === null ? ('PENDING' as const) : ('FINAL' as const),
      status: runStatus(run),
      errorGroupIds: [],
    }));
    const all = [...measured, ...unmeasured];
    return {
      isDone: session.status !== 'RUNNING',
      value: {
        ...this.#testSummary(session, runs, results),
        errorGroupIds: [...new Set(measured.flatMap((line) => line.errorGroupIds))],
        results: all,
      },
    };
  }

  async testSessionSummary(session: StoredTestSession) {
    const { testSessions } = this.#deps.store;
    return this.#testSummary(
      session,
      await testSessions.runs(session.id),
      await testSessions.verdicts(session.id),
    );
  }

  #testSummary(session: StoredTestSession, runs: readonly RunRow[], results: readonly ResultVerdict[]) {
    const metadata = metadataOf(session.metadata);
    const finals = results.filter((result) => result.result_type === 'FINAL');
    return {
      id: session.id,
      accountId: session.account_id,
      testSessionId: session.id,
      testSessionLink: `${this.#base}/v1/test-sessions/${session.id}`,
      name: session.name,
      projectId: session.project_id,
      runLocation: session.run_location,
      region: session.run_location,
      provider: session.provider ?? unknownProvider,
      status: session.status,
      ...this.#times(session.started, sessionState(runs, []).stopped),
      created_at: new Date(session.started).toISOString(),
      metadata,
      repoUrl: metadata.repoUrl ?? null,
      environment: metadata.environment ?? null,
      branchName: metadata.branchName ?? null,
      commitId: metadata.commitId ?? null,
      commitOwner: metadata.commitOwner ?? null,
      commitMessage: metadata.commitMessage ?? null,
      ...sequencesByStatus(runs, finals),
    };
  }

  #times(started: number, stopped: number | null) {
    return {
      startedAt: new Date(started).toISOString(),
      stoppedAt: stopped === null ? null : new Date(stopped).toISOString(),
      timeElapsed: Math.max(0, (stopped ?? this.#deps.clock.wallMs()) - started),
    };
  }
}

/** Runs without a final result: waiting, running, or ended without one. */
function unmeasuredRuns(runs: readonly RunRow[], results: readonly ResultRow[]): RunRow[] {
  const measured = new Set(
    results.filter((row) => row.result_type === 'FINAL').map(({ run_id: runId }) => runId),
  );
  return runs.filter((run) => !measured.has(run.id));
}

function resultLine(row: ResultRow, name: string) {
  return {
    sequenceId: row.sequence_id,
    checkId: row.check_id,
    checkType: row.check_type,
    name,
    runLocation: row.run_location,
    hasErrors: row.has_errors === 1,
    hasFailures: row.has_failures === 1,
    isDegraded: row.is_degraded === null ? null : row.is_degraded === 1,
    aborted: false,
    message: null,
    isCancelled: false,
  };
}

function runLine(run: RunRow, name: string) {
  return {
    sequenceId: run.sequence_id,
    checkId: run.check_id,
    checkType: run.check_type,
    name,
    runLocation: run.location,
    hasErrors: run.state === 'missed',
    hasFailures: false,
    isDegraded: null,
    aborted: run.state === 'missed',
    message: whyUnmeasured(run),
    isCancelled: run.state === 'cancelled',
  };
}
