import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { PlanStep } from './step.ts';

export const maxPlanSteps = 60;

/** Steps that a model found once; later runs replay them without it. */
export const AgenticPlan = lazySchema(() =>
  z
    .object({
      prompt: z.string().max(10_000).describe('Prompt of the plan; a different prompt needs a new plan'),
      model: z.string().max(200).describe('Model that found the steps'),
      steps: z.array(PlanStep.schema).min(1).max(maxPlanSteps),
    })
    .meta({ id: 'AgenticPlan' }),
);
export type AgenticPlan = z.output<typeof AgenticPlan.schema>;

/** A step that a plan kept, gained or lost. */
export interface PlanChange {
  readonly kind: 'kept' | 'removed' | 'added';
  readonly step: PlanStep;
}

/** Compares the steps of two plans as a diff compares lines. */
export function planChanges(before: readonly PlanStep[], after: readonly PlanStep[]): PlanChange[] {
  const same = (left: PlanStep | undefined, right: PlanStep | undefined) =>
    JSON.stringify(left) === JSON.stringify(right);
  // Length of the longest common subsequence of the remaining steps, by the start index in each plan.
  const common = Array.from({ length: before.length + 1 }, () => new Array<number>(after.length + 1).fill(0));
  const at = (row: number, column: number) => common[row]?.[column] ?? 0;
  for (let row = before.length - 1; row >= 0; row -= 1) {
    for (let column = after.length - 1; column >= 0; column -= 1) {
      const cells = common[row];
      if (!cells) continue;
      cells[column] = same(before[row], after[column])
        ? at(row + 1, column + 1) + 1
        : Math.max(at(row + 1, column), at(row, column + 1));
    }
  }
  const changes: PlanChange[] = [];
  let [row, column] = [0, 0];
  while (row < before.length || column < after.length) {
    const [old, fresh] = [before[row], after[column]];
    if (old && fresh && same(old, fresh)) {
      changes.push({ kind: 'kept', step: old });
      row += 1;
      column += 1;
    } else if (old && (!fresh || at(row + 1, column) >= at(row, column + 1))) {
      changes.push({ kind: 'removed', step: old });
      row += 1;
    } else if (fresh) {
      changes.push({ kind: 'added', step: fresh });
      column += 1;
    }
  }
  return changes;
}

/** Describes a step, or any other tool call, in words, as pages and logs show it. */
export function stepInWords({
  tool,
  input,
}: {
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
}): string {
  const parts = Object.entries(input).flatMap(([name, value]) => {
    if (
      value === undefined ||
      (value !== null && typeof value === 'object' && Object.keys(value).length === 0)
    )
      return [];
    return name === 'target'
      ? [targetInWords(value as Record<string, unknown>)]
      : [`${name} ${quoted(value)}`];
  });
  return `${tool}: ${parts.join(', ')}`;
}

function targetInWords(target: Record<string, unknown>): string {
  return Object.entries(target)
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name} ${quoted(value)}`]))
    .join(' ');
}

function quoted(value: unknown): string {
  return JSON.stringify(value);
}
