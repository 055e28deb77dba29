import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { BrowserLinks } from '../browsers/browser-links.ts';
import { type Browsers, openBrowsers } from '../browsers/open-browsers.ts';
import { browsersDirectoryOf, findOtherBrowsers, type OtherBrowser } from '../browsers/other-browsers.ts';
import { unpackedChromiumPath } from '../browsers/unpacked-chromium.ts';
import { availableMemoryBytes, idleProcessorMs } from '../host-memory.ts';
import { type LifecycleProcess, launchLifecycle } from '../lifecycle/lifecycle-process.ts';
import type { LifecycleJob, LifecycleScripts } from '../lifecycle/lifecycle-scripts.ts';
import { SandboxedLifecycle } from '../lifecycle/lifecycle-session.ts';
import type { PartProblem, SandboxFacts } from '../mechanism.ts';
import { openSandboxes, type SandboxPool } from '../pool/pool.ts';
import { missingRuntime, type Runtime, type Runtimes } from '../runtimes/runtimes.ts';
import {
  programDirectory,
  type Sandbox,
  type SandboxedProcess,
  SandboxInUse,
  SandboxUnavailable,
} from '../sandbox.ts';
import { type LaunchOptions, launchScript, type ScriptProcess } from '../scripts/script-process.ts';
import { findSuitePlace, type OpenBundles } from '../suites/open-suite-host.ts';
import { Claims } from '../supervisor/uid-claims.ts';
import { prepareScriptTrust, type ScriptTrust } from '../trust/script-trust.ts';
import { whyBrowserFails } from './browser-trial.ts';
import type { ScriptHost } from './contract.ts';
import { completeRuntimes, installedRuntimes } from './host-runtimes.ts';
import type { ScriptHostSettings } from './settings.ts';
import { type EndStart, StartGate } from './start-gate.ts';
import { type StartedProcess, WarmProcesses } from './warm-processes.ts';
import { type ScriptKind, scriptKind, warmLifecycles, warmScripts } from './warm-settings.ts';
import { claimWorkDir, neighboursOf } from './work-dir.ts';

/** A host that can run scripts. */
export interface OpenScriptHost extends ScriptHost, LifecycleScripts {
  readonly facts: SandboxFacts;
  /** Degradations in addition to `facts`, such as packages that a runtime lacks. */
  readonly problems: readonly PartProblem[];
  /**
   * Searches for the browser again, starts it and ends it: if it does not start, `browser` holds the reason from then
   * on. Resolves with whether it starts.
   */
  tryBrowser(): Promise<boolean>;
  /**
   * Checks which runtimes are now installed and complete; those that were complete and still are remain unchanged.
   *
   * @throws SandboxUnavailable if no runtime is complete.
   */
  lookAgain(): Promise<void>;
  /** Ends everything and removes its files. */
  close(): Promise<void>;
}

/** How long to wait for the cleanup by the supervisor of an agent or thread that has just died. */
const takeoverMs = 6000;
const maxLoadMs = 30_000;
/** Most scripts have ended by then; others mostly wait for something, in milliseconds. */
const maxStartMs = 5000;

/**
 * Determines and prepares the script facilities of this host: sandboxes, complete runtimes, a browser, warm processes,
 * and the requirements of suites.
 *
 * @param openBundles provides the archives of suites; without it, suites are disabled.
 * @throws SandboxUnavailable if no script can run here; the message explains why.
 */
export async function openScriptHost(
  settings: ScriptHostSettings,
  openBundles?: OpenBundles,
): Promise<OpenScriptHost> {
  const installed = await installedRuntimes(settings.runtimesDirectory);
  const claims = new Claims();
  const workDir = await claimWorkDir(settings.directory, claims);
  let pool: SandboxPool | undefined;
  try {
    const browsersFolder = join(workDir, 'browsers');
    const browser = await findBrowsers(settings, browsersFolder, installed);
    const otherBrowsers = await findOtherBrowsers(browsersDirectoryOf(settings));
    const trust = await openTrust(join(workDir, 'trust'), settings.caCertificates ?? [], browser);
    const warmCount = settings.hasWarmProcesses ? settings.scriptCount + 1 : 0;
    const runtimes = installed.ids.flatMap((id) => installed.find(id) ?? []);
    const place = await findSuitePlace({
      workDir,
      runtimesDirectory: settings.runtimesDirectory,
      settings: settings.suites,
      openBundles,
    });
    const suitePaths = 'missing' in place ? { readablePaths: [], privatePaths: [] } : place;
    pool = await openPool({
      directory: join(workDir, 'sandboxes'),
      neighbours: await neighboursOf(workDir),
      // An extra slot, because a sandbox is wiped while the next run has begun, and one for the browser trial.
      slotCount: settings.scriptCount + warmCount + 2 + lifecycleSlotCount(settings),
      readablePaths: [
        programDirectory,
        ...runtimes.map(({ modulesDirectory }) => modulesDirectory),
        ...(trust ? [trust.directory] : []),
        ...suitePaths.readablePaths,
        ...otherBrowsers.map(({ path }) => path),
      ],
      privatePaths: [...settings.privatePaths, ...suitePaths.privatePaths],
      isUnisolatedAllowed: settings.isUnisolatedAllowed,
      egress: settings.egress,
    });
    const checked = await completeRuntimes(runtimes, pool);
    const suites = 'missing' in place ? place : await place.open(pool.facts.nodePath);
    const problems = [...checked.problems, ...(trust?.problems ?? [])];
    const parts = {
      settings,
      pool,
      claims,
      browser,
      otherBrowsers,
      browsersFolder,
      trust,
      suites,
      warmCount,
    };
    return new SandboxedScriptHost({ ...parts, runtimes: checked.complete, problems });
  } catch (thrown) {
    await pool?.close();
    claims.release();
    throw thrown;
  }
}

function lifecycleSlotCount({ lifecycleCount, hasWarmProcesses }: ScriptHostSettings): number {
  return lifecycleCount === 0 ? 0 : lifecycleCount + 1 + (hasWarmProcesses ? warmLifecycles.maxCount : 0);
}

async function findBrowsers(
  settings: ScriptHostSettings,
  directory: string,
  runtimes: Runtimes,
): Promise<Browsers> {
  const unpackedPath = unpackedChromiumPath(settings.runtimesDirectory);
  const { chromiumPath, browserLoginServers: loginServers } = settings;
  return await openBrowsers({ directory, runtimes, chromiumPath, unpackedPath, loginServers });
}

async function openTrust(
  directory: string,
  certificates: readonly string[],
  browser: Browsers,
): Promise<ScriptTrust | undefined> {
  if (certificates.length === 0) return undefined;
  const executablePath = 'missing' in browser ? undefined : browser.executablePath;
  return await prepareScriptTrust({ directory, certificates, executablePath });
}

async function openPool(options: Parameters<typeof openSandboxes>[0]): Promise<SandboxPool> {
  const deadlineMs = performance.now() + takeoverMs;
  for (;;) {
    try {
      return await openSandboxes(options);
    } catch (thrown) {
      if (!(thrown instanceof SandboxInUse) || performance.now() > deadlineMs) throw thrown;
      await delay(100);
    }
  }
}

/** Starts a process that waits for its job, in a fresh sandbox. */
type Launch<Started> = (sandbox: Sandbox, runtime: Runtime, options: LaunchOptions) => Promise<Started>;

/** The open host. */
class SandboxedScriptHost implements OpenScriptHost {
  readonly runtimes: Runtimes;
  browser: Browsers;
  otherBrowsers: readonly OtherBrowser[];
  readonly suites: ScriptHost['suites'];
  readonly trust: ScriptTrust | undefined;
  problems: readonly PartProblem[];
  readonly #settings: ScriptHostSettings;
  readonly #browsersFolder: string;
  #complete: readonly Runtime[];
  readonly #pool: SandboxPool;
  readonly #claims: Claims;
  readonly #warmScripts: WarmProcesses<ScriptProcess, ScriptKind>;
  readonly #warmLifecycles: WarmProcesses<LifecycleProcess, Runtime>;
  readonly #gate = new StartGate({ count: availableParallelism(), maxStartMs });
  readonly #starts = new WeakMap<ScriptProcess, EndStart>();
  readonly #closing = new AbortController();

  constructor(parts: {
    readonly settings: ScriptHostSettings;
    readonly pool: SandboxPool;
    readonly claims: Claims;
    readonly browser: Browsers;
    readonly otherBrowsers: readonly OtherBrowser[];
    readonly suites: ScriptHost['suites'];
    readonly trust: ScriptTrust | undefined;
    readonly browsersFolder: string;
    readonly warmCount: number;
    readonly runtimes: readonly Runtime[];
    readonly problems: readonly PartProblem[];
  }) {
    const { runtimes, settings } = parts;
    this.#complete = runtimes;
    const complete = () => this.#complete;
    this.runtimes = {
      get ids() {
        return complete().map(({ id }) => id);
      },
      find: (id) => complete().find((one) => one.id === id),
    };
    this.#settings = settings;
    this.#browsersFolder = parts.browsersFolder;
    this.browser = parts.browser;
    this.otherBrowsers = parts.otherBrowsers;
    this.suites = parts.suites;
    this.trust = parts.trust;
    this.problems = parts.problems;
    this.#pool = parts.pool;
    this.#claims = parts.claims;
    this.#warmScripts = new WarmProcesses<ScriptProcess, ScriptKind>({
      ...warmScripts,
      maxCount: parts.warmCount,
      isBusy: () => this.#gate.isFull,
      hasRoom: () => availableMemoryBytes() > warmScripts.roomBytes,
      idleMs: idleProcessorMs,
      start: ({ runtime, hasBrowser }) =>
        this.#startWarm(launchScript, runtime, { browser: hasBrowser ? this.#openBrowser : undefined }),
      release: (script) => this.release(script),
    });
    const hasWarmLifecycles = settings.hasWarmProcesses && settings.lifecycleCount > 0;
    this.#warmLifecycles = new WarmProcesses<LifecycleProcess, Runtime>({
      ...warmLifecycles,
      isBusy: () => false,
      maxCount: hasWarmLifecycles ? warmLifecycles.maxCount : 0,
      hasRoom: () => availableMemoryBytes() > warmLifecycles.roomBytes,
      idleMs: idleProcessorMs,
      start: (runtime) => this.#startWarm(launchLifecycle, runtime),
      release: ({ sandbox }) => void sandbox.release(),
    });
  }

  get #openBrowser(): BrowserLinks | undefined {
    return 'missing' in this.browser ? undefined : this.browser;
  }

  get #newest(): Runtime | undefined {
    return this.#complete[0];
  }

  async lookAgain(): Promise<void> {
    const installed = await installedRuntimes(this.#settings.runtimesDirectory);
    const runtimes = installed.ids.flatMap((id) => installed.find(id) ?? []);
    const checked = await completeRuntimes(runtimes, this.#pool);
    this.browser = await findBrowsers(this.#settings, this.#browsersFolder, installed);
    this.otherBrowsers = await findOtherBrowsers(browsersDirectoryOf(this.#settings));
    this.#complete = checked.complete;
    this.problems = [...checked.problems, ...(this.trust?.problems ?? [])];
  }

  async tryBrowser(): Promise<boolean> {
    const found = await findBrowsers(this.#settings, this.#browsersFolder, this.runtimes);
    const newest = this.#newest;
    const problem =
      'missing' in found || !newest
        ? undefined
        : await whyBrowserFails({
            browser: found,
            trust: this.trust,
            signal: this.#closing.signal,
            start: () => this.#startFresh(launchScript, newest, this.#closing.signal),
          });
    this.browser = problem === undefined ? found : { missing: problem, isBroken: true };
    return !('missing' in this.browser);
  }

  get facts(): SandboxFacts {
    return this.#pool.facts;
  }

  async acquire(
    { runtime, isFresh, hasBrowser }: Parameters<ScriptHost['acquire']>[0],
    signal: AbortSignal,
  ): Promise<ScriptProcess> {
    signal.throwIfAborted();
    const warm = isFresh ? undefined : this.#warmScripts.take(scriptKind(runtime, hasBrowser));
    if (warm) return warm;
    const endStart = await this.#gate.enter(signal);
    try {
      const script = await this.#startFresh(launchScript, runtime, signal);
      this.#starts.set(script, endStart);
      return script;
    } catch (thrown) {
      endStart();
      throw thrown;
    }
  }

  release(script: ScriptProcess): void {
    this.#starts.get(script)?.();
    void script.sandbox.release();
  }

  async acquireSandbox(signal: AbortSignal): Promise<Sandbox> {
    return await this.#pool.acquire(signal);
  }

  async open(job: LifecycleJob, signal: AbortSignal): ReturnType<LifecycleScripts['open']> {
    signal.throwIfAborted();
    const id = job.runtimeId ?? this.runtimes.ids[0] ?? '';
    const runtime = this.runtimes.find(id);
    if (!runtime) return { missing: 'runtime', message: missingRuntime(id, this.runtimes) };
    try {
      const running =
        this.#warmLifecycles.take(runtime) ?? (await this.#startFresh(launchLifecycle, runtime, signal));
      return {
        session: new SandboxedLifecycle(running, job, signal, () => void running.sandbox.release()),
      };
    } catch (thrown) {
      if (thrown instanceof SandboxUnavailable) return { missing: 'sandbox', message: thrown.message };
      throw thrown;
    }
  }

  async close(): Promise<void> {
    this.#closing.abort(new SandboxUnavailable('the sandboxes are closed'));
    await Promise.all([this.#warmScripts.close(), this.#warmLifecycles.close()]);
    await this.#pool.close();
    this.#claims.release();
  }

  async #startFresh<Started>(
    launch: Launch<Started>,
    runtime: Runtime,
    signal: AbortSignal,
  ): Promise<Started> {
    return await this.#start(launch, runtime, await this.#pool.acquire(signal), { isWarm: false });
  }

  async #startWarm<Started extends { readonly process: SandboxedProcess }>(
    launch: Launch<Started>,
    runtime: Runtime,
    given: Pick<LaunchOptions, 'browser'> = {},
  ): Promise<StartedProcess<Started> | undefined> {
    const loaded = Promise.withResolvers<boolean>();
    const late = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(maxLoadMs)]);
    late.addEventListener('abort', () => loaded.resolve(false), { once: true });
    try {
      const sandbox = await this.#pool.acquire(late);
      const options = { ...given, isWarm: true, onLoaded: () => loaded.resolve(true) };
      const warm = await this.#start(launch, runtime, sandbox, options);
      void warm.process.ended.then(() => loaded.resolve(false));
      return { warm, loaded: loaded.promise };
    } catch (thrown) {
      // Runs start without a warm process, and report the reason if they cannot start either.
      if (!late.aborted && !(thrown instanceof SandboxUnavailable)) throw thrown;
    }
    return undefined;
  }

  async #start<Started>(
    launch: Launch<Started>,
    runtime: Runtime,
    sandbox: Sandbox,
    options: Pick<LaunchOptions, 'isWarm' | 'onLoaded' | 'browser'>,
  ): Promise<Started> {
    try {
      return await launch(sandbox, runtime, { ...options, nodePath: this.facts.nodePath, trust: this.trust });
    } catch (thrown) {
      void sandbox.release();
      throw thrown;
    }
  }
}
