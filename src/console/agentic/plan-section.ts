import { AgenticPlan } from '@picket/checks/agentic/plan/plan.ts';
import type { CheckType } from '@picket/checks/contract/check-type.ts';
import { AppError } from '@picket/lib/errors.ts';
import { type CheckPlan, checkPlanRoutes } from '@picket/protocol/checks/check-plan.ts';
import { csrfField } from '../elements/form.ts';
import { instant, shortened } from '../elements/format.ts';
import { section, visible } from '../elements/text.ts';
import { type Content, type Html, html, path } from '../html.ts';
import { type Page, type PageAnswer, type PageCall, posts } from '../page.ts';
import { changedSteps, stepList } from './steps.ts';

const shownVersions = 10;

/** Forms about the plan of a check. */
export const planPages: readonly Page[] = posts('/checks/:checkId/plans', {
  '/forget': ['Forget the steps', forgetPlans],
  '/restore': ['Restore older steps', restorePlan],
});

async function forgetPlans({ api, params }: PageCall): Promise<PageAnswer> {
  const { checkId = '' } = params;
  await api.call(checkPlanRoutes.deleteCheckPlans, { params: { checkId } });
  return { goTo: path`/checks/${checkId}` };
}

async function restorePlan({ api, params, form }: PageCall): Promise<PageAnswer> {
  const { checkId = '' } = params;
  const plans = await api.call(checkPlanRoutes.listCheckPlans, { params: { checkId } });
  const plan = plans.find(({ version }) => String(version) === form.get('version'));
  if (!plan) throw new AppError('NOT_FOUND', 'These steps no longer exist.');
  await api.call(checkPlanRoutes.restoreCheckPlan, {
    params: { checkId },
    body: { version: plan.version },
  });
  return { goTo: path`/checks/${checkId}` };
}

/** Shows the steps that runs of a check repeat, and their changes from version to version. */
export async function planSection(call: PageCall, checkId: string, type: CheckType): Promise<Content> {
  if (!type.planOf) return '';
  const plans = await call.api.call(checkPlanRoutes.listCheckPlans, { params: { checkId } });
  const [newest] = plans;
  if (!newest) {
    const text = 'In the next run, the model finds the steps. Later runs repeat them without the model.';
    return section('Plan', html`<p class="empty">${text}</p>`, 'plan');
  }
  const shown = plans.slice(0, shownVersions);
  const earlier = shown.map(
    (plan, index) =>
      html`${versionPart(plan, shown[index + 1], checkId)}${index === 0 ? '' : restoreForm(call, checkId, plan, newest)}`,
  );
  return section('Plan', html`${newestPart(newest, checkId)}${earlier}${forgetForm(call, checkId)}`, 'plan');
}

function newestPart(plan: CheckPlan, checkId: string): Html {
  const parsed = AgenticPlan.safeParse(plan.content);
  const steps = parsed.success ? stepList(parsed.data.steps) : '';
  const model = parsed.success ? html` by ${visible(shortened(parsed.data.model, 100))}` : '';
  return html`<p>Version ${plan.version}, ${plan.reason}${model} ${when(plan, checkId)}.</p>${steps}`;
}

/** Shows the changes of a version against the previous one. */
function versionPart(plan: CheckPlan, before: CheckPlan | undefined, checkId: string): Html | '' {
  const [now, then] = [plan, before].map((one) => AgenticPlan.safeParse(one?.content).data);
  if (!now || !then) return '';
  return html`<details><summary>Version ${plan.version}: what was ${plan.reason}</summary><p>${when(plan, checkId)}</p>${changedSteps(then.steps, now.steps)}</details>`;
}

function when({ created_at, checkResultId }: CheckPlan, checkId: string): Html {
  return html`<a href="${path`/checks/${checkId}/runs/${checkResultId}`}">${instant(created_at)}</a>`;
}

/** Offered only for steps that runs would use: after a change of the prompt they find new ones. */
function restoreForm(
  { api, viewer }: PageCall,
  checkId: string,
  plan: CheckPlan,
  newest: CheckPlan,
): Content {
  if (!api.allows(checkPlanRoutes.restoreCheckPlan)) return '';
  if (plan.content['prompt'] !== newest.content['prompt']) return '';
  return html`<form method="post" action="${path`/checks/${checkId}/plans/restore`}">${csrfField(viewer)}<input type="hidden" name="version" value="${plan.version}"><button class="button" type="submit">Restore version ${plan.version}</button></form>`;
}

function forgetForm({ api, viewer }: PageCall, checkId: string): Content {
  if (!api.allows(checkPlanRoutes.deleteCheckPlans)) return '';
  return html`<form method="post" action="${path`/checks/${checkId}/plans/forget`}">${csrfField(viewer)}<button class="button" type="submit">Forget the steps</button></form>`;
}
