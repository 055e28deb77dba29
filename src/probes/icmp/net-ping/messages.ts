import type { EchoAnswer } from '../../kernel-thread/echo/answers.ts';
import type { PingTrain } from '../backend.ts';

/** Messages to the net-ping process. */
export type ToNetPing =
  | { readonly type: 'train'; readonly id: number; readonly train: PingTrain }
  /** Sends no more of that train; what was answered until then comes back. */
  | { readonly type: 'stop'; readonly id: number };

/** What one family's raw socket turned out to be: open, or the name of the error that refused it. */
export type RawSocketReport = { readonly errno: string | null };

export type FromNetPing =
  | {
      readonly type: 'ready';
      readonly families: { readonly 4: RawSocketReport; readonly 6: RawSocketReport };
    }
  /** The packages do not load. */
  | { readonly type: 'unavailable'; readonly reason: string }
  | { readonly type: 'answers'; readonly id: number; readonly answers: readonly EchoAnswer[] }
  /** The process is about to end because of this. */
  | { readonly type: 'broken'; readonly reason: string };
