import type { PingTrain } from '../backend.ts';
import type { EchoAnswer } from '../echo/answers.ts';

/** Messages to the net-ping process. */
export type ToNetPing =
  | { readonly type: 'train'; readonly id: number; readonly train: PingTrain }
  /** Stops sending that train; the answers received so far are returned. */
  | { readonly type: 'stop'; readonly id: number };

/** State of a family's raw socket: open, or the name of the error that refused it. */
export type RawSocketReport = { readonly errno: string | null };

export type FromNetPing =
  | {
      readonly type: 'ready';
      readonly families: { readonly 4: RawSocketReport; readonly 6: RawSocketReport };
    }
  /** The packages do not load. */
  | { readonly type: 'unavailable'; readonly reason: string }
  | { readonly type: 'answers'; readonly id: number; readonly answers: readonly EchoAnswer[] }
  /** The process is about to end for this reason. */
  | { readonly type: 'broken'; readonly reason: string };
