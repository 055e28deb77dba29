import type { StepOutcome } from '@picket/probes/steps/steps.ts';
import { toMicroseconds } from '../contract/outcome.ts';
import { assertionBudget } from '../judging/evaluate.ts';
import type { stepStates } from './fields.ts';

/** A step of a run, for details and failures. */
export interface RecordedStep<Step, Seen, Outcome> {
  readonly step: Step;
  readonly index: number;
  /** Undefined for a step that did not start. */
  readonly outcome: Outcome | undefined;
  /** The last text or message that it examined. */
  readonly seen: Seen | undefined;
  /** Number of texts or messages that it skipped. */
  readonly skippedCount: number;
}

/** Texts or messages that the steps of one run examined, for any protocol. */
export class StepRecord<Step, Seen> {
  /** Shared by all evaluations of the steps. */
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

  /** Returns all steps, in order. @param outcomes of the steps that started. */
  all<Outcome extends StepOutcome>(outcomes: readonly Outcome[]): RecordedStep<Step, Seen, Outcome>[] {
    return this.#steps.map((step, index) => ({
      ...{ step, index, outcome: outcomes[index], seen: this.#seen.get(index) },
      skippedCount: this.#skipped.get(index) ?? 0,
    }));
  }

  /** Returns the step that ended the run; undefined if none failed. */
  failed<Outcome extends StepOutcome>(
    outcomes: readonly Outcome[],
  ): RecordedStep<Step, Seen, Outcome> | undefined {
    return this.all(outcomes).find(({ outcome }) => outcome?.isDone === false);
  }
}

/** Common fields of a step's details, for any protocol. */
export function stateOf(outcome: StepOutcome | undefined): {
  readonly state: (typeof stepStates)[number];
  readonly waitMs: number;
} {
  return {
    state: outcome ? (outcome.isDone ? 'DONE' : 'FAILED') : 'NOT_REACHED',
    waitMs: toMicroseconds(outcome?.waitMs ?? 0),
  };
}
