import { isAbsolute, normalize } from 'node:path';
import { toError } from '@picket/lib/errors.ts';
import { defaultEgressSettings, type EgressSettings } from '@picket/probes/egress/policy.ts';
import { isToBeHidden, type SandboxFacts, type SandboxMechanism } from '../mechanism.ts';
import { hideThisProcess } from '../network/kernel.ts';
import {
  type Sandbox,
  type SandboxedProcess,
  type SandboxedProgram,
  SandboxUnavailable,
} from '../sandbox.ts';
import type { SupervisorReport, SupervisorSettings } from '../supervisor/message.ts';
import { SupervisorLink } from '../supervisor/supervisor-link.ts';
import { RemoteProgram, toRequest } from './remote-program.ts';
import { UntrustedFolder } from './untrusted-folder.ts';

export interface SandboxPoolOptions {
  /**
   * Absolute path of a folder for this pool alone; created if missing. Not below /tmp, which would cost scripts a /tmp
   * of their own.
   */
  readonly directory: string;
  /** Folders of other pools: those of dead agents are cleaned up, those of running ones are left alone. */
  readonly neighbours?: readonly string[] | undefined;
  /** Number of sandboxes. */
  readonly slotCount: number;
  /** As root: the first user id for slots; default 20000. Ids that have a name or are in use are skipped. */
  readonly firstUid?: number | undefined;
  /** Files and folders that the code must be able to read, such as runtimes; otherwise the self-test fails. */
  readonly readablePaths?: readonly string[] | undefined;
  /**
   * Files and folders that the code must not read: key files, the spool. They should exist, and their own permissions
   * should also protect them.
   */
  readonly privatePaths?: readonly string[] | undefined;
  /** The Node executable for scripts; defaults to this process's own. */
  readonly nodePath?: string | undefined;
  /** Accepts a host on which scripts are not isolated from the agent. */
  readonly isUnisolatedAllowed?: boolean | undefined;
  /** Destinations that programs may connect to; the default policy when absent. */
  readonly egress?: EgressSettings | undefined;
  /** Requires this mechanism instead of the strongest one that works. */
  readonly mechanism?: SandboxMechanism | undefined;
}

const defaultFirstUid = 20_000;

/**
 * Determines how this host can contain untrusted code and prepares the sandboxes.
 *
 * @throws SandboxUnavailable if nothing acceptable works; the message lists the attempts and a remedy.
 */
export async function openSandboxes(options: SandboxPoolOptions): Promise<SandboxPool> {
  if (process.platform !== 'linux') throw new SandboxUnavailable('scripts can only be contained on Linux');
  for (const path of [options.directory, ...(options.readablePaths ?? []), ...(options.privatePaths ?? [])]) {
    if (!isAbsolute(path)) throw new SandboxUnavailable(`${path} is not an absolute path`);
  }
  const pool = new SandboxPool({
    directory: normalize(options.directory).replace(/(?<=.)\/$/, ''),
    neighbours: options.neighbours ?? [],
    slotCount: options.slotCount,
    firstUid: options.firstUid ?? defaultFirstUid,
    nodePath: options.nodePath ?? process.execPath,
    readablePaths: options.readablePaths ?? [],
    privatePaths: options.privatePaths ?? [],
    isUnisolatedAllowed: options.isUnisolatedAllowed ?? false,
    mechanism: options.mechanism,
    egress: options.egress ?? defaultEgressSettings,
  });
  await pool.connect();
  return pool;
}

interface Waiting {
  readonly resolve: (sandbox: Sandbox) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * The sandboxes of one agent. A slot is free, in use, or being cleaned; one that could not be cleaned is never used
 * again. If the supervisor process dies, its programs are dead, or die when the next supervisor starts, which the next
 * `acquire` triggers.
 */
export class SandboxPool {
  readonly #settings: Omit<SupervisorSettings, 'secretHash'>;
  readonly #programs = new Map<number, RemoteProgram>();
  readonly #releases = new Map<number, (problem: string | undefined) => void>();
  readonly #free: number[] = [];
  readonly #waiting: Waiting[] = [];
  readonly #spoilt = new Map<number, string>();
  #link: SupervisorLink | undefined;
  #connecting: Promise<void> | undefined;
  #facts: SandboxFacts | undefined;
  #runCount = 0;
  #isClosed = false;

  constructor(settings: Omit<SupervisorSettings, 'secretHash'>) {
    this.#settings = settings;
  }

  /** How code is contained here. */
  get facts(): SandboxFacts {
    if (!this.#facts) throw new Error('the pool was never connected');
    const problems = [...this.#spoilt].map(([slot, problem]) => `slot ${slot} is out of use: ${problem}`);
    return { ...this.#facts, problems: [...this.#facts.problems, ...problems] };
  }

  get freeCount(): number {
    return this.#free.length;
  }

  /**
   * Acquires a sandbox for the caller, as soon as one is free.
   *
   * @throws SandboxUnavailable, or the signal's reason.
   */
  async acquire(signal: AbortSignal): Promise<Sandbox> {
    signal.throwIfAborted();
    await this.connect();
    signal.throwIfAborted();
    if (this.#spoilt.size === this.#settings.slotCount)
      throw new SandboxUnavailable(this.facts.problems.join('; '));
    return await new Promise<Sandbox>((resolve, reject) => {
      const waiting: Waiting = {
        resolve: (sandbox) => {
          signal.removeEventListener('abort', leave);
          resolve(sandbox);
        },
        reject,
      };
      const leave = () => {
        const index = this.#waiting.indexOf(waiting);
        if (index !== -1) this.#waiting.splice(index, 1);
        reject(signal.reason);
      };
      signal.addEventListener('abort', leave, { once: true });
      this.#waiting.push(waiting);
      this.#serve();
    });
  }

  /** Starts a supervisor unless one is running. @throws SandboxUnavailable */
  async connect(): Promise<void> {
    if (this.#isClosed) throw new SandboxUnavailable('the sandboxes are closed');
    if (this.#link) return;
    this.#connecting ??= this.#openLink().finally(() => {
      this.#connecting = undefined;
    });
    await this.#connecting;
  }

  /** Ends everything in all sandboxes and removes their folders. Nothing can be acquired afterwards. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { reject } of this.#waiting.splice(0))
      reject(new SandboxUnavailable('the sandboxes are closed'));
    await this.#connecting?.catch(() => undefined); // reported to the caller
    await this.#link?.close();
  }

  async #openLink(): Promise<void> {
    const link = await SupervisorLink.open(this.#settings, (report) => this.#handleReport(report));
    this.#link = link;
    this.#facts = link.facts;
    // The supervisor has already reported a failure.
    if (isToBeHidden(link.facts)) hideThisProcess();
    this.#spoilt.clear();
    this.#free.splice(0, Infinity, ...link.slots.keys());
    void link.lost.then((reason) => this.#loseLink(reason));
    if (this.#isClosed) await link.close();
    this.#serve();
  }

  #loseLink(reason: string): void {
    this.#link = undefined;
    this.#free.length = 0;
    const usage = { peakMemoryBytes: 0, cpuMs: 0 };
    const lost = [...this.#programs.values()];
    this.#programs.clear();
    for (const program of lost) {
      program.finish({ reason: 'killed', exitCode: null, signal: 'SIGKILL', problem: reason, ...usage });
    }
    for (const resolve of [...this.#releases.values()]) resolve(undefined);
    this.#releases.clear();
    if (this.#waiting.length === 0 || this.#isClosed) return;
    this.connect().catch((thrown: unknown) => {
      for (const { reject } of this.#waiting.splice(0)) reject(toError(thrown));
    });
  }

  #serve(): void {
    const link = this.#link;
    while (link && this.#waiting.length > 0) {
      const slot = this.#free.shift();
      if (slot === undefined) return;
      this.#waiting.shift()?.resolve(this.#sandbox(link, slot));
    }
  }

  #sandbox(link: SupervisorLink, slot: number): Sandbox {
    const place = link.slots[slot];
    if (!place) throw new Error(`there is no slot ${slot}`);
    const folder = new UntrustedFolder(place.directory, place.uid);
    let releasing: Promise<void> | undefined;
    const requireHeld = () => {
      if (releasing) throw new Error('this sandbox was released');
      if (this.#link !== link || !link.isConnected)
        throw new SandboxUnavailable('the sandbox supervisor ended');
    };
    return {
      hasOwnNetwork: link.facts.hasOwnNetwork,
      directory: place.directory,
      write: async (path, content, options) => {
        requireHeld();
        await folder.write(path, content, options);
      },
      link: async (path, target) => {
        requireHeld();
        await folder.link(path, target);
      },
      open: async (path) => {
        requireHeld();
        return await folder.open(path);
      },
      start: (program) => {
        requireHeld();
        return this.#start(link, slot, program);
      },
      release: () => {
        releasing ??= this.#release(link, slot);
        return releasing;
      },
    };
  }

  #start(link: SupervisorLink, slot: number, program: SandboxedProgram): SandboxedProcess {
    this.#runCount += 1;
    const run = this.#runCount;
    const remote = new RemoteProgram(run, program, (request) => link.send(request));
    this.#programs.set(run, remote);
    link.send({ kind: 'start', slot, run, program: toRequest(program) });
    return remote;
  }

  async #release(link: SupervisorLink, slot: number): Promise<void> {
    if (this.#link !== link) return; // the next supervisor cleans it at its start
    const problem = await new Promise<string | undefined>((resolve) => {
      this.#releases.set(slot, resolve);
      link.send({ kind: 'release', slot });
    });
    if (this.#link !== link) return;
    if (problem === undefined) this.#free.push(slot);
    else this.#spoilt.set(slot, problem);
    this.#serve();
  }

  #handleReport(report: SupervisorReport): void {
    switch (report.kind) {
      case 'output':
        this.#programs.get(report.run)?.receiveOutput(report.stream, report.chunk);
        return;
      case 'inputTaken':
        this.#programs.get(report.run)?.receiveInputAnswer();
        return;
      case 'ended': {
        const program = this.#programs.get(report.run);
        this.#programs.delete(report.run);
        program?.finish(report.end);
        return;
      }
      case 'released': {
        const resolve = this.#releases.get(report.slot);
        this.#releases.delete(report.slot);
        resolve?.(report.problem);
        return;
      }
      case 'opened':
      case 'refused':
        return; // reported where the supervisor was started
    }
  }
}
