import type { IncomingMessage } from 'node:http';

/** The calls of the agent protocol. */
export type CallName = 'claim' | 'renew' | 'release' | 'results' | 'examine';

/** One recorded request. */
export interface RecordedCall {
  readonly name: CallName;
  readonly headers: IncomingMessage['headers'];
  readonly body: Record<string, unknown>;
  readonly bodyText: string;
  readonly bodyBytes: number;
  /** By the monotonic clock of this process. */
  readonly atMs: number;
  /** True if the client disconnected before the response. */
  isAborted: boolean;
}

/** Effect of a script on one call, in place of the normal response. */
export interface Behaviour {
  /** Wait before processing the call. */
  readonly delayMs?: number;
  /** Process the call (store results, grant leases, renew), then reset the socket so that the response is lost. */
  readonly isAnswerLost?: boolean;
  /** Process the call and never send the response. */
  readonly isAnswerHeld?: boolean;
  /** Reset the socket (TCP RST) without processing the call. */
  readonly isReset?: boolean;
  /** Never respond. */
  readonly isSilent?: boolean;
  readonly statusCode?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Send this text instead of the normal JSON. */
  readonly bodyText?: string;
  /** Change the normal response. */
  readonly change?: (answer: Record<string, unknown>) => unknown;
}

/** Decides what happens to a call; undefined sends the normal response. */
export type Script = (call: RecordedCall, indexOfName: number) => Behaviour | undefined;
