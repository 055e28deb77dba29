import type { Readable } from 'node:stream';
import type { BrowserLinks } from '../browsers/browser-links.ts';
import type { BrowserLogin } from '../browsers/browser-login.ts';
import type { OtherBrowser } from '../browsers/other-browsers.ts';
import type { SandboxedEnd } from '../sandbox.ts';
import type { ReportedError, ReportedSuiteEnd, ReportedSuiteTest } from '../scripts/events.ts';
import type { ScriptTrust } from '../trust/script-trust.ts';
import type { ManagerName } from './package-managers.ts';
import type { OutputStream } from './step.ts';
import type { SuiteHost } from './suite-host.ts';

/** The suite's folder in its sandbox. */
export const suiteFolder = 'suite';

/** One suite to run. */
export interface SuiteJob {
  readonly bundle: Readable;
  readonly browser: BrowserLinks | undefined;
  /** Tickets with which it logs in. */
  readonly login?: BrowserLogin | undefined;
  /** Browsers besides it that the suite names. */
  readonly otherBrowsers: readonly OtherBrowser[];
  readonly host: Pick<SuiteHost, 'packageManagers' | 'dependencies' | 'nodes'> & {
    /** Custom CA certificates to trust. */
    readonly trust?: ScriptTrust | undefined;
  };
  readonly engine: 'node' | 'bun';
  /** A version or range of Node; null for that of the manifest, or any. */
  readonly engineVersion: string | null;
  /** Below the suite; `.` is its top. */
  readonly workingDirectory: string;
  /** null for the default command of the lockfile's package manager. */
  readonly installCommand: string | null;
  readonly testCommand: string;
  /** An additional input for the cache key of the dependencies. */
  readonly cacheHash: string | null;
  readonly variables: Readonly<Record<string, string>>;
  readonly proxyUrl: string | null;
  /** Time limit of the installation, in milliseconds. */
  readonly installTimeoutMs: number;
  /** Time limit of the command, in milliseconds. */
  readonly testTimeoutMs: number;
  readonly signal: AbortSignal;
  /** Called with each line that a command writes. */
  readonly onLine: (stage: 'install' | 'test', stream: OutputStream, line: string) => void;
  /** Called when the tests start; see `ScriptJob.onStart`. Nothing notes secrets before. */
  readonly onTestStart?: (secrets: () => Promise<readonly string[] | undefined>) => void;
  /** Progress messages between the programs, for the log. */
  readonly onStage: (message: string) => void;
}

/** The source of the dependencies, if any, and how long the installation took. */
export interface InstallReport {
  readonly manager: ManagerName | null;
  readonly source: 'none' | 'cache' | 'installed';
  readonly durationMs: number;
}

/** How a run of a suite ended; `stage` is the last one it reached. */
export type SuiteReport =
  | { readonly stage: 'unpack'; readonly problem: string }
  | { readonly stage: 'unpack'; readonly ended: SandboxedEnd; readonly problem?: undefined }
  | { readonly stage: 'no-lockfile'; readonly problem: string }
  | { readonly stage: 'no-manager'; readonly problem: string }
  | {
      readonly stage: 'install';
      readonly command: string;
      readonly ended: SandboxedEnd;
      readonly lastOutput: string;
    }
  | TestReport;

export interface TestReport {
  readonly stage: 'test';
  readonly install: InstallReport;
  readonly ended: SandboxedEnd;
  readonly startedAt: number;
  readonly durationMs: number;
  readonly playwrightVersion: string | null;
  /** How many times Playwright ran tests. */
  readonly beginCount: number;
  readonly ends: readonly ReportedSuiteEnd[];
  readonly tests: readonly ReportedSuiteTest[];
  /** Errors outside of any test. */
  readonly errors: readonly ReportedError[];
  /** Values that the suite assigned to `SERVICE_SECRET_*` variables; they must not leave the agent. */
  readonly secrets: readonly string[];
  /** True if there are more secrets than can be masked; the report then contains no output. */
  readonly hasTooManySecrets: boolean;
  readonly lastOutput: string;
}
