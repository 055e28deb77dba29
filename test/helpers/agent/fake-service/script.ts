import type { IncomingMessage } from 'node:http';

/** The calls of the agent protocol. */
export type CallName = 'claim' | 'renew' | 'release' | 'results' | 'examine';

/** One request as it came. */
export interface RecordedCall {
  readonly name: CallName;
  readonly headers: IncomingMessage['headers'];
  readonly body: Record<string, unknown>;
  readonly bodyText: string;
  readonly bodyBytes: number;
  /** By the monotonic clock of this process. */
  readonly atMs: number;
  /** True once the client has gone away before the answer. */
  isAborted: boolean;
}

/** What a script does to one call instead of the normal answer. */
export interface Behaviour {
  /** Wait before doing anything. */
  readonly delayMs?: number;
  /** Do the work (store results, grant leases, renew), then lose the answer: the socket is reset. */
  readonly isAnswerLost?: boolean;
  /** The call is carried out, and its answer never leaves. */
  readonly isAnswerHeld?: boolean;
  /** Reset the socket (TCP RST) without doing the work. */
  readonly isReset?: boolean;
  /** Never answer. */
  readonly isSilent?: boolean;
  readonly statusCode?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Answer with this text instead of the normal JSON. */
  readonly bodyText?: string;
  /** Change the normal answer. */
  readonly change?: (answer: Record<string, unknown>) => unknown;
}

/** Decides what happens to a call; undefined means the normal answer. */
export type Script = (call: RecordedCall, indexOfName: number) => Behaviour | undefined;
