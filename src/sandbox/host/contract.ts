import type { Browsers } from '../browsers/open-browsers.ts';
import type { OtherBrowser } from '../browsers/other-browsers.ts';
import type { Runtime, Runtimes } from '../runtimes/runtimes.ts';
import type { Sandbox } from '../sandbox.ts';
import type { ScriptProcess } from '../scripts/script-process.ts';
import type { SuiteHost } from '../suites/suite-host.ts';
import type { ScriptTrust } from '../trust/script-trust.ts';

/** The script facilities of this host; one object for the whole agent. */
export interface ScriptHost {
  /**
   * Resolves with a process in its own sandbox that waits for a script, as soon as one is available. The caller
   * releases it.
   *
   * @param wanted.isFresh true for a script that cannot use a warm process.
   * @param wanted.hasBrowser true for a script that opens the Chromium of this host, and it alone: a warm process has
   * started it already.
   * @throws SandboxUnavailable if this host cannot contain scripts; the signal's reason if it aborts first.
   */
  acquire(
    wanted: { readonly runtime: Runtime; readonly isFresh: boolean; readonly hasBrowser: boolean },
    signal: AbortSignal,
  ): Promise<ScriptProcess>;
  /** Returns the sandbox after the script has ended, without waiting for its cleanup. */
  release(script: ScriptProcess): void;
  readonly runtimes: Runtimes;
  /**
   * Resolves with an empty sandbox, as soon as one is available. The caller releases it.
   *
   * @throws SandboxUnavailable if this host cannot contain scripts; the signal's reason if it aborts first.
   */
  acquireSandbox(signal: AbortSignal): Promise<Sandbox>;
  readonly browser: Browsers;
  /** Browsers besides Chromium. */
  readonly otherBrowsers: readonly OtherBrowser[];
  /** The host's facilities for Playwright suites, or the reason why they are missing. */
  readonly suites: SuiteHost | { readonly missing: string };
  /** Makes scripts trust custom CA certificates; absent without such certificates. */
  readonly trust?: ScriptTrust | undefined;
}
