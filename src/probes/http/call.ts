import type { ProbeErrorKind } from '../connection/errors.ts';
import type { AnswerListener } from './answer-parser.ts';
import type { SendingObserver } from './sending.ts';

/** Receives the events of a call. Events after its end or failure are ignored. */
export interface CallListener extends AnswerListener {
  /** The connection failed with a system error. */
  onFailure(error: Error): void;
  /** The peer violated the protocol or aborted; without a message if it just closed the connection. */
  onBroken(kind: Extract<ProbeErrorKind, 'connection-reset' | 'response-malformed'>, message?: string): void;
}

export interface CallHooks {
  readonly listener: CallListener;
  readonly sending: SendingObserver;
  /** Runs a step of reading, whose cost the peer causes. */
  work(step: () => void): void;
}

/** One request and its response in some version of HTTP, on an established connection. */
export interface Call {
  /** Pauses the peer; data in flight may still arrive. */
  pause(): void;
  resume(): void;
  /** Abandons the call. Its owner closes the connection. */
  destroy(): void;
}
