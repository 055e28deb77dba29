import type { Acceptance, Exchanged } from '../steps/steps.ts';
import type { Message } from './frames.ts';

/** One step of a conversation. */
export type ConversationStep =
  | { readonly kind: 'send'; readonly message: Message }
  | { readonly kind: 'expect'; readonly timeoutMs: number; take(message: Message): Acceptance }
  /** Waits until the server closes; messages until then are skipped. */
  | { readonly kind: 'expect-close'; readonly timeoutMs: number };

/** A message that was sent or received. */
export interface ExchangedMessage extends Message, Exchanged {}

/** How the conversation ended. */
export interface ConversationClose {
  readonly code: number;
  readonly reason: string;
  readonly isByTarget: boolean;
}
