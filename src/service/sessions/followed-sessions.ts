import { AppError } from '@picket/lib/errors.ts';
import {
  type AnyHandler,
  baseUrlOf,
  type HandlerDeps,
  handlersById,
} from '@picket/platform/feature/handler.ts';
import { assetTypeOf } from '@picket/protocol/results/artifact.ts';
import { followedSessionRoutes } from '@picket/protocol/sessions/followed-session.ts';
import { linkOpensMs, openLink } from '../results/artifacts/open-links.ts';
import { followedPlan, placeOf } from './followed-plan.ts';
import { checkRunData, logFile } from './result-files.ts';
import { noSession, Sessions } from './sessions.ts';

/** Routes for clients that start test sessions, follow them, and fetch their results. */
export function followedSessionHandlers(deps: HandlerDeps): [string, AnyHandler][] {
  const { store, clock } = deps;
  const sessions = new Sessions(deps);
  const sessionOf = async (accountId: string, id: string) => {
    const session = await store.testSessions.find(accountId, id);
    if (!session) throw noSession({ kind: 'test_session_id', id });
    return session;
  };
  const resultOf = async (accountId: string, id: string) => {
    const row = await store.testSessions.resultOfAccount(accountId, id);
    if (!row) throw new AppError('NOT_FOUND', `There is no result ${id} of a test session.`);
    return row;
  };
  return handlersById(followedSessionRoutes, {
    async triggerFollowedSession({ caller, body }) {
      const { accountId } = caller;
      const place = await placeOf(deps, accountId, body.runLocation);
      const ids = [body.checkId ?? []].flat().map((id) => id.toLowerCase());
      const target = {
        matchTags: body.targetTags?.length ? body.targetTags : undefined,
        checkIds: ids.length > 0 ? ids : undefined,
      };
      const plan = {
        ...followedPlan({ ...body, place, suiteId: body.checkRunSuiteId ?? null }),
        project_id: null,
        retry_strategy: JSON.stringify(body.testRetryStrategy ?? null),
        streams_logs: 0 as const,
      };
      const { session, runs } = await sessions
        .startTest(caller, target, plan)
        .catch((thrown: unknown): never => {
          if (thrown instanceof AppError && thrown.code === 'NOT_FOUND') {
            throw new AppError('NO_MATCHING_CHECKS', thrown.message);
          }
          throw thrown;
        });
      const checks = await store.checks.findMany(runs.map((run) => run.check_id));
      return {
        checks: [...checks.values()].map(({ id, name, checkType }) => ({ id, name, checkType })),
        testSessionId: session.id,
        testResultIds: Object.fromEntries(runs.map((run) => [run.check_id, run.id])),
        sequenceIds: Object.fromEntries(runs.map((run) => [run.check_id, run.sequence_id])),
      };
    },
    async getTestSessionLink({ caller, params, request }) {
      const { id } = await sessionOf(caller.accountId, params.id);
      return { link: `${baseUrlOf(request, deps.publicUrl)}/sessions/tests/${id}` };
    },
    async getTestResultLinks({ caller, params, request }) {
      const session = await sessionOf(caller.accountId, params.id);
      const row = await store.testSessions.resultOfSession(session.id, params.resultId);
      if (!row) throw new AppError('NOT_FOUND', `The session has no result ${params.resultId}.`);
      const base = baseUrlOf(request, deps.publicUrl);
      const artifacts = (await store.artifacts.ofResults([row.id])).get(row.id) ?? [];
      const { accountId } = caller;
      const signing = {
        signingKey: await store.alertLinkKeys.of(accountId),
        until: clock.wallMs() + linkOpensMs,
      };
      const linksTo = (type: string) =>
        artifacts
          .filter((file) => file.state === 'stored' && assetTypeOf(file.name, file.content_type) === type)
          .map(({ name }) => openLink(base, { accountId, resultId: row.id, name }, signing));
      return {
        testResultLink: `${base}/sessions/tests/${session.id}/results/${row.id}`,
        testTraceLinks: linksTo('trace'),
        videoLinks: linksTo('video'),
        screenshotLinks: linksTo('screenshot'),
      };
    },
    async getResultLog({ caller, params }) {
      return logFile(await resultOf(caller.accountId, params.key));
    },
    async getResultData({ caller, params }) {
      return checkRunData(await resultOf(caller.accountId, params.key));
    },
  });
}
