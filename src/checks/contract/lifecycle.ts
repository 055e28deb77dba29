/** A script of the account that runs before or after the operation of a check. */
export interface LifecycleScript {
  /** Where the script is from, for logs. */
  readonly name: string;
  readonly script: string;
  /** Where it lies among its files, and those files; absent where it has none. */
  readonly path?: string | undefined;
  readonly files?: readonly ScriptFile[] | undefined;
}

export interface ScriptFile {
  readonly path: string;
  readonly content: string;
}

/** The scripts around one run, each list in the order they run (check model 2.6). */
export interface Lifecycle {
  readonly setup: readonly LifecycleScript[];
  readonly teardown: readonly LifecycleScript[];
}

/** How long one of them may take (check model 1.11 and 5.4). */
export const lifecycleScriptMs = 10_000;
/** How long the processes they run in may take to be there, in all. */
const startMs = 15_000;

/** By how much an attempt may take longer because of scripts around it, in milliseconds. */
export function lifecycleAllowanceMs(lifecycle: Lifecycle | undefined): number {
  const count = (lifecycle?.setup.length ?? 0) + (lifecycle?.teardown.length ?? 0);
  return count === 0 ? 0 : startMs + count * lifecycleScriptMs;
}

export function hasScripts(lifecycle: Lifecycle | undefined): boolean {
  return lifecycleAllowanceMs(lifecycle) > 0;
}
