import type { EchoAnswer } from './answers.ts';

/** Echo requests to one address, for the engine to send at their pace. */
export interface TrainSpec {
  /** Chosen by the sender, unlike that of any other train of the engine; the answers carry it. */
  readonly id: number;
  readonly address: string;
  /** The interface of a link-local address, 0 otherwise. */
  readonly scopeId: number;
  readonly count: number;
  readonly intervalMs: number;
  readonly dataBytes: number;
  readonly ttl: number | undefined;
  readonly dontFragment?: boolean | undefined;
  readonly replyTimeoutMs: number;
}

/**
 * What became of a train: in the order of their sequence, without what was not sent or not answered when it
 * was stopped.
 */
export interface TrainAnswers {
  readonly id: number;
  readonly answers: readonly EchoAnswer[];
}

export type ToEngine =
  /** One user more; opens the sockets for the first. Answered by `opened`. */
  | { readonly type: 'open' }
  /** Answered by `answers`, when the last request has its own. */
  | { readonly type: 'train'; readonly spec: TrainSpec }
  /** Sends and waits no more; answered by `answers` with what there is, if the train is not over. */
  | { readonly type: 'stop'; readonly id: number }
  /** One user less. */
  | { readonly type: 'close' };

/** What one family's socket turned out to be: a mode, or the reason why there is none. */
export type FamilyReport =
  | { readonly mode: 'datagram' | 'raw' }
  | { readonly mode: null; readonly datagramErrno: string; readonly rawErrno: string };

export type FromEngine =
  | { readonly type: 'opened'; readonly families: { readonly 4: FamilyReport; readonly 6: FamilyReport } }
  | { readonly type: 'answers'; readonly trains: readonly TrainAnswers[] };
