import type { EgressSettings } from '@picket/probes/egress/policy.ts';
import type { SandboxFacts, SandboxMechanism } from '../mechanism.ts';
import type { SandboxedEnd, SandboxedProgram } from '../sandbox.ts';

/** The name of a variable of the supervisor whose value no sandboxed program may ever see. */
export const supervisorSecretName = 'PICKET_SUPERVISOR';

/** Settings of the supervisor. */
export interface SupervisorSettings {
  readonly directory: string;
  /** Folders of other supervisors; those of dead ones are cleaned up. */
  readonly neighbours: readonly string[];
  readonly slotCount: number;
  readonly firstUid: number;
  readonly nodePath: string;
  readonly readablePaths: readonly string[];
  readonly privatePaths: readonly string[];
  readonly isUnisolatedAllowed: boolean;
  readonly mechanism: SandboxMechanism | undefined;
  /** Destinations that programs may connect to. */
  readonly egress: EgressSettings;
  /** Hash of a value in the supervisor's environment; the self-test searches for the value from inside. */
  readonly secretHash: string;
}

export interface SlotFolder {
  readonly directory: string;
  /** The user who owns the folder and runs the code; undefined for the agent's own user. */
  readonly uid: number | undefined;
}

export type ProgramRequest = Omit<SandboxedProgram, 'onOutput' | 'onEvent'> & { readonly hasEvents: boolean };
export type ProgramStream = 'stdout' | 'stderr' | 'events';

/** From the pool to its supervisor. A `run` numbers one start of a program. */
export type SupervisorRequest =
  | { readonly kind: 'open'; readonly settings: SupervisorSettings }
  | { readonly kind: 'start'; readonly slot: number; readonly run: number; readonly program: ProgramRequest }
  | { readonly kind: 'input'; readonly run: number; readonly chunk: Uint8Array }
  | { readonly kind: 'inputEnd'; readonly run: number }
  | { readonly kind: 'interrupt'; readonly run: number }
  | { readonly kind: 'kill'; readonly run: number }
  | { readonly kind: 'release'; readonly slot: number };

/** From the supervisor to its pool. */
export type SupervisorReport =
  | { readonly kind: 'opened'; readonly facts: SandboxFacts; readonly slots: readonly SlotFolder[] }
  | { readonly kind: 'refused'; readonly message: string; readonly isInUse: boolean }
  | {
      readonly kind: 'output';
      readonly run: number;
      readonly stream: ProgramStream;
      readonly chunk: Uint8Array;
    }
  | { readonly kind: 'inputTaken'; readonly run: number }
  | { readonly kind: 'ended'; readonly run: number; readonly end: SandboxedEnd }
  | { readonly kind: 'released'; readonly slot: number; readonly problem?: string | undefined };
