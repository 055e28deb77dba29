import type { Readable } from 'node:stream';
import type { BrowserLinks } from '../browsers/browser-links.ts';
import type { SandboxedEnd } from '../sandbox.ts';
import type { ReportedError, ReportedSuiteEnd, ReportedSuiteTest } from '../scripts/events.ts';
import type { ScriptTrust } from '../trust/script-trust.ts';
import type { ManagerName } from './package-managers.ts';
import type { OutputStream } from './step.ts';
import type { SuiteHost } from './suite-host.ts';

/** Where the suite lies in the folder of its sandbox. */
export const suiteFolder = 'suite';

/** One suite as it is to run. */
export interface SuiteJob {
  readonly bundle: Readable;
  readonly browser: BrowserLinks | undefined;
  readonly host: Pick<SuiteHost, 'packageManagers' | 'dependencies' | 'nodePath'> & {
    /** Custom CA certificates that are trusted. */
    readonly trust?: ScriptTrust | undefined;
  };
  readonly engine: 'node' | 'bun';
  /** Below the suite; `.` is its top. */
  readonly workingDirectory: string;
  /** null: what the lockfile's package manager does. */
  readonly installCommand: string | null;
  readonly testCommand: string;
  /** Whatever else decides what is installed. */
  readonly cacheHash: string | null;
  readonly variables: Readonly<Record<string, string>>;
  readonly proxyUrl: string | null;
  /** How long installing may take, in milliseconds. */
  readonly installTimeoutMs: number;
  /** How long the command may take, in milliseconds. */
  readonly testTimeoutMs: number;
  readonly signal: AbortSignal;
  /** Called with each line that a command writes. */
  readonly onLine: (stage: 'install' | 'test', stream: OutputStream, line: string) => void;
  /** What happens between the programs, for the log. */
  readonly onStage: (message: string) => void;
}

/** How installing went: not at all, or from where the dependencies came. */
export interface InstallReport {
  readonly manager: ManagerName | null;
  readonly source: 'none' | 'cache' | 'installed';
  readonly durationMs: number;
}

/** How a run of a suite ended; `stage` is how far it came. */
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
  /** Values the suite gave to `SERVICE_SECRET_*` variables; they must not leave. */
  readonly secrets: readonly string[];
  /** Whether it made more values secret than can be masked; nothing of what it wrote is here then. */
  readonly hasTooManySecrets: boolean;
  readonly lastOutput: string;
}
