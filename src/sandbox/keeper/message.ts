import type { SandboxFacts, SandboxMechanism } from '../mechanism.ts';
import type { SandboxedEnd, SandboxedProgram } from '../sandbox.ts';

/** The name of a variable of the keeper whose value no sandboxed program may ever see. */
export const keeperSecretName = 'PICKET_KEEPER';

/** What the keeper is started for. */
export interface KeeperSettings {
  readonly directory: string;
  /** Folders of other keepers that may be dead: what those left is removed. */
  readonly neighbours: readonly string[];
  readonly slotCount: number;
  readonly firstUid: number;
  readonly nodePath: string;
  readonly readablePaths: readonly string[];
  readonly privatePaths: readonly string[];
  readonly isUnisolatedAllowed: boolean;
  readonly mechanism: SandboxMechanism | undefined;
  /** Of a value in the keeper's environment; the self-test looks for it from inside. */
  readonly secretHash: string;
}

export interface SlotPlace {
  readonly directory: string;
  /** Who owns the folder and runs in it; undefined: the agent's own user. */
  readonly uid: number | undefined;
}

export type ProgramOrder = Omit<SandboxedProgram, 'onOutput' | 'onEvent'> & { readonly hasEvents: boolean };
export type ProgramStream = 'stdout' | 'stderr' | 'events';

/** From the pool to its keeper. A `run` numbers one start of a program. */
export type KeeperOrder =
  | { readonly kind: 'open'; readonly settings: KeeperSettings }
  | { readonly kind: 'start'; readonly slot: number; readonly run: number; readonly program: ProgramOrder }
  | { readonly kind: 'input'; readonly run: number; readonly chunk: Uint8Array }
  | { readonly kind: 'inputEnd'; readonly run: number }
  | { readonly kind: 'interrupt'; readonly run: number }
  | { readonly kind: 'kill'; readonly run: number }
  | { readonly kind: 'release'; readonly slot: number };

/** From the keeper to its pool. */
export type KeeperReport =
  | { readonly kind: 'opened'; readonly facts: SandboxFacts; readonly slots: readonly SlotPlace[] }
  | { readonly kind: 'refused'; readonly message: string }
  | {
      readonly kind: 'output';
      readonly run: number;
      readonly stream: ProgramStream;
      readonly chunk: Uint8Array;
    }
  | { readonly kind: 'inputTaken'; readonly run: number }
  | { readonly kind: 'ended'; readonly run: number; readonly end: SandboxedEnd }
  | { readonly kind: 'released'; readonly slot: number; readonly problem?: string | undefined };
