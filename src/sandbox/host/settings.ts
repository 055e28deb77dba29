import type { EgressSettings } from '@picket/probes/egress/policy.ts';
import type { SuiteSettings } from '../suites/open-suite-host.ts';

/** Settings for the scripts of an agent. */
export interface ScriptHostSettings {
  /** Where the agents of this user keep their script folders, one subfolder per agent. Created if missing. */
  readonly directory: string;
  /** Contains a folder for each runtime. */
  readonly runtimesDirectory: string;
  /** Maximum number of concurrent scripts. */
  readonly scriptCount: number;
  /** Maximum number of API check runs whose setup and teardown scripts run concurrently. */
  readonly lifecycleCount: number;
  /** The setting CHROMIUM_PATH. */
  readonly chromiumPath?: string | undefined;
  /** The setting BROWSERS_DIR: builds of Firefox and WebKit. */
  readonly browsersDirectory?: string | undefined;
  /** Accepts a host on which scripts are not isolated from the agent. */
  readonly isUnisolatedAllowed: boolean;
  /** Destinations that scripts may connect to; the default policy when absent. */
  readonly egress?: EgressSettings | undefined;
  /** Files and folders that scripts must not be able to read. */
  readonly privatePaths: readonly string[];
  /** Custom CA certificates that scripts and their browsers trust, as PEM texts. */
  readonly caCertificates?: readonly string[] | undefined;
  /** Servers at which Chromium logs in with the Kerberos tickets of its run, if the run has any. */
  readonly browserLoginServers?: readonly string[] | undefined;
  /** Whether to keep warm processes; a single run needs none. */
  readonly hasWarmProcesses: boolean;
  readonly suites: SuiteSettings;
}
