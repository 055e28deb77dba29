/** What is made of a line: what was waited for, one of those in between, or the end of the dialogue. */
export type TakenLine = 'taken' | 'passed-over' | 'refused';

/** One step of a dialogue in lines of text. */
export type DialogueStep =
  /** @param data made when it is time: it may hold what an earlier step captured. */
  | { readonly kind: 'send'; data(): Buffer }
  | { readonly kind: 'expect'; readonly timeoutMs: number; take(line: string): TakenLine }
  /** Goes on in TLS; nothing may have come that no step has taken. */
  | { readonly kind: 'start-tls'; readonly timeoutMs: number };

/** A step that was begun. */
export interface LineStepOutcome {
  readonly isDone: boolean;
  /** What the other side took for it; 0 for what is sent. */
  readonly waitMs: number;
}

/** A line that came, or what was sent, with its time: milliseconds since the connection was ready. */
export interface ExchangedLine {
  readonly isSent: boolean;
  readonly text: string;
  readonly atMs: number;
  /** The number of the step that sent or took it, from 0; undefined for one that no step took. */
  step: number | undefined;
}
