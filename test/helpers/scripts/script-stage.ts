import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Outcome } from '../../../src/checks/contract/outcome.ts';
import type { ArtifactFile, RunContext } from '../../../src/checks/contract/run-context.ts';
import type { BrowserDetail, MultiStepDetail } from '../../../src/checks/script/detail.ts';
import { runBrowserScript, runMultiStepScript } from '../../../src/checks/script/run.ts';
import { BrowserSpec } from '../../../src/checks/script/spec.ts';
import { openBrowsers } from '../../../src/sandbox/browsers/open-browsers.ts';
import { unpackedChromiumPath } from '../../../src/sandbox/browsers/unpacked-chromium.ts';
import type { ScriptHost } from '../../../src/sandbox/host/contract.ts';
import { type Runtimes, readRuntimes } from '../../../src/sandbox/runtimes/runtimes.ts';
import { runContext } from '../run-context.ts';
import { plainHost } from './plain-sandbox.ts';

export const runtimesDirectory = join(import.meta.dirname, '../../../runtimes');

/** The script runners of this machine, or the reasons why they are missing. */
export interface ScriptStage {
  readonly host: ScriptHost;
  readonly runtimes: Runtimes;
  /** Reason why no script can run here. */
  readonly missingRuntimes: string | undefined;
  /** Reason why no browser can be opened here. */
  readonly missingBrowser: string | undefined;
  runBrowser(script: string, options?: StageOptions): Promise<StagedRun<BrowserDetail>>;
  runMultiStep(script: string, options?: StageOptions): Promise<StagedRun<MultiStepDetail>>;
  close(): Promise<void>;
}

export interface StageOptions {
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly context?: Partial<RunContext>;
}

export interface StagedRun<Detail> {
  readonly outcome: Outcome<Detail>;
  readonly artifacts: readonly ArtifactFile[];
}

/**
 * Defines tests that run scripts: skipped, with the reason, where no runtime is installed; never skipped on a build
 * machine.
 */
export function scriptTests(stage: () => ScriptStage): (name: string, run: () => Promise<void>) => void {
  return (name, run) =>
    it(name, { timeout: 120_000 }, async (context) => {
      const { missingRuntimes } = stage();
      if (missingRuntimes && process.env.CI !== 'true') context.skip(missingRuntimes);
      expect(missingRuntimes).toBeUndefined();
      await run();
    });
}

/** Sets up scripts in sandboxes without isolation: the scripts are the tests' own. */
export async function startScriptStage(
  options: { readonly loginServers?: readonly string[] } = {},
): Promise<ScriptStage> {
  const directory = await mkdtemp(join(tmpdir(), 'picket-browsers-'));
  const runtimes = await readRuntimes(runtimesDirectory);
  const missingRuntimes =
    runtimes.ids.length === 0 ? 'no runtime is installed: npm run runtimes:install' : undefined;
  const browser = await openBrowsers({
    directory,
    runtimes,
    chromiumPath: process.env.CHROMIUM_PATH,
    unpackedPath: unpackedChromiumPath(runtimesDirectory),
    loginServers: options.loginServers,
  });
  const host = plainHost(runtimes, browser);
  const run = async <Detail>(
    runner: (spec: BrowserSpec, context: RunContext) => Promise<Outcome<Detail>>,
    script: string,
    options: StageOptions = {},
  ) => {
    const artifacts: ArtifactFile[] = [];
    const outcome = await runner(
      BrowserSpec.parse({ script, ...options.spec }),
      runContext({
        scripts: host,
        timeoutMs: 100_000,
        artifacts: {
          add: async (file) => {
            artifacts.push(file);
            return true;
          },
        },
        ...options.context,
      }),
    );
    return { outcome, artifacts };
  };
  return {
    host,
    runtimes,
    missingRuntimes,
    missingBrowser: missingRuntimes ?? ('missing' in browser ? browser.missing : undefined),
    runBrowser: (script, options) => run(runBrowserScript, script, options),
    runMultiStep: (script, options) => run(runMultiStepScript, script, options),
    close: () => rm(directory, { recursive: true, force: true }),
  };
}
