import type { SpoolKind } from './segment.ts';
import type { SpoolLosses } from './spool-store.ts';

/** What the spool thread gets when it starts. */
export interface SpoolStart {
  /** Directory under which the spool folders lie. */
  readonly directory: string;
  readonly tag: string;
  readonly maxBytes: number;
}

/** One result, as a text: the spool thread makes bytes of it. */
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

/** What is on disk, as of the answer that carries it. */
export interface SpoolFacts {
  /** The folder that is locked. */
  readonly folder: string;
  /** Results that are not settled. */
  readonly openCount: number;
  /** Those of them that nobody sends at the moment. */
  readonly pendingCount: number;
  readonly sizeBytes: number;
  readonly oldestAtMs: number | undefined;
  readonly losses: SpoolLosses;
  /** Folders of other locations or services in the same directory; nobody sends what is in them. */
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
  /** A code of the system where there is one, words where not; never a path. */
  | { readonly problem: string }
);
