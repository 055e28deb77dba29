/** Verdict on a line or a message: expected, skipped, or the end of the conversation. */
export type Acceptance = 'taken' | 'passed-over' | 'refused';

/** A step that has begun. */
export interface StepOutcome {
  readonly isDone: boolean;
  /** The peer's time for it; 0 for steps that send. */
  readonly waitMs: number;
}

/** A line or a message that was sent or received. */
export interface Exchanged {
  readonly isSent: boolean;
  /** Milliseconds from when the conversation could begin to its departure or arrival. */
  readonly atMs: number;
  /** Index of the step that sent or accepted it, from 0; undefined if no step did. */
  step: number | undefined;
}
