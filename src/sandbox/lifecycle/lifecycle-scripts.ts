/**
 * Interface of the setup and teardown scripts of a run, and their results. All types are plain data that can be passed
 * between threads.
 */

/** Texts by name; several texts of one name are a list. */
export type TextMap = Readonly<Record<string, string | readonly string[]>>;

/** The request of the run, as scripts see it. */
export interface ScriptRequest {
  readonly method: string;
  readonly url: string;
  readonly body: string;
  readonly headers: TextMap;
  readonly queryParameters: TextMap;
}

/** Its response, as scripts see it. */
export interface ScriptResponse {
  readonly statusCode: number;
  readonly statusText: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timings: Readonly<Record<string, number>> | null;
  readonly timingPhases: Readonly<Record<string, number>> | null;
}

/** Parameters shared by all scripts of a run. */
export interface LifecycleJob {
  /** Undefined for the newest runtime of the host. */
  readonly runtimeId: string | undefined;
  readonly variables: Readonly<Record<string, string>>;
  /** Variables whose values are secret, including values that a script sets. */
  readonly secretNames: readonly string[];
  readonly snippets: readonly { readonly name: string; readonly script: string }[];
}

/** One script to run. */
export interface LifecycleScript {
  readonly script: string;
  /** Its path among its files, below the folder of the run; defaults to `script.js`. */
  readonly path?: string | undefined;
  readonly files?: readonly { readonly path: string; readonly content: string }[] | undefined;
  readonly timeoutMs: number;
  readonly request: ScriptRequest;
  /** Only set after the request; a script's changes to the request then have no effect. */
  readonly response?: ScriptResponse | undefined;
}

/** One line of a script's output. */
export interface LifecycleScriptLine {
  readonly level: 'DEBUG' | 'INFO' | 'WARN' | 'ERROR';
  readonly text: string;
  /** Time from this line to the end of its script, in milliseconds. */
  readonly ageMs: number;
}

/**
 * Why a script failed: it threw (`failed`), cannot be compiled (`invalid`), took too long, exceeded its memory or
 * another resource (`limit`), ended its process (`ended`), or could not be run (`unavailable`).
 */
export type LifecycleProblem =
  | 'failed'
  | 'invalid'
  | 'timed-out'
  | 'memory'
  | 'limit'
  | 'ended'
  | 'stopped'
  | 'unavailable';

export interface LifecycleScriptEnd {
  readonly durationMs: number;
  readonly lines: readonly LifecycleScriptLine[];
  /** Number of lines dropped over the limit. */
  readonly droppedLines: number;
  /** Values that scripts assigned to secret variables; they must not leave the agent. */
  readonly secrets: readonly string[];
  readonly failure?:
    | { readonly problem: LifecycleProblem; readonly message: string; readonly stack: string | null }
    | undefined;
  /** The request after the script's changes. */
  readonly request?: ScriptRequest | undefined;
  /** The body that the script set on the response; undefined if unchanged. */
  readonly body?: string | undefined;
  /** Variables whose values differ from the job's; null for deleted ones. */
  readonly variables: Readonly<Record<string, string | null>>;
}

/** The scripts of one run: they share one process and run one after the other. */
export interface LifecycleSession {
  /** False once the process has ended, for example after a script that took too long. */
  readonly isOpen: boolean;
  /** Runs one script. Never rejects. */
  run(script: LifecycleScript): Promise<LifecycleScriptEnd>;
  /** Ends the process and everything it started. */
  close(): void;
}

/** Opens sessions on this host. */
export interface LifecycleScripts {
  /**
   * Opens a process in a sandbox of its own.
   *
   * @returns the reason if the runtime is missing or the host cannot contain scripts.
   * @throws the signal's reason if it aborts first.
   */
  open(
    job: LifecycleJob,
    signal: AbortSignal,
  ): Promise<
    | { readonly session: LifecycleSession }
    | { readonly missing: 'runtime' | 'sandbox'; readonly message: string }
  >;
}
