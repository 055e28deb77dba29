import type { Acceptance, Exchanged } from '../steps/steps.ts';

/** One step of a dialogue in lines of text. */
export type DialogueStep =
  /** @param data made when it is time: it may hold what an earlier step captured. */
  | { readonly kind: 'send'; data(): Buffer }
  | { readonly kind: 'expect'; readonly timeoutMs: number; take(line: string): Acceptance }
  /** Goes on in TLS; nothing may have come that no step has taken. */
  | { readonly kind: 'start-tls'; readonly timeoutMs: number };

/** A line that came, or what was sent. */
export interface ExchangedLine extends Exchanged {
  readonly text: string;
}
