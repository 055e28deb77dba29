import type { AgenticDetail } from '../../checks/agentic/detail.ts';
import { stepInWords } from '../../checks/agentic/plan/plan.ts';
import { counted, duration, shortened } from '../elements/format.ts';
import { facts, table } from '../elements/table.ts';
import { block, section, valueText, visible } from '../elements/text.ts';
import { type Content, html } from '../html.ts';
import { stepList } from './steps.ts';

const shownSteps = 100;
const origins = {
  found: 'The model found the steps; later runs repeat them without it.',
  replayed: 'The steps of an earlier run were repeated, without the model.',
  healed: 'Steps that no longer fitted the page were replaced by the model.',
} as const;

/** What a run of an agentic check did, what it verified, and what it took of the model. */
export function agenticSections(detail: AgenticDetail): Content[] {
  const { plan, usage, summary, suggestions, assertions, steps } = detail;
  return [
    section(
      'What was done',
      html`${facts([
        ['Prompt', visible(shortened(detail.prompt, 2000))],
        ['Summary', visible(shortened(summary ?? '', 2000))],
        ['Steps', plan ? origins[plan.origin] : ''],
        ['Version of the plan', plan?.version ?? ''],
        ['Model', usage ? usageWords(usage) : 'not asked'],
      ])}${plan?.fresh ? html`<details><summary>The steps to repeat</summary>${stepList(plan.fresh.steps)}</details>` : ''}`,
      'agentic',
    ),
    assertions.length > 0
      ? section(
          'Assertions',
          table<AgenticDetail['assertions'][number]>({
            caption: 'What was verified',
            rows: assertions,
            empty: '',
            columns: [
              { title: 'Held', cell: ({ passed }) => (passed ? '✓' : '✕') },
              { title: 'Condition', cell: ({ condition }) => visible(shortened(condition, 300)) },
              { title: 'Expected', cell: ({ expected }) => visible(shortened(expected ?? '', 300)) },
              { title: 'Found', cell: ({ actual }) => visible(shortened(actual ?? 'nothing', 300)) },
            ],
          }),
          'assertions',
        )
      : '',
    suggestions.length > 0
      ? section(
          'Suggestions',
          html`<ul>${suggestions.map(
            ({ summary: text, promptReplacement }) =>
              html`<li>${visible(shortened(text, 600))}${promptReplacement === null ? '' : html` ${block('In place of it', promptReplacement)}`}</li>`,
          )}</ul>`,
        )
      : '',
    steps.length > 0
      ? section(
          'Steps',
          table<AgenticDetail['steps'][number]>({
            caption: 'Calls of tools and their results, in their order',
            rows: steps.slice(0, shownSteps),
            empty: '',
            columns: [
              { title: 'Kind', cell: ({ type }) => type.replaceAll('_', ' ') },
              { title: 'What', cell: (step) => visible(shortened(stepText(step), 600)) },
            ],
          }),
          'steps',
        )
      : '',
  ];
}

/** `click: role "button" name "Buy"`, and what came of it. */
function stepText({ type, name, input, output }: AgenticDetail['steps'][number]): string {
  if (type === 'tool_call' && name !== null) return stepInWords({ tool: name, input: input ?? {} });
  return valueText(output);
}

function usageWords({
  model,
  calls,
  inputTokens,
  outputTokens,
  isEstimated,
  waitedMs,
  cost,
}: NonNullable<AgenticDetail['usage']>) {
  const price = cost === null ? '' : `, cost ${cost.toFixed(4)}`;
  return `${visible(shortened(model, 100))}: ${counted(calls, 'question')}, ${isEstimated ? 'about ' : ''}${inputTokens + outputTokens} tokens, ${duration(waitedMs)}${price}`;
}
