/**
 * Setup and teardown scripts of one run of a check: what runs them, and what they answer. Everything here is
 * data that can go from one thread to another.
 */

/** Texts by name; several of one name as a list. */
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

/** What all scripts of a run have in common. */
export interface LifecycleJob {
  /** The newest of the host when undefined. */
  readonly runtimeId: string | undefined;
  readonly variables: Readonly<Record<string, string>>;
  /** Variables whose values are secret, also when a script sets them. */
  readonly secretNames: readonly string[];
  readonly snippets: readonly { readonly name: string; readonly script: string }[];
}

/** One script as it is to run. */
export interface LifecycleScript {
  readonly script: string;
  /** Where it lies among its files, below the folder of the run; `script.js` when absent. */
  readonly path?: string | undefined;
  readonly files?: readonly { readonly path: string; readonly content: string }[] | undefined;
  readonly timeoutMs: number;
  readonly request: ScriptRequest;
  /** Only after the request; what a script then changes of the request has no effect. */
  readonly response?: ScriptResponse | undefined;
}

/** One line that a script wrote. */
export interface LifecycleScriptLine {
  readonly level: 'DEBUG' | 'INFO' | 'WARN' | 'ERROR';
  readonly text: string;
  /** How long before the end of its script it was written, in milliseconds. */
  readonly ageMs: number;
}

/**
 * Why a script did not do its work: it threw (`failed`), cannot be compiled (`invalid`), took too long, used
 * more memory or more of something else than it may (`limit`), ended its process (`ended`), or could not be
 * run (`unavailable`).
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
  /** Lines that were too many to be kept. */
  readonly droppedLines: number;
  /** Values that scripts gave to secret variables; they must not leave. */
  readonly secrets: readonly string[];
  readonly failure?:
    | { readonly problem: LifecycleProblem; readonly message: string; readonly stack: string | null }
    | undefined;
  /** The request as the script left it. */
  readonly request?: ScriptRequest | undefined;
  /** The body the script gave to the response; undefined when it is as it was. */
  readonly body?: string | undefined;
  /** Variables that have another value than the job says; null for those that are gone. */
  readonly variables: Readonly<Record<string, string | null>>;
}

/** The scripts of one run: they share a process of their own, one after the other. */
export interface LifecycleSession {
  /** False once the process has ended, as it does with a script that took too long. */
  readonly isOpen: boolean;
  /** Runs one script. Never rejects. */
  run(script: LifecycleScript): Promise<LifecycleScriptEnd>;
  /** Ends the process and everything it started. */
  close(): void;
}

/** What this host has for running them. */
export interface LifecycleScripts {
  /**
   * A process in a sandbox of its own.
   *
   * @returns why there is none, where it lacks the runtime or cannot contain scripts.
   * @throws the signal's reason when it aborts first.
   */
  open(
    job: LifecycleJob,
    signal: AbortSignal,
  ): Promise<
    | { readonly session: LifecycleSession }
    | { readonly missing: 'runtime' | 'sandbox'; readonly message: string }
  >;
}
