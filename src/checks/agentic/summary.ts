import { counted } from '@picket/lib/figures/count.ts';
import { durationText } from '@picket/lib/figures/duration.ts';
import type { DetailSummary, SummarySection } from '../summary/detail-summary.ts';
import { fact, inWords, volatileFact } from '../summary/parts.ts';
import type { AgenticDetail } from './detail.ts';
import { stepInWords } from './plan/plan.ts';

const shownSteps = 100;
const origins = {
  found: 'The model found the steps; later runs repeat them without the model.',
  replayed: 'The run repeated the steps of an earlier run, without the model.',
  healed: 'The model replaced steps that no longer matched the page.',
} as const;

/** Summarizes the result of an agentic check for people: its steps, its assertions, and its use of the model. */
export function summaryOf(detail: AgenticDetail): DetailSummary {
  const { prompt, summary, plan, usage, assertions, suggestions, steps } = detail;
  return {
    assertions: assertions.map(({ condition, passed, expected, actual }) => ({
      ...{ isMet: passed, subject: condition, error: null },
      ...(expected === null ? { expected: '' } : { comparison: 'is', expected }),
      found: actual ?? 'nothing',
    })),
    sections: [
      {
        title: 'Task',
        id: 'agentic',
        facts: [
          fact('Prompt', prompt),
          volatileFact('Summary', summary),
          fact('Steps', plan && origins[plan.origin]),
          fact('Version of the plan', plan?.version ?? null),
          volatileFact('Model', usage ? usageWords(usage) : 'not used'),
        ],
        texts: plan?.fresh
          ? [{ label: 'Steps that later runs repeat', text: plan.fresh.steps.map(stepInWords).join('\n') }]
          : [],
      },
      suggestionsSection(suggestions),
      {
        title: 'Steps',
        id: 'steps',
        table: {
          caption: 'Tool calls and their results, in order',
          columns: [{ title: 'Kind' }, { title: 'Content' }],
          rows: steps.slice(0, shownSteps).map((step) => [inWords(step.type), stepText(step)]),
        },
      },
    ],
  };
}

function suggestionsSection(suggestions: AgenticDetail['suggestions']): SummarySection {
  return {
    title: 'Suggestions',
    table: {
      caption: 'Suggestions',
      columns: [{ title: 'Suggestion' }, { title: 'New prompt' }],
      rows: suggestions.map(({ summary, promptReplacement }) => [summary, promptReplacement]),
    },
  };
}

/** Formats a step and its result: `click: role "button" name "Buy"`. */
function stepText({ type, name, input, output }: AgenticDetail['steps'][number]): string {
  if (type === 'tool_call' && name !== null) return stepInWords({ tool: name, input: input ?? {} });
  if (output === null || output === undefined) return '–';
  return typeof output === 'string' ? output : JSON.stringify(output);
}

function usageWords(usage: NonNullable<AgenticDetail['usage']>): string {
  const { model, calls, inputTokens, outputTokens, isEstimated, waitedMs, cost } = usage;
  const tokens = `${isEstimated ? 'about ' : ''}${inputTokens + outputTokens} tokens`;
  const price = cost === null ? '' : `, cost ${cost.toFixed(4)}`;
  return `${model}: ${counted(calls, 'call')}, ${tokens}, ${durationText(waitedMs)}${price}`;
}
