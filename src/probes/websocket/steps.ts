import type { Message } from './frames.ts';

/** What is made of a message: what was waited for, one of those in between, or the end of the conversation. */
export type Taken = 'taken' | 'passed-over' | 'refused';

/** One step of a conversation. */
export type ConversationStep =
  | { readonly kind: 'send'; readonly message: Message }
  | { readonly kind: 'expect'; readonly timeoutMs: number; take(message: Message): Taken }
  /** Waits until the server closes; messages until then are passed over. */
  | { readonly kind: 'expect-close'; readonly timeoutMs: number };

/** A step that was begun. */
export interface StepOutcome {
  readonly isDone: boolean;
  /** What the other side took for it; 0 for what is sent. */
  readonly waitMs: number;
}

/** A message, and when it was sent or arrived: milliseconds since the handshake. */
export interface ExchangedMessage extends Message {
  readonly isSent: boolean;
  readonly atMs: number;
  /** The number of the step that sent or took it, from 0; undefined for one that no step took. */
  step: number | undefined;
}

/** How the conversation ended. */
export interface ConversationClose {
  readonly code: number;
  readonly reason: string;
  readonly isByTarget: boolean;
}
