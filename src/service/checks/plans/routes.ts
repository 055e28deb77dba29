import { AppError } from '@picket/lib/errors.ts';
import { type AnyHandler, type HandlerDeps, handlersById } from '@picket/platform/feature/handler.ts';
import { found } from '@picket/platform/http/known-names.ts';
import { storedValue } from '@picket/platform/store/stored-json.ts';
import { checkPlanRoutes } from '@picket/protocol/checks/check-plan.ts';
import type { CheckPlanRow } from './tables.ts';

const planContent = storedValue<Record<string, unknown>>('check_plans.content', {});

/** Routes of the plans that runs of checks left for later runs. */
export function checkPlanHandlers({ store, clock }: HandlerDeps): [string, AnyHandler][] {
  const known = async (accountId: string, checkId: string) =>
    found(await store.checks.find(accountId, checkId), `check ${checkId}`).id;
  return handlersById(checkPlanRoutes, {
    async listCheckPlans({ caller, params }) {
      const id = await known(caller.accountId, params.checkId);
      return (await store.plans.ofCheck(id)).map(planView);
    },
    async restoreCheckPlan({ caller, params, body }) {
      const check = found(
        await store.checks.find(caller.accountId, params.checkId),
        `check ${params.checkId}`,
      );
      const versions = await store.plans.ofCheck(check.id);
      const older = found(
        versions.find(({ version }) => version === body.version),
        `version ${body.version} of the steps of check ${check.id}`,
      );
      const { prompt } = check.definition;
      if (planContent(older.content).prompt !== prompt) {
        throw new AppError(
          'CONFLICT',
          `Version ${body.version} follows another prompt, so runs would not use it. Put that prompt back first.`,
        );
      }
      await store.plans.keep({ ...older, reason: 'restored', created: clock.wallMs() });
      return planView(found((await store.plans.latest([check.id])).get(check.id), `check ${check.id}`));
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
    content: planContent(content),
  };
}
