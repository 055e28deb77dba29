import type { BrowserFarm } from './browsers/browser-farm.ts';
import type { Runtimes } from './runtimes/runtimes.ts';
import type { Sandbox } from './sandbox.ts';
import type { SuiteHost } from './suites/suite-host.ts';

/** What this host has for running scripts; one for the whole agent. */
export interface ScriptHost {
  /**
   * A sandbox for one run; waits until one is free. The caller releases it.
   *
   * @throws SandboxUnavailable when this host cannot contain scripts; the signal's reason when it aborts first.
   */
  acquire(signal: AbortSignal): Promise<Sandbox>;
  readonly runtimes: Runtimes;
  /** The browsers that scripts open, or why there are none. */
  readonly browser: BrowserFarm | { readonly missing: string };
  /** What Playwright suites need beside that; absent where there is none of it. */
  readonly suites?: SuiteHost | undefined;
}
