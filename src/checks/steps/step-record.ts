import type { StepOutcome } from '@picket/probes/steps/steps.ts';
import { toMicroseconds } from '../contract/outcome.ts';
import { assertionBudget } from '../judging/evaluate.ts';
import type { stepStates } from './fields.ts';

/** A step of a run as details and failures look at it. */
export interface RecordedStep<Step, Seen, Outcome> {
  readonly step: Step;
  readonly index: number;
  /** Undefined for a step that was not begun. */
  readonly outcome: Outcome | undefined;
  /** What it looked at last. */
  readonly seen: Seen | undefined;
  /** How much it passed over. */
  readonly skippedCount: number;
}

/** What the steps of one run looked at, whatever they are sent over. */
export class StepRecord<Step, Seen> {
  /** For everything that the steps evaluate. */
  readonly budget = assertionBudget();
  readonly #steps: readonly Step[];
  readonly #seen = new Map<number, Seen>();
  readonly #skipped = new Map<number, number>();

  constructor(steps: readonly Step[]) {
    this.#steps = steps;
  }

  get steps(): readonly Step[] {
    return this.#steps;
  }

  see(index: number, seen: Seen): void {
    this.#seen.set(index, seen);
  }

  skip(index: number): void {
    this.#skipped.set(index, (this.#skipped.get(index) ?? 0) + 1);
  }

  /** All steps, in their order. @param outcomes of those that were begun. */
  all<Outcome extends StepOutcome>(outcomes: readonly Outcome[]): RecordedStep<Step, Seen, Outcome>[] {
    return this.#steps.map((step, index) => ({
      ...{ step, index, outcome: outcomes[index], seen: this.#seen.get(index) },
      skippedCount: this.#skipped.get(index) ?? 0,
    }));
  }

  /** The step that ended the run; undefined where none failed. */
  failed<Outcome extends StepOutcome>(
    outcomes: readonly Outcome[],
  ): RecordedStep<Step, Seen, Outcome> | undefined {
    return this.all(outcomes).find(({ outcome }) => outcome?.isDone === false);
  }
}

/** What details say of every step, whatever it is sent over. */
export function stateOf(outcome: StepOutcome | undefined): {
  readonly state: (typeof stepStates)[number];
  readonly waitMs: number;
} {
  return {
    state: outcome ? (outcome.isDone ? 'DONE' : 'FAILED') : 'NOT_REACHED',
    waitMs: toMicroseconds(outcome?.waitMs ?? 0),
  };
}
