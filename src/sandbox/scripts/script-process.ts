import { join } from 'node:path';
import { type BrowserLinks, linksFor } from '../browsers/browser-links.ts';
import type { OtherBrowser } from '../browsers/other-browsers.ts';
import type { Runtime } from '../runtimes/runtimes.ts';
import { programDirectory, type Sandbox, type SandboxedProcess, type SandboxLimits } from '../sandbox.ts';
import { placeBrowserTrust, type ScriptTrust } from '../trust/script-trust.ts';

/** Receives the output of a process. */
export interface ScriptListener {
  readonly onOutput: (stream: 'stdout' | 'stderr', chunk: Buffer) => void;
  readonly onEvent: (line: string) => void;
}

/** A process in its own sandbox that waits for a script to run. It is used once. */
export interface ScriptProcess {
  readonly runtime: Runtime;
  readonly sandbox: Sandbox;
  /** Whether it can open the browsers already. */
  readonly hasBrowser: boolean;
  readonly process: SandboxedProcess;
  /** Receives output from now on; earlier output did not come from the script. */
  listen(listener: ScriptListener): void;
}

/** The agent's own files in the run's folder. */
export const privateFolder = '.picket';
/** The file of notes; see events.ts. */
export const notesFile = join(privateFolder, 'notes.ndjson');
/** Where Playwright looks for browsers. Absent for scripts that may not open any. */
export const browsersFolder = join(privateFolder, 'browsers');

/** Files of a browser that is started ahead: in a folder of this name Playwright looks for no tests. */
export function earlyFolderOf(directory: string): string {
  return join(directory, privateFolder, 'node_modules');
}

/** Memory per run (check model 1.8). */
export const scriptMemoryBytes = Math.round(2.7 * 1024 ** 3);
/**
 * The longest duration of a script, in milliseconds (check model 1.8), and how long a process may wait for its script.
 */
const maxScriptMs = 240_000;
export const maxWaitMs = 15 * 60_000;

/** Arguments for browsers in addition to Playwright's own. */
export const browserArgs: readonly string[] = ['--disable-gpu', '--disable-quic'];

/** This time limit is the last resort: the caller applies a limit of its own to each script. */
const limits: SandboxLimits = {
  memoryBytes: scriptMemoryBytes,
  wallMs: maxWaitMs + maxScriptMs,
  // A browser's processes may be busy on several cores.
  cpuMs: maxScriptMs * 4,
  processCount: 512,
  outputBytes: 20 * 1024 * 1024,
  diskBytes: 500 * 1024 * 1024,
};

/** Parameters of a process start. */
export interface LaunchOptions {
  /** The Node executable. */
  readonly nodePath: string;
  /** Loads modules before the script is known. */
  readonly isWarm: boolean;
  /** Set for a script that opens Chromium alone: a warm process starts it ahead. */
  readonly browser?: BrowserLinks | undefined;
  /** Custom CA certificates that it trusts. */
  readonly trust?: ScriptTrust | undefined;
  /** Called once a warm process has loaded its modules. */
  readonly onLoaded?: (() => void) | undefined;
}

/**
 * Starts the process for a future script, in a fresh sandbox.
 *
 * Variables that Playwright reads while it loads must be in the environment from the start.
 *
 * @throws SandboxUnavailable if no process can be started.
 */
export async function launchScript(
  sandbox: Sandbox,
  runtime: Runtime,
  options: LaunchOptions,
): Promise<ScriptProcess> {
  await sandbox.write(notesFile, '');
  await sandbox.link('node_modules', runtime.modulesDirectory);
  if (options.browser) await placeBrowsers(sandbox, options.browser, options.trust);
  let listener: ScriptListener | undefined;
  const process = sandbox.start({
    path: options.nodePath,
    args: [
      join(programDirectory, 'run/launch.cjs'),
      runtime.modulesDirectory,
      ...(options.isWarm ? ['warm'] : []),
      ...(options.isWarm && options.browser
        ? [JSON.stringify({ args: browserArgs, folder: earlyFolderOf(sandbox.directory) })]
        : []),
    ],
    environment: {
      LANG: 'C.UTF-8',
      TZ: 'UTC',
      PWTEST_CACHE_DIR: join(sandbox.directory, privateFolder, 'cache'),
      ...browserVariables(sandbox.directory),
      ...options.trust?.environment,
    },
    limits,
    isOwnUntilInput: true,
    onOutput: (stream, chunk) => listener?.onOutput(stream, chunk),
    onEvent: (line) => {
      if (listener) listener.onEvent(line);
      else if (line.includes('"event":"loaded"')) options.onLoaded?.();
    },
  });
  // If a process ends before it has read its job, its end is reported anyway.
  process.input.on('error', () => undefined);
  return {
    runtime,
    sandbox,
    hasBrowser: options.browser !== undefined,
    process,
    listen: (next) => {
      listener = next;
    },
  };
}

/** Where Playwright looks for browsers. It reads that while it loads. */
export function browserVariables(directory: string): Record<string, string> {
  return {
    PLAYWRIGHT_BROWSERS_PATH: join(directory, browsersFolder),
    PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD: '1',
  };
}

/** Browsers that a script opens. */
export interface OpenedBrowsers {
  /** Their names in Playwright; the first is for tests that choose none. */
  readonly names: readonly string[];
  /** Those besides Chromium. */
  readonly others: readonly OtherBrowser[];
}

/** Gives the script of a process access to browsers; by default to Chromium alone. */
export async function allowBrowsers(
  { sandbox, hasBrowser }: ScriptProcess,
  browser: BrowserLinks,
  trust: ScriptTrust | undefined,
  opened?: OpenedBrowsers,
): Promise<void> {
  if (!hasBrowser) await placeBrowsers(sandbox, browser, trust, opened);
}

async function placeBrowsers(
  sandbox: Sandbox,
  browser: BrowserLinks,
  trust: ScriptTrust | undefined,
  { names, others }: OpenedBrowsers = { names: ['chromium'], others: [] },
): Promise<void> {
  const isWithChromium = names.includes('chromium');
  if (isWithChromium && others.length === 0) await sandbox.link(browsersFolder, browser.directory);
  else {
    for (const [name, target] of await linksFor(browser, isWithChromium, others))
      await sandbox.link(join(browsersFolder, name), target);
  }
  if (trust) await placeBrowserTrust(sandbox, trust);
}

/** Converts a proxy's address for Playwright. */
export function proxyOf(proxyUrl: string | null) {
  const url = proxyUrl === null ? null : URL.parse(proxyUrl);
  if (!url) return undefined;
  // With both schemes the proxy resolves names, but Playwright only knows socks5.
  const server = `${url.protocol.replace('socks5h', 'socks5')}//${url.host}`;
  if (url.username === '') return { server };
  return { server, username: decodeURIComponent(url.username), password: decodeURIComponent(url.password) };
}

/**
 * Whether Node or Playwright reads one of these variables while they load: a script with such a variable cannot use a
 * warm process.
 */
export function isReadAtStart(variables: Readonly<Record<string, string>>): boolean {
  return Object.keys(variables).some((name) =>
    /^(?:NODE_|PW|PLAYWRIGHT_|DEBUG|TZ$|LANG$|LC_|LD_|FORCE_COLOR$|NO_COLOR$|UV_|SSL_CERT_|.*_proxy$)/i.test(
      name,
    ),
  );
}
