import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { errorCodeOf } from '../lib/errors.ts';
import { openBrowsers } from './browsers/open-browsers.ts';
import { unpackedChromiumPath } from './browsers/unpacked-chromium.ts';
import { availableMemoryBytes, idleProcessorMs } from './host-memory.ts';
import { Claims } from './keeper/uid-claims.ts';
import type { SandboxFacts } from './mechanism.ts';
import { openSandboxes, type SandboxPool } from './pool.ts';
import { programDirectory } from './program-directory.ts';
import { missingRuntime, type Runtime, type Runtimes, readRuntimes } from './runtimes/runtimes.ts';
import { checkRuntime } from './runtimes/self-check.ts';
import { type Sandbox, type SandboxedProcess, SandboxUnavailable } from './sandbox.ts';
import { claimHome, neighboursOf } from './script-home.ts';
import type { ScriptHost } from './script-host.ts';
import type { PhaseOrder, PhaseScripts } from './scripts/phase-scripts.ts';
import { SandboxedPhases } from './scripts/phase-session.ts';
import { Spares, type StartedSpare } from './scripts/spares.ts';
import { launchPhases, maxPhaseWaitMs, type WaitingPhases } from './scripts/waiting-phases.ts';
import {
  kindOfPlace,
  type LaunchOptions,
  launchScript,
  maxWaitMs,
  type ScriptPlace,
  type WaitingScript,
} from './scripts/waiting-script.ts';
import { findSuitePlace, type OpenBundles, type SuiteSettings } from './suites/open-suite-host.ts';
import { prepareScriptTrust, type ScriptTrust } from './trust/script-trust.ts';

export interface ScriptHostSettings {
  /** Where the agents of this user keep the folders of their scripts; each takes one below it. Made if missing. */
  readonly directory: string;
  /** Holds a folder for each runtime. */
  readonly runtimesDirectory: string;
  /** How many scripts may run at the same time. */
  readonly scriptCount: number;
  /** For how many runs of other checks scripts may run before and after them at the same time. */
  readonly phaseCount: number;
  /** The setting CHROMIUM_PATH. */
  readonly chromiumPath?: string | undefined;
  /** Accepts a host where nothing isolates scripts from the agent. */
  readonly isUnisolatedAllowed: boolean;
  /** Files and folders that scripts must not be able to read. */
  readonly privatePaths: readonly string[];
  /** Authorities that scripts and their browsers trust beside the usual ones, as PEM texts. */
  readonly caCertificates?: readonly string[] | undefined;
  /** Whether processes are started ahead; a single run needs none. */
  readonly hasSpares: boolean;
  readonly suites: SuiteSettings;
}

/** A host that can run scripts. */
export interface OpenScriptHost extends ScriptHost, PhaseScripts {
  readonly facts: SandboxFacts;
  /** What is not as it should be, beside what `facts` says: packages that a runtime lacks. */
  readonly problems: readonly string[];
  /**
   * Has processes ready for scripts of these kinds, the first ones first, that use the newest runtime. Resolves when they wait, or
   * after a few seconds: the first runs are as quick as others then.
   */
  prepare(kinds: readonly { readonly hasBrowser: boolean }[]): Promise<void>;
  /** Ends everything and removes what it made. */
  close(): Promise<void>;
}

/** A keeper whose agent, or thread, has just died is given this long to clean up. */
const takeoverMs = 6000;
const spareLoadMs = 30_000;
/** How long the first spares are waited for. */
const prepareMs = 6000;
/** What a spare takes, and what has to stay free beside it. */
const spareRoomBytes = 1024 ** 3;
/** The same for the processes of scripts around runs, and how many of those wait, in all and for one runtime. */
const sparePhaseRoomBytes = 256 * 1024 ** 2;
const sparePhases = { maxCount: 3, countPerKind: 2, patienceMs: 200 };

/**
 * Finds out what this host has for running scripts and makes it ready: sandboxes, runtimes whose packages are all there,
 * a browser, processes that wait, and what suites need beside that.
 *
 * @param openBundles where the archives of suites come from; without it there are no suites.
 * @throws SandboxUnavailable when no script can run here; the message says why.
 */
export async function openScriptHost(
  settings: ScriptHostSettings,
  openBundles?: OpenBundles,
): Promise<OpenScriptHost> {
  const installed = await installedRuntimes(settings.runtimesDirectory);
  const claims = new Claims();
  const home = await claimHome(settings.directory, claims);
  let pool: SandboxPool | undefined;
  try {
    const browser = await openBrowsers({
      directory: join(home, 'browsers'),
      runtimes: installed,
      chromiumPath: settings.chromiumPath,
      unpackedPath: unpackedChromiumPath(settings.runtimesDirectory),
    });
    const trust = await openTrust(join(home, 'trust'), settings.caCertificates ?? [], browser);
    const spareCount = settings.hasSpares ? settings.scriptCount + 1 : 0;
    const runtimes = installed.ids.flatMap((id) => installed.find(id) ?? []);
    const place = await findSuitePlace({
      home,
      runtimesDirectory: settings.runtimesDirectory,
      settings: settings.suites,
      openBundles,
    });
    const suitePaths = 'missing' in place ? { readablePaths: [], privatePaths: [] } : place;
    pool = await openPool({
      directory: join(home, 'sandboxes'),
      neighbours: await neighboursOf(home),
      // One more than can be in use: a sandbox is wiped while the next run has begun.
      slotCount: settings.scriptCount + spareCount + 1 + phaseSlotCount(settings),
      readablePaths: [
        programDirectory,
        ...runtimes.map(({ modulesDirectory }) => modulesDirectory),
        ...(trust ? [trust.directory] : []),
        ...suitePaths.readablePaths,
      ],
      privatePaths: [...settings.privatePaths, ...suitePaths.privatePaths],
      isUnisolatedAllowed: settings.isUnisolatedAllowed,
    });
    const checked = await checkAll(runtimes, pool);
    if (checked.whole.length === 0) throw new SandboxUnavailable(checked.problems.join('; '));
    const suites = 'missing' in place ? place : await place.open(pool.facts.nodePath);
    const problems = [...checked.problems, ...(trust?.problems ?? [])];
    const parts = { settings, pool, claims, browser, trust, suites, spareCount };
    return new SandboxedScripts({ ...parts, whole: checked.whole, problems });
  } catch (thrown) {
    await pool?.close();
    claims.release();
    throw thrown;
  }
}

function phaseSlotCount({ phaseCount, hasSpares }: ScriptHostSettings): number {
  return phaseCount === 0 ? 0 : phaseCount + 1 + (hasSpares ? sparePhases.maxCount : 0);
}

async function installedRuntimes(directory: string): Promise<Runtimes> {
  let runtimes: Runtimes | undefined;
  try {
    runtimes = await readRuntimes(directory);
  } catch (thrown) {
    if (errorCodeOf(thrown) !== 'ENOENT') throw thrown;
  }
  if (!runtimes || runtimes.ids.length === 0) {
    throw new SandboxUnavailable('no runtime is installed: npm run runtimes:install');
  }
  return runtimes;
}

async function openTrust(
  directory: string,
  certificates: readonly string[],
  browser: ScriptHost['browser'],
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
      const isInUse = thrown instanceof SandboxUnavailable && /is in use by/.test(thrown.message);
      if (!isInUse || performance.now() > deadlineMs) throw thrown;
      await delay(100);
    }
  }
}

/** Looks through runtimes one after the other: each is a second of work for a processor. */
async function checkAll(runtimes: readonly Runtime[], pool: SandboxPool) {
  const whole: Runtime[] = [];
  const problems: string[] = [];
  for (const runtime of runtimes) {
    const sandbox = await pool.acquire(new AbortController().signal);
    try {
      const found = await checkRuntime(runtime, sandbox, pool.facts.nodePath);
      if (found.length === 0) whole.push(runtime);
      else problems.push(`runtime ${runtime.id} is not offered: ${found.slice(0, 5).join('; ')}`);
    } finally {
      await sandbox.release();
    }
  }
  return { whole, problems };
}

/** The host once it is open. */
class SandboxedScripts implements OpenScriptHost {
  readonly runtimes: Runtimes;
  readonly browser: ScriptHost['browser'];
  readonly suites: ScriptHost['suites'];
  readonly trust: ScriptTrust | undefined;
  readonly problems: readonly string[];
  readonly #pool: SandboxPool;
  readonly #claims: Claims;
  readonly #spares: Spares<ScriptPlace, WaitingScript>;
  readonly #sparePhases: Spares<Runtime, WaitingPhases>;
  readonly #closing = new AbortController();

  constructor(parts: {
    readonly settings: ScriptHostSettings;
    readonly pool: SandboxPool;
    readonly claims: Claims;
    readonly browser: ScriptHost['browser'];
    readonly suites: ScriptHost['suites'];
    readonly trust: ScriptTrust | undefined;
    readonly spareCount: number;
    readonly whole: readonly Runtime[];
    readonly problems: readonly string[];
  }) {
    const { whole } = parts;
    this.runtimes = { ids: whole.map(({ id }) => id), find: (id) => whole.find((one) => one.id === id) };
    this.browser = parts.browser;
    this.suites = parts.suites;
    this.trust = parts.trust;
    this.problems = parts.problems;
    this.#pool = parts.pool;
    this.#claims = parts.claims;
    this.#spares = new Spares<ScriptPlace, WaitingScript>({
      maxCount: parts.spareCount,
      countPerKind: 1,
      patienceMs: 3000,
      maxAgeMs: maxWaitMs / 2,
      kindOf: kindOfPlace,
      hasRoom: () => availableMemoryBytes() > spareRoomBytes,
      idleMs: idleProcessorMs,
      start: (place) => this.#startSpare((sandbox, how) => this.#launch(place, sandbox, how)),
      release: (waiting) => this.release(waiting),
    });
    const hasSparePhases = parts.settings.hasSpares && parts.settings.phaseCount > 0;
    this.#sparePhases = new Spares<Runtime, WaitingPhases>({
      ...sparePhases,
      maxCount: hasSparePhases ? sparePhases.maxCount : 0,
      maxAgeMs: maxPhaseWaitMs / 2,
      kindOf: ({ id }) => id,
      hasRoom: () => availableMemoryBytes() > sparePhaseRoomBytes,
      idleMs: idleProcessorMs,
      start: (runtime) => this.#startSpare((sandbox, how) => this.#launchPhases(runtime, sandbox, how)),
      release: (waiting) => this.#releasePhases(waiting),
    });
    const [newest] = whole;
    if (newest) this.#sparePhases.want(newest);
  }

  async prepare(kinds: readonly { readonly hasBrowser: boolean }[]): Promise<void> {
    const runtime = this.runtimes.find(this.runtimes.ids[0] ?? '');
    if (!runtime) return;
    // What is wanted last is started first.
    for (const { hasBrowser } of kinds.toReversed()) {
      if (!hasBrowser) this.#spares.want({ runtime, browser: undefined });
      else if (!('missing' in this.browser)) this.#spares.want({ runtime, browser: this.browser });
    }
    const limit = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(prepareMs)]);
    await Promise.race([this.#spares.filled(), once(limit, 'abort')]);
  }

  get facts(): SandboxFacts {
    return this.#pool.facts;
  }

  async acquire(
    wanted: ScriptPlace & { readonly isFresh: boolean },
    signal: AbortSignal,
  ): Promise<WaitingScript> {
    signal.throwIfAborted();
    const spare = wanted.isFresh ? undefined : this.#spares.take(wanted);
    if (spare) return spare;
    return await this.#launch(wanted, await this.#pool.acquire(signal), { isAhead: false });
  }

  async acquireSandbox(signal: AbortSignal): Promise<Sandbox> {
    return await this.#pool.acquire(signal);
  }

  async open(order: PhaseOrder, signal: AbortSignal): ReturnType<PhaseScripts['open']> {
    signal.throwIfAborted();
    const id = order.runtimeId ?? this.runtimes.ids[0] ?? '';
    const runtime = this.runtimes.find(id);
    if (!runtime) return { missing: 'runtime', message: missingRuntime(id, this.runtimes) };
    try {
      const waiting =
        this.#sparePhases.take(runtime) ??
        (await this.#launchPhases(runtime, await this.#pool.acquire(signal), { isAhead: false }));
      return { session: new SandboxedPhases(waiting, order, signal, () => this.#releasePhases(waiting)) };
    } catch (thrown) {
      if (thrown instanceof SandboxUnavailable) return { missing: 'sandbox', message: thrown.message };
      throw thrown;
    }
  }

  release({ sandbox }: WaitingScript): void {
    void sandbox.release();
    this.#spares.runEnded();
  }

  async close(): Promise<void> {
    this.#closing.abort(new SandboxUnavailable('the sandboxes are closed'));
    await Promise.all([this.#spares.close(), this.#sparePhases.close()]);
    await this.#pool.close();
    this.#claims.release();
  }

  #releasePhases({ sandbox }: WaitingPhases): void {
    void sandbox.release();
    this.#sparePhases.runEnded();
  }

  /** A process that loads what it can; undefined when it could not be had. */
  async #startSpare<Waiting extends { readonly sandbox: Sandbox; readonly process: SandboxedProcess }>(
    launch: (sandbox: Sandbox, how: LaunchedHow) => Promise<Waiting>,
  ): Promise<StartedSpare<Waiting> | undefined> {
    const loaded = Promise.withResolvers<boolean>();
    const late = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(spareLoadMs)]);
    late.addEventListener('abort', () => loaded.resolve(false), { once: true });
    try {
      const sandbox = await this.#pool.acquire(late);
      const waiting = await launch(sandbox, { isAhead: true, onLoaded: () => loaded.resolve(true) });
      void waiting.process.ended.then(() => loaded.resolve(false));
      return { waiting, loaded: loaded.promise };
    } catch (thrown) {
      // A run starts without one, and says why where it cannot.
      if (!late.aborted && !(thrown instanceof SandboxUnavailable)) throw thrown;
    }
    return undefined;
  }

  async #launch(place: ScriptPlace, sandbox: Sandbox, how: LaunchedHow): Promise<WaitingScript> {
    return await this.#inSandbox(sandbox, (where) => launchScript(sandbox, place, { ...how, ...where }));
  }

  async #launchPhases(runtime: Runtime, sandbox: Sandbox, how: LaunchedHow): Promise<WaitingPhases> {
    return await this.#inSandbox(sandbox, (where) => launchPhases(sandbox, runtime, { ...how, ...where }));
  }

  async #inSandbox<Waiting>(
    sandbox: Sandbox,
    start: (where: Pick<LaunchOptions, 'nodePath' | 'trust'>) => Promise<Waiting>,
  ): Promise<Waiting> {
    try {
      return await start({ nodePath: this.facts.nodePath, trust: this.trust });
    } catch (thrown) {
      void sandbox.release();
      throw thrown;
    }
  }
}

/** How a process is started: ahead of its job, or for one that waits. */
interface LaunchedHow {
  readonly isAhead: boolean;
  readonly onLoaded?: () => void;
}
