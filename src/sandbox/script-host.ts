import type { BrowserFarm } from './browsers/browser-farm.ts';
import type { Runtimes } from './runtimes/runtimes.ts';
import type { Sandbox } from './sandbox.ts';
import type { ScriptPlace, WaitingScript } from './scripts/waiting-script.ts';
import type { SuiteHost } from './suites/suite-host.ts';
import type { ScriptTrust } from './trust/script-trust.ts';

/** What this host has for running scripts; one for the whole agent. */
export interface ScriptHost {
  /**
   * A process in a sandbox of its own that waits for its script; waits until there is one. The caller releases it.
   *
   * @param wanted.isFresh not one that was started ahead.
   * @throws SandboxUnavailable when this host cannot contain scripts; the signal's reason when it aborts first.
   */
  acquire(wanted: ScriptPlace & { readonly isFresh: boolean }, signal: AbortSignal): Promise<WaitingScript>;
  /** Gives the sandbox back once the script is over, without waiting until it is clean. */
  release(script: WaitingScript): void;
  readonly runtimes: Runtimes;
  /**
   * An empty sandbox, as soon as there is one. The caller releases it.
   *
   * @throws SandboxUnavailable when this host cannot contain scripts; the signal's reason when it aborts first.
   */
  acquireSandbox(signal: AbortSignal): Promise<Sandbox>;
  /** The browsers that scripts open, or why there are none. */
  readonly browser: BrowserFarm | { readonly missing: string };
  /** What Playwright suites need beside that, or what of it is not there. */
  readonly suites: SuiteHost | { readonly missing: string };
  /** How scripts trust the operator's own authorities; absent where there are none. */
  readonly trust?: ScriptTrust | undefined;
}
