import type { FileHandle } from 'node:fs/promises';
import type { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';

/** The programs that run inside sandboxes. Bundles contain them as separate files, too. */
export const programDirectory = fileURLToPath(new URL('./program/', import.meta.url));

/**
 * The file, below its folder, in which code in a sandbox with its own network claims ports, so that they do not reach
 * the host; see network/own-ports.ts.
 */
export const ownPortsFile = '.picket/own-ports';

/** Limits for one sandbox, over all its processes. */
export interface SandboxLimits {
  /** Resident and shared memory, in bytes. Control groups also count the page cache, but it is reclaimed first. */
  readonly memoryBytes: number;
  /** From the start of a program until it is killed, in milliseconds. */
  readonly wallMs: number;
  readonly cpuMs: number;
  /** Processes and threads together, as the kernel counts them: Node needs 11, a headless Chromium about 100. */
  readonly processCount: number;
  /** Total output of a program to stdout, stderr and its events, in bytes. */
  readonly outputBytes: number;
  /** Size of the sandbox's folder, in bytes; also the limit for a single file. */
  readonly diskBytes: number;
}

/** A program that runs in a sandbox. */
export interface SandboxedProgram {
  /** Absolute path of the executable. */
  readonly path: string;
  readonly args: readonly string[];
  /** The whole environment: nothing is inherited. HOME, TMPDIR, PATH and TZ have defaults. */
  readonly environment: Readonly<Record<string, string>>;
  /** Below the sandbox's folder; defaults to the folder itself. */
  readonly workingDirectory?: string | undefined;
  readonly limits: SandboxLimits;
  /**
   * The program runs none of a customer's code before its first input: until then only the limits that the kernel
   * enforces hold, and its elapsed time, so that a waiting program costs nothing.
   */
  readonly isOwnUntilInput?: boolean | undefined;
  /** Called with the program's output as it arrives; chunks may end anywhere. */
  readonly onOutput: (stream: 'stdout' | 'stderr', chunk: Buffer) => void;
  /**
   * Called with every line the program writes to descriptor 3. Any process in the sandbox can write there, so lines are
   * untrusted. Lines are truncated at `maxEventLineBytes`.
   */
  readonly onEvent?: ((line: string) => void) | undefined;
}

/** Maximum length of an event line. */
export const maxEventLineBytes = 1024 * 1024;

/**
 * Why a program ended: by itself, because it was killed, or because it reached a limit. `notStarted`: it never ran,
 * because the executable is missing or the host could not start it; `problem` says which.
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
  /** A problem with starting or containing it, for the log. */
  readonly problem?: string | undefined;
  /** Over all processes of the sandbox while the program ran. */
  readonly peakMemoryBytes: number;
  readonly cpuMs: number;
  /** Messages about connections that the egress policy refused, limited in number. */
  readonly refusedConnections?: readonly string[] | undefined;
}

/** A started program. */
export interface SandboxedProcess {
  /** Its standard input. */
  readonly input: Writable;
  /** Resolves when it has ended and every process it left behind is dead; never rejects. */
  readonly ended: Promise<SandboxedEnd>;
  /** Requests its end (SIGINT), so that it can write its results. */
  interrupt(): void;
  /** Kills it and everything it started, immediately. */
  kill(): void;
}

export interface WriteOptions {
  /** The code may run the file. */
  readonly isProgram?: boolean;
}

/**
 * A place for one run of untrusted code: a private folder and an identity that no other run has at the same time. Its
 * code cannot read the agent's key, environment, files or descriptors, and is dead when `release` has resolved.
 */
export interface Sandbox {
  /** Whether it has its own network, and so its own loopback. */
  readonly hasOwnNetwork: boolean;
  /** Absolute path of the private folder, which the code owns. HOME and TMPDIR are inside. */
  readonly directory: string;
  /** Writes a file below the folder, owned by the code; parent folders are created. Refuses paths that lead outside. */
  write(path: string, content: string | Uint8Array, options?: WriteOptions): Promise<void>;
  /**
   * Opens a regular file that the code left behind. Any links on the path, pipes and devices are refused, so that a
   * file outside the folder is never read instead.
   *
   * @throws errors of `fs.open`, and an Error unless it is a regular file of this sandbox.
   */
  open(path: string): Promise<FileHandle>;
  /** Creates a link below the folder to a readable path outside, such as a runtime's packages. */
  link(path: string, target: string): Promise<void>;
  /**
   * Starts a program. Several may run one after the other.
   *
   * @throws SandboxUnavailable if this host cannot start processes now (out of descriptors, memory or processes).
   */
  start(program: SandboxedProgram): SandboxedProcess;
  /** Ends everything that still runs and wipes the folder. */
  release(): Promise<void>;
}

/** This host cannot contain untrusted code, or not now; the message explains why, with a remedy. */
export class SandboxUnavailable extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'SandboxUnavailable';
  }
}

/** The folder of the sandboxes belongs to another running agent. */
export class SandboxInUse extends SandboxUnavailable {}
