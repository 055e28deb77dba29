import type { EchoAnswer } from './backend.ts';

/** One echo request, as the engine's thread is told to send it. */
export interface EchoOrder {
  /** Chosen by whoever orders; the answer carries it. */
  readonly id: number;
  readonly sequence: number;
  readonly address: string;
  /** The interface of a link-local address, 0 otherwise. */
  readonly scopeId: number;
  readonly dataBytes: number;
  readonly ttl: number | undefined;
  readonly replyTimeoutMs: number;
}

export type ToEngine =
  /** Opens the sockets, again if need be; answered by `opened`. */
  | { readonly type: 'open' }
  | { readonly type: 'echo'; readonly order: EchoOrder }
  /** Answers to these are not wanted any more. */
  | { readonly type: 'forget'; readonly ids: readonly number[] }
  | { readonly type: 'close' };

/** What one family's socket turned out to be: a mode, or the reason why there is none. */
export type FamilyReport =
  | { readonly mode: 'datagram' | 'raw' }
  | { readonly mode: null; readonly datagramErrno: string; readonly rawErrno: string };

export type FromEngine =
  | { readonly type: 'opened'; readonly families: { readonly 4: FamilyReport; readonly 6: FamilyReport } }
  | {
      readonly type: 'answers';
      readonly answers: readonly { readonly id: number; readonly answer: EchoAnswer }[];
    };
