import type { Browsers } from '../browsers/open-browsers.ts';
import type { Runtime, Runtimes } from '../runtimes/runtimes.ts';
import type { Sandbox } from '../sandbox.ts';
import type { ScriptProcess } from '../scripts/script-process.ts';
import type { SuiteHost } from '../suites/suite-host.ts';
import type { ScriptTrust } from '../trust/script-trust.ts';

/** What this host has for running scripts; one for the whole agent. */
export interface ScriptHost {
  /**
   * A process in its own sandbox that waits for a script; resolves when there is one. The caller releases it.
   *
   * @param wanted.isFresh true for a script that cannot use a warm process.
   * @throws SandboxUnavailable when this host cannot contain scripts; the signal's reason when it aborts
   *   first.
   */
  acquire(
    wanted: { readonly runtime: Runtime; readonly isFresh: boolean },
    signal: AbortSignal,
  ): Promise<ScriptProcess>;
  /** Returns the sandbox once the script has ended, without waiting until it is clean. */
  release(script: ScriptProcess): void;
  readonly runtimes: Runtimes;
  /**
   * An empty sandbox, as soon as there is one. The caller releases it.
   *
   * @throws SandboxUnavailable when this host cannot contain scripts; the signal's reason when it aborts
   *   first.
   */
  acquireSandbox(signal: AbortSignal): Promise<Sandbox>;
  readonly browser: Browsers;
  /** What Playwright suites need in addition, or what of it is missing. */
  readonly suites: SuiteHost | { readonly missing: string };
  /** How scripts trust custom CA certificates; absent where there are none. */
  readonly trust?: ScriptTrust | undefined;
}
