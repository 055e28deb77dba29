import { chmod, lstat, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { errorCodeOf, toError } from '../lib/errors.ts';
import { openBrowsers } from './browsers/open-browsers.ts';
import { unpackedChromiumPath } from './browsers/unpacked-chromium.ts';
import { availableMemoryBytes, idleProcessorMs } from './host-memory.ts';
import { Claims } from './keeper/uid-claims.ts';
import type { SandboxFacts } from './mechanism.ts';
import { openSandboxes, type SandboxPool } from './pool.ts';
import { CompileCaches } from './runtimes/compile-cache.ts';
import { type Runtime, type Runtimes, readRuntimes } from './runtimes/runtimes.ts';
import { checkRuntime } from './runtimes/self-check.ts';
import { type Sandbox, SandboxUnavailable } from './sandbox.ts';
import type { ScriptHost } from './script-host.ts';
import { SpareScripts } from './scripts/spare-scripts.ts';
import { launchScript, type ScriptPlace, type WaitingScript } from './scripts/waiting-script.ts';
import { findSuitePlace, type OpenBundles, type SuiteSettings } from './suites/open-suite-host.ts';
import { prepareScriptTrust, type ScriptTrust } from './trust/script-trust.ts';

export interface ScriptHostSettings {
  /** Where the agents of this user keep the folders of their scripts; each takes one below it. Made if missing. */
  readonly directory: string;
  /** Holds a folder for each runtime. */
  readonly runtimesDirectory: string;
  /** How many scripts may run at the same time. */
  readonly scriptCount: number;
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
export interface OpenScriptHost extends ScriptHost {
  readonly facts: SandboxFacts;
  /** What is not as it should be, beside what `facts` says: packages that a runtime lacks. */
  readonly problems: readonly string[];
  readonly spareCount: number;
  /** Ends everything and removes what it made. */
  close(): Promise<void>;
}

/** Agents of one user on one host. */
const maxAgents = 100;
/** A keeper whose agent, or thread, has just died is given this long to clean up. */
const takeoverMs = 6000;
const spareLoadMs = 30_000;
/** What a spare takes, and what has to stay free beside it. */
const spareRoomBytes = 1024 ** 3;
const programDirectory = fileURLToPath(new URL('./program/', import.meta.url));

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
      // One more than can be in use: a sandbox is wiped while the next run has begun.
      slotCount: settings.scriptCount + spareCount + 1,
      readablePaths: [
        programDirectory,
        ...runtimes.map(({ modulesDirectory }) => modulesDirectory),
        ...(trust ? [trust.directory] : []),
        ...suitePaths.readablePaths,
      ],
      privatePaths: [...settings.privatePaths, ...suitePaths.privatePaths],
      isUnisolatedAllowed: settings.isUnisolatedAllowed,
    });
    const caches = new CompileCaches(join(home, 'compiled'));
    const checked = await checkAll(runtimes, pool, caches);
    if (checked.whole.length === 0) throw new SandboxUnavailable(checked.problems.join('; '));
    const suites = 'missing' in place ? place : await place.open(pool.facts.nodePath);
    const problems = [...checked.problems, ...(trust?.problems ?? [])];
    const parts = { pool, claims, caches, browser, trust, suites, spareCount };
    return new SandboxedScripts({ ...parts, whole: checked.whole, problems });
  } catch (thrown) {
    await pool?.close();
    claims.release();
    throw thrown;
  }
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

/** A folder that no other agent has, below one that only its user can change. */
async function claimHome(directory: string, claims: Claims): Promise<string> {
  try {
    await makeOwn(directory);
    for (let number = 0; number < maxAgents; number += 1) {
      const home = join(directory, String(number));
      await makeOwn(home);
      if (claims.claim(join(home, 'lock'))) return home;
    }
  } catch (thrown) {
    if (thrown instanceof SandboxUnavailable) throw thrown;
    throw new SandboxUnavailable(`SCRIPTS_DIR cannot be used: ${toError(thrown).message}`, thrown);
  }
  throw new SandboxUnavailable(`${maxAgents} agents use ${directory} already`);
}

async function makeOwn(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  const found = await lstat(directory);
  if (!found.isDirectory() || found.uid !== process.getuid?.()) {
    throw new SandboxUnavailable(`${directory} belongs to somebody else: set SCRIPTS_DIR`);
  }
  // Scripts pass through it to what they may read.
  await chmod(directory, 0o711);
}

async function openPool(options: Parameters<typeof openSandboxes>[0]): Promise<SandboxPool> {
  const deadlineMs = performance.now() + takeoverMs;
  for (;;) {
    try {
      return await openSandboxes(options);
    } catch (thrown) {
      const isInUse = thrown instanceof SandboxUnavailable && /is in use by/.test(thrown.message);
      if (!isInUse || performance.now() > deadlineMs) throw thrown;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

/** Looks through runtimes one after the other: each is a second of work for a processor. */
async function checkAll(runtimes: readonly Runtime[], pool: SandboxPool, caches: CompileCaches) {
  const whole: Runtime[] = [];
  const problems: string[] = [];
  for (const runtime of runtimes) {
    const sandbox = await pool.acquire(new AbortController().signal);
    try {
      const found = await checkRuntime(runtime, sandbox, pool.facts.nodePath);
      if (found.length === 0) {
        whole.push(runtime);
        await caches.fill(runtime, sandbox, pool.facts.nodePath);
      } else problems.push(`runtime ${runtime.id} is not offered: ${found.slice(0, 5).join('; ')}`);
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
  readonly #caches: CompileCaches;
  readonly #spares: SpareScripts;
  readonly #closing = new AbortController();

  constructor(parts: {
    readonly pool: SandboxPool;
    readonly claims: Claims;
    readonly caches: CompileCaches;
    readonly browser: ScriptHost['browser'];
    readonly suites: ScriptHost['suites'];
    readonly trust: ScriptTrust | undefined;
    readonly spareCount: number;
    readonly whole: readonly Runtime[];
    readonly problems: readonly string[];
  }) {
    const { whole, browser } = parts;
    this.runtimes = { ids: whole.map(({ id }) => id), find: (id) => whole.find((one) => one.id === id) };
    this.browser = browser;
    this.suites = parts.suites;
    this.trust = parts.trust;
    this.problems = parts.problems;
    this.#pool = parts.pool;
    this.#claims = parts.claims;
    this.#caches = parts.caches;
    this.#spares = new SpareScripts({
      maxCount: parts.spareCount,
      hasRoom: () => availableMemoryBytes() > spareRoomBytes,
      idleMs: idleProcessorMs,
      start: (place) => this.#startSpare(place),
      release: (waiting) => this.release(waiting),
    });
    const [newest] = whole;
    if (newest) this.#spares.want({ runtime: newest, browser: 'missing' in browser ? undefined : browser });
  }

  get facts(): SandboxFacts {
    return this.#pool.facts;
  }

  get spareCount(): number {
    return this.#spares.count;
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

  release({ sandbox }: WaitingScript): void {
    void sandbox.release();
    this.#spares.fill();
  }

  async close(): Promise<void> {
    this.#closing.abort(new SandboxUnavailable('the sandboxes are closed'));
    await this.#spares.close();
    await this.#pool.close();
    await this.#caches.remove();
    this.#claims.release();
  }

  async #startSpare(place: ScriptPlace): Promise<WaitingScript | undefined> {
    const loaded = Promise.withResolvers<boolean>();
    const late = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(spareLoadMs)]);
    late.addEventListener('abort', () => loaded.resolve(false), { once: true });
    try {
      const sandbox = await this.#pool.acquire(late);
      const onLoaded = () => loaded.resolve(true);
      const waiting = await this.#launch(place, sandbox, { isAhead: true, onLoaded });
      void waiting.process.ended.then(() => loaded.resolve(false));
      if (await loaded.promise) return waiting;
      this.release(waiting);
    } catch (thrown) {
      // A run starts without one, and says why where it cannot.
      if (!late.aborted && !(thrown instanceof SandboxUnavailable)) throw thrown;
    }
    return undefined;
  }

  async #launch(
    place: ScriptPlace,
    sandbox: Sandbox,
    how: { readonly isAhead: boolean; readonly onLoaded?: () => void },
  ): Promise<WaitingScript> {
    try {
      const compileCache = await this.#caches.folderFor(place.runtime, sandbox);
      const { trust } = this;
      const { nodePath } = this.facts;
      return await launchScript(sandbox, place, { ...how, compileCache, nodePath, trust });
    } catch (thrown) {
      void sandbox.release();
      throw thrown;
    }
  }
}
