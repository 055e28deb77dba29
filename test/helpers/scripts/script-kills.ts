import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { LeasedRun } from '../../../src/protocol/agent/agent.ts';
import { processesWhere } from '../../system/sandbox/processes.ts';
import { leasedRun } from '../agent/fake-service/leased-run.ts';
import { Stage } from '../agent/stage.ts';
import { temporaryFolder } from '../service/service.ts';
import { runtimesDirectory } from './script-stage.ts';

/** Failure codes of a run whose browser was killed, while the script uses it or while it starts. */
const endsOfKills: ReadonlySet<string> = new Set(['SCRIPT_FAILED', 'BROWSER_MISSING']);

/** The killed process: the one that runs a script's tests, the browser's main process, or one that renders a page. */
export const victimKinds = ['worker', 'browser', 'renderer'] as const;
export type VictimKind = (typeof victimKinds)[number];

export interface KillFigures {
  readonly runs: number;
  readonly kills: Readonly<Record<VictimKind, number>>;
  /** Number of runs by result: `passed` or a failure code. */
  readonly ends: Readonly<Record<string, number>>;
  /** Messages of runs that neither passed nor failed as kills make them fail, for the message of a failed test. */
  readonly otherFailures: readonly string[];
  /**
   * Processes of finished runs, five seconds after the last result; idle processes that wait for a script do not count.
   */
  readonly strayProcesses: number;
  /** Folders of finished runs, in the sandboxes and in the artifact queue. */
  readonly leftFolders: number;
  /** Processes and folders that remain after the agent has ended on SIGTERM, idle ones included. */
  readonly leftAfterStop: number;
}

const imports = "import { test, expect } from '@playwright/test';\n";
/** Long enough to be hit by a kill, and each a little different. */
const scripts = {
  MULTI_STEP: `${imports}test('short', async ({ request }) => {
    expect((await request.get(process.env.TARGET)).status()).toBe(200);
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 300));
  });`,
  BROWSER: `${imports}test('page', async ({ page }) => {
    await page.goto(process.env.TARGET);
    await page.waitForTimeout(Math.random() * 300);
    expect(await page.textContent('body')).toBe('ok');
  });`,
} as const;
/** The file that a sandbox contains from the moment it is assigned a script. */
const scriptFile = 'script.ts';
const settleMs = 5000;
/** Maximum number of runs that wait or run at a time. */
const maxWaiting = 4;
const lastResultsMs = 120_000;

/**
 * Runs scripts through a real agent, every second one in a browser, kills their processes at random (`kill -9`), and
 * counts what remains five seconds after the last result.
 *
 * @param options.killCount maximum; every kill waits for the next victim of its kind.
 * @param options.hasBrowser without one, only multi-step scripts run, and only workers are killed.
 */
export async function runUnderKills(options: {
  readonly runCount: number;
  readonly killCount: number;
  readonly hasBrowser: boolean;
  /** After this time no more runs are offered, in milliseconds. */
  readonly durationMs: number;
  readonly progress?: ((text: string) => void) | undefined;
}): Promise<KillFigures> {
  const { runCount, killCount, hasBrowser } = options;
  const sandboxes = temporaryFolder();
  const spool = temporaryFolder();
  const view = new SandboxView(sandboxes.path);
  await using stage = await Stage.open();
  try {
    const agent = stage.startAgent({
      RUNTIMES_DIR: runtimesDirectory,
      SCRIPTS_DIR: sandboxes.path,
      SPOOL_DIR: spool.path,
      JOB_CONCURRENCY: '2',
      SHUTDOWN_GRACE_SECONDS: '1',
      LOG_LEVEL: 'warn',
      ALLOW_UNISOLATED_SCRIPTS: 'true',
      ...(process.env.CHROMIUM_PATH ? { CHROMIUM_PATH: process.env.CHROMIUM_PATH } : {}),
    });
    await stage.service.waitFor(
      'script sandbox ready',
      () =>
        stage.service.calls.some(({ body }) =>
          (body as { checkTypes?: string[] } | undefined)?.checkTypes?.includes('MULTI_STEP'),
        ),
      90_000,
    );
    const runs: LeasedRun[] = [];
    const offer = () => {
      const checkType = hasBrowser && runs.length % 2 === 0 ? 'BROWSER' : 'MULTI_STEP';
      const spec = { script: scripts[checkType] };
      const check = { id: crypto.randomUUID(), name: 'Test', checkType, spec };
      const run = leasedRun('', { check, variables: { TARGET: stage.target.url() } });
      runs.push(run);
      stage.service.enqueue(run);
    };
    const done = () => stage.service.results.length;
    const kills: Record<VictimKind, number> = { worker: 0, browser: 0, renderer: 0 };
    const kinds: readonly VictimKind[] = hasBrowser ? victimKinds : ['worker'];
    const killing = new AbortController();
    const killer = (async () => {
      for (let count = 0; count < killCount && !killing.signal.aborted; count += 1) {
        // Kills are spread over all runs.
        const from = Math.floor((count * runCount) / (killCount + 1));
        while (!killing.signal.aborted && done() < from) await delay(50);
        await delay(Math.random() * 300);
        const kind = kinds[count % kinds.length] ?? 'worker';
        while (!killing.signal.aborted && !killOne(kind, view)) await delay(20);
        if (!killing.signal.aborted) kills[kind] += 1;
        options.progress?.(`${done()} of ${runCount} runs, ${count + 1} kills`);
      }
    })();
    const endsAtMs = performance.now() + options.durationMs;
    try {
      while (runs.length < runCount && performance.now() < endsAtMs) {
        if (runs.length - done() < maxWaiting) offer();
        else await delay(20);
      }
      await stage.service.waitFor('the last results', () => done() === runs.length, lastResultsMs);
    } finally {
      killing.abort();
      await killer;
    }
    await delay(settleMs);
    const ends: Record<string, number> = {};
    const otherFailures: string[] = [];
    for (const { runId } of runs) {
      const failure = stage.service.resultOf(runId)?.failure;
      const code = failure?.code ?? 'passed';
      ends[code] = (ends[code] ?? 0) + 1;
      if (failure && !endsOfKills.has(code)) otherFailures.push(`${code}: ${failure.message}`);
    }
    const used = usedSlots(sandboxes.path);
    const strayProcesses = view.processes().filter(({ home }) => isOver(home)).length;
    const leftFolders = used.length + runFolders(spool.path).length;
    agent.signal('SIGTERM');
    await agent.exited;
    const leftAfterStop = view.processes().length + slotsOf(sandboxes.path).length;
    return { runs: runs.length, kills, ends, otherFailures, strayProcesses, leftFolders, leftAfterStop };
  } finally {
    sandboxes.remove();
    spool.remove();
  }
}

interface ScriptProcess {
  readonly pid: number;
  readonly commandLine: string;
  /** The folder of its sandbox. */
  readonly home: string;
}

/**
 * The processes of an agent's sandboxes, as seen from outside. A process belongs to a sandbox if its home is the
 * sandbox's, or if its user is: a browser's processes overwrite the environment that others see.
 */
class SandboxView {
  readonly #path: string;
  /** All sandbox folders seen so far, by user. */
  readonly #homes = new Map<number, string>();

  constructor(path: string) {
    this.#path = path;
  }

  processes(): ScriptProcess[] {
    const ownUser = process.getuid?.() ?? 0;
    for (const name of slotsOf(this.#path)) {
      const home = join(this.#path, '0/sandboxes', name);
      const user = statSync(home, { throwIfNoEntry: false })?.uid;
      if (user !== undefined && user !== ownUser) this.#homes.set(user, home);
    }
    const found: ScriptProcess[] = [];
    processesWhere((status, pid) => {
      const [, own] = new RegExp(`(?:^|\\0)HOME=(${this.#path}[^\\0]*)`).exec(read(pid, 'environ')) ?? [];
      const home = own ?? this.#homes.get(Number(/^Uid:\s+(\d+)/m.exec(status)?.[1]));
      if (home !== undefined) found.push({ pid, commandLine: read(pid, 'cmdline'), home });
      return false;
    });
    return found;
  }
}

function killOne(kind: VictimKind, view: SandboxView): boolean {
  const victims = view.processes().filter(({ commandLine }) => kindOf(commandLine) === kind);
  const victim = victims[Math.floor(Math.random() * victims.length)];
  if (!victim) return false;
  try {
    process.kill(victim.pid, 'SIGKILL');
    return true;
  } catch {
    return false; // it has ended meanwhile
  }
}

function kindOf(commandLine: string): VictimKind | undefined {
  if (commandLine.includes('--type=renderer')) return 'renderer';
  if (/chrom|headless.shell/i.test(commandLine))
    return commandLine.includes('--type=') ? undefined : 'browser';
  return /node|program/.test(commandLine) ? 'worker' : undefined;
}

/** Whether a sandbox is gone or has been assigned a script: the sandbox of an idle process has none. */
function isOver(home: string): boolean {
  const entries = entriesOf(home);
  return entries === undefined || entries.includes(scriptFile);
}

const slotsOf = (sandboxes: string) =>
  (entriesOf(join(sandboxes, '0/sandboxes')) ?? []).filter((name) => name.startsWith('slot-'));

const usedSlots = (sandboxes: string) =>
  slotsOf(sandboxes).filter((name) => entriesOf(join(sandboxes, '0/sandboxes', name))?.includes(scriptFile));

/** Artifact folders of runs; their names contain the run id. */
function runFolders(spool: string): string[] {
  return readdirSync(spool, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isDirectory() && /^[0-9a-f-]{36}\.\d+$/.test(basename(entry.name)))
    .map(({ name }) => name);
}

function entriesOf(folder: string): string[] | undefined {
  try {
    return readdirSync(folder);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw thrown;
  }
}

function read(pid: number, file: string): string {
  return readFileSync(`/proc/${pid}/${file}`, 'latin1');
}
