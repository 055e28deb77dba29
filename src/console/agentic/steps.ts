import { type PlanChange, planChanges, stepInWords } from '@picket/checks/agentic/plan/plan.ts';
import type { PlanStep } from '@picket/checks/agentic/plan/step.ts';
import { shortened } from '../elements/format.ts';
import { visible } from '../elements/text.ts';
import { type Html, html } from '../html.ts';

const maxShownLength = 400;

/** Lists the steps of a plan, one line each. */
export function stepList(steps: readonly PlanStep[]): Html {
  return html`<ol>${steps.map((step) => html`<li>${words(step)}</li>`)}</ol>`;
}

/** Lists the changes to the steps of an earlier version. */
export function changedSteps(before: readonly PlanStep[], after: readonly PlanStep[]): Html {
  return html`<ul>${planChanges(before, after).map(changeLine)}</ul>`;
}

function changeLine({ kind, step }: PlanChange): Html {
  if (kind === 'removed') return html`<li><del>− ${words(step)}</del></li>`;
  return kind === 'added' ? html`<li><ins>+ ${words(step)}</ins></li>` : html`<li>${words(step)}</li>`;
}

function words(step: PlanStep): Html {
  return html`<code>${visible(shortened(stepInWords(step), maxShownLength))}</code>`;
}
