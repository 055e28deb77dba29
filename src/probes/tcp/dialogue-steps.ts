import type { Acceptance, Exchanged } from '../steps/steps.ts';

/** One step of a dialogue in lines of text. */
export type DialogueStep =
  /** @param data built when the step runs: it may contain text that an earlier step captured. */
  | { readonly kind: 'send'; data(): Buffer }
  | { readonly kind: 'expect'; readonly timeoutMs: number; take(line: string): Acceptance }
  /** Upgrades to TLS; unread data is not allowed before it. */
  | { readonly kind: 'start-tls'; readonly timeoutMs: number };

/** A line that was received, or data that was sent. */
export interface ExchangedLine extends Exchanged {
  readonly text: string;
}
