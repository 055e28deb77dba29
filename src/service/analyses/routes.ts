import { randomUUID } from 'node:crypto';
import { AppError } from '@picket/lib/errors.ts';
import { type AnyHandler, type HandlerDeps, handlersById } from '@picket/platform/feature/handler.ts';
import { found } from '@picket/platform/http/known-names.ts';
import { rootCauseAnalysisRoutes } from '@picket/protocol/results/root-cause-analysis.ts';
import { analysisView } from './store.ts';
import type { RootCauseAnalysisRow } from './tables.ts';

/** Limit of pending analyses per account. */
const maxPending = 100;

/** Routes of root-cause analyses. */
export function rootCauseAnalysisHandlers({ store, clock }: HandlerDeps): [string, AnyHandler][] {
  const start = async (
    accountId: string,
    { id: groupId, kind }: { readonly id: string; readonly kind: RootCauseAnalysisRow['group_kind'] },
    userContext: string | null | undefined,
  ) => {
    found(await store.errorGroups.find(accountId, kind, groupId), `error group ${groupId}`);
    const pending = await store.analyses.countPending(accountId, maxPending);
    if (pending >= maxPending) {
      throw new AppError(
        'RATE_LIMITED',
        `${maxPending} analyses wait already. Ask again when they are done.`,
      );
    }
    const id = randomUUID();
    const asked = { id, accountId, groupId, groupKind: kind, isAutomatic: false };
    await store.analyses.ask([{ ...asked, userContext: userContext || null }], clock.wallMs());
    store.signals.send([{ kind: 'alerts' }]);
    return { id, status: 'PENDING' as const };
  };
  return handlersById(rootCauseAnalysisRoutes, {
    analyseErrorGroup: ({ caller, params, body }) =>
      start(caller.accountId, { id: params.id, kind: 'check' }, body?.userContext),
    analyseTestSessionErrorGroup: ({ caller, params, body }) =>
      start(caller.accountId, { id: params.id, kind: 'test-session' }, body?.userContext),
    async getRootCauseAnalysis({ caller, params, reply }) {
      const row = found(
        await store.analyses.find(caller.accountId, params.id),
        `root cause analysis ${params.id}`,
      );
      if (row.content !== null) return { ...analysisView(row), status: 'COMPLETED' as const };
      void reply.code(202);
      return { id: row.id, status: 'PENDING' as const };
    },
    async updateRootCauseAnalysis({ caller, params, body }) {
      const judged = await store.analyses.judge(caller.accountId, params.id, body.verdict);
      const row = found(judged, `finished root cause analysis ${params.id}`);
      return { ...analysisView(row), status: 'COMPLETED' as const };
    },
  });
}
