import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { hasNamespaces, needsRoot, type SandboxMechanism } from '../mechanism.ts';
import { cookieName, systemProgram } from './launch.ts';
import {
  descendantsOf,
  hasEnvironmentEntry,
  listProcesses,
  type ProcessEntry,
} from './measures/process-usage.ts';

/**
 * How long a process tree may take to die before its slot is abandoned. The kernel needs milliseconds; with a hanging
 * disk, longer.
 */
const deathMs = 5000;
const promptMs = 150;

/** Finds the processes of one slot, and ends them. */
export class SlotProcesses {
  readonly #mechanism: SandboxMechanism;
  readonly #uid: number | undefined;
  readonly #cookie: string;

  constructor(mechanism: SandboxMechanism, uid: number | undefined, cookie: string) {
    this.#mechanism = mechanism;
    this.#uid = uid;
    this.#cookie = cookie;
  }

  /** Processes that a program started; without the chain that launched it, if they can be distinguished. */
  ofProgram(leaderPid: number | undefined, entries: readonly ProcessEntry[]): ProcessEntry[] {
    if (needsRoot(this.#mechanism)) return entries.filter((entry) => entry.uid === this.#uid);
    const below = leaderPid === undefined ? [] : descendantsOf(leaderPid, entries);
    if (this.#mechanism === 'user-namespaces') return below;
    const known = new Set([leaderPid, ...below.map((entry) => entry.pid)]);
    return entries.filter(
      (entry) =>
        known.has(entry.pid) ||
        (entry.uid === process.getuid?.() && hasEnvironmentEntry(entry.pid, `${cookieName}=${this.#cookie}`)),
    );
  }

  /**
   * Kills everything and resolves when it is dead.
   *
   * The first process of a namespace takes all others with it, and its parent ends when they are gone. With a user per
   * slot, one signal reaches all of them: no fork escapes it. Both are repeated until /proc shows nothing.
   *
   * @throws Error if a process outlives `deathMs`.
   */
  async end(leaderPid: number | undefined): Promise<void> {
    const startedMs = performance.now();
    const deadline = startedMs + deathMs;
    for (let pauseMs = 1; ; pauseMs = nextPauseMs(pauseMs, performance.now() - startedMs)) {
      const entries = listProcesses();
      const chain = leaderPid === undefined ? [] : descendantsOf(leaderPid, entries);
      const ofCode = this.ofProgram(leaderPid, entries);
      const isLeaderAlive = entries.some(
        (entry) => entry.pid === leaderPid && entry.parentPid === process.pid,
      );
      if (chain.length === 0 && ofCode.length === 0 && !isLeaderAlive) return;
      if (performance.now() > deadline) {
        const names = [...chain, ...ofCode].map((entry) => entry.pid).join(', ');
        throw new Error(`processes ${names} did not die in ${deathMs} ms`);
      }
      for (const { pid } of chain.length > 0 ? chain.filter((entry) => entry.parentPid === leaderPid) : []) {
        kill(pid);
      }
      if (chain.length === 0 && isLeaderAlive && leaderPid !== undefined) kill(leaderPid);
      const hasFirstProcess = hasNamespaces(this.#mechanism) && chain.length > 0;
      if (needsRoot(this.#mechanism) && ofCode.length > 0 && !hasFirstProcess) await this.#killUser();
      else if (this.#mechanism === 'none') for (const { pid } of ofCode) kill(pid);
      await delay(pauseMs);
    }
  }

  /** Sends one signal to every process of the user, as that user. */
  async #killUser(): Promise<void> {
    const identity = [`--reuid=${this.#uid}`, `--regid=${this.#uid}`, '--clear-groups', '--no-new-privs'];
    const killer = spawn(systemProgram('setpriv'), [...identity, '/bin/sh', '-c', 'kill -KILL -1'], {
      env: {},
      stdio: 'ignore',
    });
    // If the host cannot start it now, the next round tries again.
    await once(killer, 'exit').catch(() => undefined);
  }
}

/** Most trees die within `promptMs`, and a run waits for it: until then polls are frequent. */
function nextPauseMs(lastMs: number, elapsedMs: number): number {
  return Math.min(lastMs * 2, elapsedMs < promptMs ? 6 : 50);
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    return; // it has ended
  }
}
