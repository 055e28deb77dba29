import type { ProbeErrorKind } from '../connection/errors.ts';
import type { AnswerListener } from './answer-parser.ts';
import type { SendingObserver } from './sending.ts';

/** What hears of a call. After the end, or anything that broke the call off, nothing counts any more. */
export interface CallListener extends AnswerListener {
  /** The connection failed with an error of the system. */
  onFailure(error: Error): void;
  /** The peer broke the rules, or broke off; without words when it just closed the connection. */
  onBroken(kind: Extract<ProbeErrorKind, 'connection-reset' | 'response-malformed'>, message?: string): void;
}

export interface CallHooks {
  readonly listener: CallListener;
  readonly sending: SendingObserver;
  /** Does a step of reading, which is work that the peer has made. */
  work(step: () => void): void;
}

/** One request and its answer in some version of HTTP, on a connection that has been made. */
export interface Call {
  /** Lets the peer wait; a piece that is on its way may still come. */
  pause(): void;
  resume(): void;
  /** Forgets the call. The connection is its owner's to close. */
  destroy(): void;
}
