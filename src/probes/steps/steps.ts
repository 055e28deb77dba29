/** What is made of a line or a message: what was waited for, one of those in between, or the end of the conversation. */
export type Acceptance = 'taken' | 'passed-over' | 'refused';

/** A step that was begun. */
export interface StepOutcome {
  readonly isDone: boolean;
  /** What the other side took for it; 0 for what is sent. */
  readonly waitMs: number;
}

/** A line or a message that was sent or that came. */
export interface Exchanged {
  readonly isSent: boolean;
  /** Milliseconds since the conversation could begin at which it left or arrived. */
  readonly atMs: number;
  /** The number of the step that sent or took it, from 0; undefined for one that no step took. */
  step: number | undefined;
}
