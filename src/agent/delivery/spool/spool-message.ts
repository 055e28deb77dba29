import type { SpoolKind } from './segment.ts';
import type { SpoolLosses } from './spool-store.ts';

/** Start parameters of the spool thread. */
export interface SpoolStart {
  /** Directory that contains the spool folders. */
  readonly directory: string;
  readonly tag: string;
  readonly maxBytes: number;
}

/** One result as text: the spool thread encodes it. */
export interface SpoolItem {
  readonly kind: SpoolKind;
  readonly atMs: number;
  readonly text: string;
}

export type SpoolRequest =
  | { readonly op: 'open' }
  | { readonly op: 'append'; readonly items: readonly SpoolItem[] }
  | {
      readonly op: 'take';
      readonly limits: { readonly maxCount: number; readonly maxBytes: number };
      readonly notBeforeMs: number;
    }
  | { readonly op: 'release'; readonly refs: readonly number[] }
  | { readonly op: 'settle'; readonly refs: readonly number[] }
  | { readonly op: 'close' };

/** Contents of the disk, as of the reply that carries them. */
export interface SpoolFacts {
  /** The locked folder. */
  readonly folder: string;
  /** Results that are not settled. */
  readonly openCount: number;
  /** Open results that are not being sent now. */
  readonly pendingCount: number;
  readonly sizeBytes: number;
  readonly oldestAtMs: number | undefined;
  readonly losses: SpoolLosses;
  /** Folders of other locations or services in the same directory; their results are not sent. */
  readonly foreignFolders: number;
}

export interface SpoolReplies {
  readonly open: undefined;
  readonly append: readonly number[];
  readonly take: readonly { readonly ref: number; readonly text: string }[];
  /** How many of the records had been dropped meanwhile. */
  readonly release: number;
  readonly settle: undefined;
  readonly close: undefined;
}

export interface SpoolCall {
  readonly id: number;
  readonly request: SpoolRequest;
}

export type SpoolAnswer = { readonly id: number; readonly facts: SpoolFacts | undefined } & (
  | { readonly value: SpoolReplies[keyof SpoolReplies] }
  /** An error code of the system if there is one, otherwise text; never a path. */
  | { readonly problem: string }
);
