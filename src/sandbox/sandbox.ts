import type { FileHandle } from 'node:fs/promises';
import type { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';

/** The programs that run inside sandboxes. They are files of their own in bundles, too. */
export const programDirectory = fileURLToPath(new URL('./program/', import.meta.url));

/**
 * Where code in a sandbox with a network of its own says, below its folder, at which ports it means no server of the
 * host; see network/own-ports.ts.
 */
export const ownPortsFile = '.picket/own-ports';

/** Bounds of everything that runs in one sandbox, counted over all its processes. */
export interface SandboxLimits {
  /**
   * Resident and shared memory, in bytes. The kernel's cache of files counts too where control groups
   * measure, but gives way.
   */
  readonly memoryBytes: number;
  /** From the start of a program until it is killed, in milliseconds. */
  readonly wallMs: number;
  readonly cpuMs: number;
  /**
   * Processes and threads together, as the kernel counts them: Node takes 11, a headless Chromium about 100.
   */
  readonly processCount: number;
  /** What a program may write to stdout, stderr and its events together, in bytes. */
  readonly outputBytes: number;
  /** What may lie in the sandbox's folder, in bytes; no single file may be larger either. */
  readonly diskBytes: number;
}

/** A program that runs in a sandbox. */
export interface SandboxedProgram {
  /** Absolute path of the executable. */
  readonly path: string;
  readonly args: readonly string[];
  /** The whole environment: nothing is inherited. HOME, TMPDIR, PATH and TZ are set unless they are given. */
  readonly environment: Readonly<Record<string, string>>;
  /** Below the sandbox's folder; the folder itself when absent. */
  readonly workingDirectory?: string | undefined;
  readonly limits: SandboxLimits;
  /** Called with what the program writes, as it comes; chunks may end anywhere. */
  readonly onOutput: (stream: 'stdout' | 'stderr', chunk: Buffer) => void;
  /**
   * Called with every line the program writes to descriptor 3. Whatever runs in the sandbox can write there,
   * so a line is the script's word, never the agent's. A line is cut at `maxEventLineBytes`.
   */
  readonly onEvent?: ((line: string) => void) | undefined;
}

/** Where a line of events is cut. */
export const maxEventLineBytes = 1024 * 1024;

/**
 * Why a program ended: by itself, because it was killed, or because it reached a limit. `notStarted`: it
 * never ran, because the executable is missing or the host could not start it; `problem` says which.
 */
export type SandboxEndReason =
  | 'exited'
  | 'notStarted'
  | 'killed'
  | 'memory'
  | 'wall'
  | 'cpu'
  | 'processes'
  | 'output'
  | 'disk'
  | 'descriptors';

export interface SandboxedEnd {
  readonly reason: SandboxEndReason;
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  /** What went wrong with starting or containing it, for the log. */
  readonly problem?: string | undefined;
  /** Over all processes of the sandbox while the program ran. */
  readonly peakMemoryBytes: number;
  readonly cpuMs: number;
  /** Sentences about connections that the egress policy refused, the first of them. */
  readonly refusedConnections?: readonly string[] | undefined;
}

/** A program that was started. */
export interface SandboxedProcess {
  /** Its standard input. */
  readonly input: Writable;
  /** Resolves when it has ended and every process it left behind is dead; never rejects. */
  readonly ended: Promise<SandboxedEnd>;
  /** Asks it to end (SIGINT), so that it can write down what it knows. */
  interrupt(): void;
  /** Ends it and everything it started, at once. */
  kill(): void;
}

/**
 * A place for one run of untrusted code: a private folder and an identity that no other run has at the time.
 * What runs in it cannot read the agent's key, environment, files or descriptors, and is dead when `release`
 * has resolved.
 */
export interface Sandbox {
  /** Whether its network, and so its loopback, is its own. */
  readonly hasOwnNetwork: boolean;
  /** Absolute path of the private folder, which the code owns. HOME and TMPDIR lie in it. */
  readonly directory: string;
  /**
   * Writes a file below the folder, owned by the code; folders on the way are made. Refuses paths that lead
   * out of it.
   */
  write(path: string, content: string | Uint8Array): Promise<void>;
  /**
   * Opens a regular file that the code left behind. Links of any kind on the way, pipes and devices are
   * refused, so that nothing outside the folder is ever read in its place.
   *
   * @throws what `fs.open` throws, and an Error for what is not a plain file of this sandbox.
   */
  open(path: string): Promise<FileHandle>;
  /**
   * Makes a link below the folder to something outside that the code may read, such as a runtime's packages.
   */
  link(path: string, target: string): Promise<void>;
  /**
   * Starts a program. Several may run one after the other.
   *
   * @throws SandboxUnavailable when this host cannot start processes now (descriptors, memory, processes ran
   *   out).
   */
  start(program: SandboxedProgram): SandboxedProcess;
  /** Ends everything that still runs and wipes the folder. */
  release(): Promise<void>;
}

/** This host cannot contain untrusted code, or not now; the message says why and what to change. */
export class SandboxUnavailable extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'SandboxUnavailable';
  }
}

/** The folder of the sandboxes belongs to another agent that lives. */
export class SandboxInUse extends SandboxUnavailable {}
