import type { PlanStep } from '@picket/checks/agentic/plan/step.ts';
import { type StepEnd, verdictWords } from './actor.ts';
import type { SessionRecord } from './record.ts';

type Verified = Extract<StepEnd, { kind: 'verified' }>;

/** Records the result of a verification; a step that could not be evaluated is not recorded. */
export function recordVerdict(step: PlanStep, end: StepEnd, record: SessionRecord): void {
  if (end.kind !== 'verified') return;
  const { passed, actual } = end;
  if (step.tool === 'assert') {
    record.assertions.push({ condition: step.input.condition, passed, actual, expected: wantedWords(step) });
  } else if (step.tool === 'judge') {
    record.assertions.push({ condition: step.input.question, passed, actual, expected: null });
  }
}

/** The assertion that does not hold, in words. */
export function unmetWords(step: PlanStep, end: Verified): string {
  if (step.tool === 'judge') return `${step.input.question} ${verdictWords(end)}`;
  if (step.tool !== 'assert') return verdictWords(end);
  return `${step.input.condition}: ${wantedWords(step)}, ${verdictWords(end)}`;
}

export function wantedWords({ input }: Extract<PlanStep, { tool: 'assert' }>): string {
  return `${input.subject} ${input.comparison} ${JSON.stringify(input.expected)}`;
}
