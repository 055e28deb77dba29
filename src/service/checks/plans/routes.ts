import { checkPlanRoutes } from '../../../protocol/checks/check-plan.ts';
import { type AnyHandler, type HandlerDeps, handlersById } from '../../http/handler.ts';
import { found } from '../../http/known-names.ts';
import type { CheckPlanRow } from './tables.ts';

/** The routes of what runs of checks left for later ones. */
export function checkPlanHandlers({ store }: HandlerDeps): [string, AnyHandler][] {
  const known = async (accountId: string, checkId: string) =>
    found(await store.checks.find(accountId, checkId), `check ${checkId}`).id;
  return handlersById(checkPlanRoutes, {
    async listCheckPlans({ caller, params }) {
      const id = await known(caller.accountId, params.checkId);
      return (await store.plans.ofCheck(id)).map(planView);
    },
    async deleteCheckPlans({ caller, params }) {
      await store.plans.drop(await known(caller.accountId, params.checkId));
    },
  });
}

function planView({ version, reason, created, result_id, content }: CheckPlanRow) {
  return {
    version,
    reason,
    created_at: new Date(created).toISOString(),
    checkResultId: result_id,
    content: JSON.parse(content) as Record<string, unknown>,
  };
}
