import { join } from 'node:path';
import type { BrowserFarm } from '../browsers/browser-farm.ts';
import { programDirectory } from '../program-directory.ts';
import type { Runtime } from '../runtimes/runtimes.ts';
import type { Sandbox, SandboxedProcess, SandboxLimits } from '../sandbox.ts';
import { placeBrowserTrust, type ScriptTrust } from '../trust/script-trust.ts';

/** What a script needs from the moment its process starts; the script itself comes later. */
export interface ScriptPlace {
  readonly runtime: Runtime;
  /** The browsers the script may open; absent for scripts without one. */
  readonly browser: BrowserFarm | undefined;
}

/** Where what a process says goes. */
export interface ScriptListener {
  readonly onOutput: (stream: 'stdout' | 'stderr', chunk: Buffer) => void;
  readonly onEvent: (line: string) => void;
}

/** A process in a sandbox of its own that waits to be told which script to run. It is used once. */
export interface WaitingScript extends ScriptPlace {
  readonly sandbox: Sandbox;
  readonly process: SandboxedProcess;
  /** From now on; what came before was no script's. */
  listen(listener: ScriptListener): void;
}

/** What only the agent asks about lies here, in the run's folder. */
export const privateFolder = '.picket';
/** The file of notes; see events.ts. */
export const notesFile = join(privateFolder, 'notes.ndjson');

/** Memory per run (check model 1.8). */
export const scriptMemoryBytes = Math.round(2.7 * 1024 ** 3);
/** The longest any script may take, in milliseconds (check model 1.8), and how long a process may wait for its script. */
const maxScriptMs = 240_000;
export const maxWaitMs = 15 * 60_000;

/** What browsers are started with beside what Playwright gives them. */
export const browserArgs: readonly string[] = ['--disable-gpu', '--disable-quic'];

/** The time limit here is the last line: whoever runs a script ends it by the limit of its own. */
const limits: SandboxLimits = {
  memoryBytes: scriptMemoryBytes,
  wallMs: maxWaitMs + maxScriptMs,
  // A browser's processes may be busy on several cores.
  cpuMs: maxScriptMs * 4,
  processCount: 512,
  outputBytes: 20 * 1024 * 1024,
  diskBytes: 500 * 1024 * 1024,
};

/** How a process is started. */
export interface LaunchOptions {
  /** The executable of Node. */
  readonly nodePath: string;
  /** Has it load what it can before it knows its script: for one that waits. */
  readonly isAhead: boolean;
  /** Authorities that it trusts beside the usual ones. */
  readonly trust?: ScriptTrust | undefined;
  /** Called once a process started ahead has loaded what it could. */
  readonly onLoaded?: (() => void) | undefined;
}

/**
 * Starts the process of a script that is not known yet, in a fresh sandbox.
 *
 * What Playwright reads while it loads has to be in the environment from the start.
 *
 * @throws SandboxUnavailable when no process can be started.
 */
export async function launchScript(
  sandbox: Sandbox,
  place: ScriptPlace,
  options: LaunchOptions,
): Promise<WaitingScript> {
  const { runtime, browser } = place;
  const { trust } = options;
  await sandbox.write(notesFile, '');
  await sandbox.link('node_modules', runtime.modulesDirectory);
  if (browser && trust) await placeBrowserTrust(sandbox, trust);
  let listener: ScriptListener | undefined;
  const process = sandbox.start({
    path: options.nodePath,
    args: [
      join(programDirectory, 'launch.cjs'),
      runtime.modulesDirectory,
      ...(options.isAhead ? ['ahead'] : []),
    ],
    environment: {
      LANG: 'C.UTF-8',
      TZ: 'UTC',
      PWTEST_CACHE_DIR: join(sandbox.directory, privateFolder, 'cache'),
      ...browserVariables(sandbox.directory, browser),
      ...trust?.environment,
    },
    limits,
    onOutput: (stream, chunk) => listener?.onOutput(stream, chunk),
    onEvent: (line) => {
      if (listener) listener.onEvent(line);
      else if (line.includes('"event":"loaded"')) options.onLoaded?.();
    },
  });
  // A process that ends before it has read its job shows in how it ended.
  process.input.on('error', () => undefined);
  return {
    ...place,
    sandbox,
    process,
    listen: (next) => {
      listener = next;
    },
  };
}

/** Where Playwright looks for browsers; a folder that is not there for scripts that may open none. */
export function browserVariables(
  directory: string,
  browser: BrowserFarm | undefined,
): Record<string, string> {
  return {
    PLAYWRIGHT_BROWSERS_PATH: browser?.directory ?? join(directory, privateFolder, 'no-browsers'),
    PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD: '1',
  };
}

/**
 * Whether Node or Playwright would read one of these variables while they load: a process that has loaded them already
 * is of no use to such a script.
 */
export function isReadAtStart(variables: Readonly<Record<string, string>>): boolean {
  return Object.keys(variables).some((name) =>
    /^(?:NODE_|PW|PLAYWRIGHT_|DEBUG|TZ$|LANG$|LC_|LD_|FORCE_COLOR$|NO_COLOR$|UV_|SSL_CERT_|.*_proxy$)/i.test(
      name,
    ),
  );
}

/** Places with the same text can use each other's processes. */
export function kindOfPlace({ runtime, browser }: ScriptPlace): string {
  return `${runtime.id} ${browser ? 'browser' : ''}`;
}
