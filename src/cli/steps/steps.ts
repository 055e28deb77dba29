import { AgenticPlan, planChanges, stepInWords } from '@picket/checks/agentic/plan/plan.ts';
import { type CheckPlan, checkPlanRoutes } from '@picket/protocol/checks/check-plan.ts';
import { ApiError } from '../api/api-error.ts';
import type { Run } from '../api/command.ts';
import { findCheck } from '../api/find-check.ts';
import { agoText, printable } from '../api/text.ts';

const signs = { kept: '  ', removed: '- ', added: '+ ' } as const;

/** `picket steps show CHECK` */
export const showSteps: Run = async (api, [named = '']) => {
  const { id, name } = await findCheck(api, named);
  const plans = await api.call(checkPlanRoutes.listCheckPlans, { params: { checkId: id } });
  const now = Date.now();
  const lines = () => {
    const [newest, before] = plans;
    if (!newest) return [`${printable(name)} has no plan: in its next run, the model finds the steps.`];
    const title = `Version ${newest.version} of ${plans.length}, ${newest.reason} ${agoText(newest.created_at, now)} ago`;
    const earlier = plans
      .slice(1, 11)
      .map(
        ({ version, reason, created_at }) => `version ${version}, ${reason} ${agoText(created_at, now)} ago`,
      );
    return [
      title,
      ...stepLines(newest, before),
      ...(earlier.length === 0 ? [] : [`Earlier: ${earlier.join('; ')}`]),
    ];
  };
  return { json: plans, lines };
};

/** `picket steps restore CHECK VERSION` */
export const restoreSteps: Run = async (api, [named = '', given = '']) => {
  const version = Number(given);
  if (!Number.isInteger(version) || version < 1) {
    throw new ApiError('Name a version by its number: "picket steps show" lists them.', true);
  }
  const { id, name } = await findCheck(api, named);
  const plan = await api.call(checkPlanRoutes.restoreCheckPlan, {
    params: { checkId: id },
    body: { version },
  });
  return {
    json: plan,
    lines: () => [
      `Version ${version} was restored as version ${plan.version}: the next run of ${printable(name)} repeats it.`,
    ],
  };
};

/** `picket steps forget CHECK` */
export const forgetSteps: Run = async (api, [named = '']) => {
  const { id, name } = await findCheck(api, named);
  await api.call(checkPlanRoutes.deleteCheckPlans, { params: { checkId: id } });
  return {
    json: { id },
    lines: () => [`Steps forgotten: the next run of ${printable(name)} finds them again.`],
  };
};

/** Lists the steps of a version, and its changes from the previous one. */
function stepLines(newest: CheckPlan, before: CheckPlan | undefined): string[] {
  const [now, then] = [newest, before].map((one) => AgenticPlan.safeParse(one?.content).data?.steps);
  if (!now) return [printable(JSON.stringify(newest.content))];
  return planChanges(then ?? now, now).map(
    ({ kind, step }) => `${signs[kind]}${printable(stepInWords(step))}`,
  );
}
