import type { EgressSettings } from '@picket/probes/egress/policy.ts';
import type { SuiteSettings } from '../suites/open-suite-host.ts';

/** What the scripts of an agent are run with. */
export interface ScriptHostSettings {
  /**
   * Where the agents of this user keep the folders of their scripts; each takes one below it. Created if
   * missing.
   */
  readonly directory: string;
  /** Holds a folder for each runtime. */
  readonly runtimesDirectory: string;
  /** How many scripts may run at the same time. */
  readonly scriptCount: number;
  /** For how many runs of API checks setup and teardown scripts may run at the same time. */
  readonly lifecycleCount: number;
  /** The setting CHROMIUM_PATH. */
  readonly chromiumPath?: string | undefined;
  /** Accepts a host where nothing isolates scripts from the agent. */
  readonly isUnisolatedAllowed: boolean;
  /** What scripts may connect to; the default policy when absent. */
  readonly egress?: EgressSettings | undefined;
  /** Files and folders that scripts must not be able to read. */
  readonly privatePaths: readonly string[];
  /** Custom CA certificates that scripts and their browsers trust, as PEM texts. */
  readonly caCertificates?: readonly string[] | undefined;
  /** Whether warm processes are kept; a single run needs none. */
  readonly hasWarmProcesses: boolean;
  readonly suites: SuiteSettings;
}
