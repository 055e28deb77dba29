import type { EchoAnswer } from './answers.ts';

/** Echo requests to one address, for the engine to send at a steady pace. */
export interface TrainSpec {
  /** Chosen by the sender, unique among the trains of the engine; the answers carry it. */
  readonly id: number;
  readonly address: string;
  /** The interface index of a link-local address, 0 otherwise. */
  readonly scopeId: number;
  readonly count: number;
  readonly intervalMs: number;
  readonly dataBytes: number;
  readonly ttl: number | undefined;
  readonly dontFragment?: boolean | undefined;
  readonly replyTimeoutMs: number;
}

/** Answers of a train, ordered by sequence number, without requests that were unsent or open when it was stopped. */
export interface TrainAnswers {
  readonly id: number;
  readonly answers: readonly EchoAnswer[];
}

export type ToEngine =
  /** Adds a user; the first one opens the sockets. Answered by `opened`. */
  | { readonly type: 'open' }
  /** Answered by `answers` once the last request is answered. */
  | { readonly type: 'train'; readonly spec: TrainSpec }
  /** Stops sending and waiting; if the train is not over, answered by `answers` with the answers so far. */
  | { readonly type: 'stop'; readonly id: number }
  /** Removes a user. */
  | { readonly type: 'close' };

/** State of a family's socket: its mode, or the errors that prevented it. */
export type FamilyReport =
  | { readonly mode: 'datagram' | 'raw' }
  | { readonly mode: null; readonly datagramErrno: string; readonly rawErrno: string };

export type FromEngine =
  | { readonly type: 'opened'; readonly families: { readonly 4: FamilyReport; readonly 6: FamilyReport } }
  | { readonly type: 'answers'; readonly trains: readonly TrainAnswers[] };
