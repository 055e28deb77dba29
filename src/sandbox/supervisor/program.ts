import { constants } from 'node:os';
import type { Readable } from 'node:stream';
import { hasNamespaces, needsRoot } from '../mechanism.ts';
import type { SandboxEndReason, SandboxedEnd, SandboxLimits } from '../sandbox.ts';
import type { ControlGroup } from './control-group.ts';
import { type Launch, type LaunchPlan, startCommands, startedMark } from './launch.ts';
import { type HeldResources, heldResources } from './measures/held-resources.ts';
import { descendantsOf, listProcesses, type ProcessEntry } from './measures/process-usage.ts';
import type { ProgramWatch } from './measures/program-watch.ts';
import type { ProgramRequest, ProgramStream } from './message.ts';
import type { SlotProcesses } from './slot-processes.ts';
import { folderSizeBytes, sharedSizeBytes } from './wipe.ts';

/** Sends a chunk to the pool; calls back when it has left this process. */
export type SendChunk = (stream: ProgramStream, chunk: Buffer, onSent: () => void) => void;

/** More unsent output pauses the program. */
const maxUnsentBytes = 1024 * 1024;
const maxMessageBytes = 4096;
/** Measuring a folder and open files costs a process and time: at most a tenth of the time is spent on it. */
const minDiskPauseMs = 500;
const diskPauseFactor = 10;
/**
 * Limits for resources that the kernel counts per user, if programs share the agent's user: far more than browsers
 * need, and low enough that neither the agent nor other runs are ever refused any.
 */
const maxWatchCount = 20_000;
const maxInFlightCount = 1_000;
/** Room in the control group for the processes of the chain. */
const chainTasks = 4;

/**
 * One program from its start to its end. It is over when its first process has ended, when it is killed, or when it
 * reaches a limit, whichever is first; then everything it left behind is ended, all its output is sent, and `ended`
 * resolves.
 */
export class RunningProgram {
  readonly ended: Promise<SandboxedEnd>;
  readonly #launch: Launch;
  readonly #limits: SandboxLimits;
  readonly #plan: LaunchPlan;
  readonly #processes: SlotProcesses;
  readonly #group: ControlGroup | undefined;
  readonly #send: SendChunk;
  readonly #refusals: () => readonly string[];
  readonly #watch: ProgramWatch;
  #isWatched = false;
  #killReason: SandboxEndReason | undefined;
  #problem: string | undefined;
  #messages = '';
  #outputBytes = 0;
  #unsentBytes = 0;
  #peakMemoryBytes = 0;
  #cpuMs = 0;
  /** Memory in files, mapped or not. */
  #heldFileBytes = 0;
  #isOver = false;
  #killing: Promise<void> | undefined;
  #diskTimer: NodeJS.Timeout | undefined;

  constructor(parts: {
    readonly launch: Launch;
    readonly plan: LaunchPlan;
    readonly request: ProgramRequest;
    readonly processes: SlotProcesses;
    readonly group: ControlGroup | undefined;
    /** Messages about its refused connections. */
    readonly refusals: () => readonly string[];
    readonly watch: ProgramWatch;
    readonly send: SendChunk;
  }) {
    this.#launch = parts.launch;
    this.#plan = parts.plan;
    this.#limits = parts.request.limits;
    this.#processes = parts.processes;
    this.#group = parts.group;
    this.#send = parts.send;
    this.#refusals = parts.refusals;
    this.#watch = parts.watch;
    this.#group?.limit(this.#limits.memoryBytes, this.#limits.processCount + chainTasks);
    this.#read(this.#launch.stdout, 'stdout');
    this.#read(this.#launch.stderr, 'stderr');
    if (parts.request.hasEvents) this.#read(this.#launch.events, 'events');
    else this.#launch.events.resume();
    this.#launch.messages.on('data', (chunk: Buffer) => {
      if (this.#messages.length < maxMessageBytes) this.#messages += chunk.toString('utf8');
    });
    this.ended = this.#live();
    if (!parts.request.isOwnUntilInput) this.#beginWatch();
    this.#launch.commands.end(startCommands(parts.request, this.#plan));
  }

  get pid(): number | undefined {
    return this.#launch.child.pid;
  }

  /** Writes to its standard input; calls back when it has taken the chunk. */
  write(chunk: Uint8Array, onTaken: () => void): void {
    if (!this.#isWatched && !this.#isOver) {
      this.#beginWatch();
      this.measure(listProcesses); // what it holds already, even if it ends before the next round
    }
    this.#launch.input.write(chunk, () => onTaken());
  }

  endInput(): void {
    this.#launch.input.end();
  }

  interrupt(): void {
    if (this.#isOver || this.pid === undefined || !this.#hasStarted) return;
    // Not the whole process group: it includes the chain, which would take the signal as its own end. In namespaces the
    // program is the first child of the first process.
    const [first] = hasNamespaces(this.#plan.mechanism) ? descendantsOf(this.pid, listProcesses()) : [];
    const program = first ? descendantsOf(first.pid, listProcesses())[0]?.pid : this.pid;
    if (program === undefined) return;
    try {
      process.kill(program, 'SIGINT');
    } catch {
      return; // it is gone
    }
  }

  kill(reason: SandboxEndReason): void {
    if (this.#isOver || this.#killReason) return;
    this.#killReason = reason;
    this.#killing = this.#processes.end(this.pid).catch((thrown: Error) => {
      this.#problem = thrown.message;
    });
  }

  /**
   * Compares its usage with its limits: `ProgramWatch` calls this a few times a second. The list of processes is only
   * used for resources without a control group.
   */
  measure(list: () => readonly ProcessEntry[]): void {
    const usage = this.#group?.usage();
    let memoryBytes = usage?.heldMemoryBytes;
    let cpuMs = usage?.cpuMs;
    let isFull = usage?.isFull ?? false;
    if (!usage || memoryBytes === undefined || cpuMs === undefined) {
      const own = this.#processes.ofProgram(this.pid, list());
      const sum = (of: (entry: ProcessEntry) => number) => own.reduce((total, entry) => total + of(entry), 0);
      memoryBytes ??=
        sum((entry) => entry.anonymousBytes) +
        Math.max(
          sum((entry) => entry.sharedBytes),
          this.#heldFileBytes,
        );
      cpuMs ??= sum((entry) => entry.cpuMs);
      isFull ||= sum((entry) => entry.threadCount) >= this.#limits.processCount;
      if (memoryBytes > this.#limits.memoryBytes) this.kill('memory');
    }
    this.#peakMemoryBytes = Math.max(this.#peakMemoryBytes, memoryBytes);
    this.#cpuMs = Math.max(this.#cpuMs, cpuMs);
    if (usage?.isOutOfMemory) this.kill('memory');
    if (isFull) this.kill('processes');
    if (this.#cpuMs > this.#limits.cpuMs) this.kill('cpu');
  }

  get #hasStarted(): boolean {
    return this.#messages.startsWith(startedMark);
  }

  #beginWatch(): void {
    this.#isWatched = true;
    this.#watch.add(this);
    this.#watchDisk(minDiskPauseMs);
  }

  async #live(): Promise<SandboxedEnd> {
    const wall = setTimeout(() => this.kill('wall'), this.#limits.wallMs);
    const { child } = this.#launch;
    const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
    const [code, signal, failure] = await new Promise<[number | null, NodeJS.Signals | null, Error?]>(
      (resolve) => {
        child.once('exit', (exitCode, exitSignal) => resolve([exitCode, exitSignal]));
        child.once('error', (error) => resolve([null, null, error]));
      },
    );
    clearTimeout(wall);
    clearTimeout(this.#diskTimer);
    this.#watch.remove(this);
    this.#countLast();
    this.#isOver = true;
    await this.#killing;
    // Without namespaces it may have left a daemon behind.
    await this.#processes.end(undefined).catch((thrown: Error) => {
      this.#problem = thrown.message;
    });
    if (!failure) await closed;
    return this.#describe(code, signal, failure);
  }

  #countLast(): void {
    const usage = this.#group?.usage();
    // For a program that ended before the first poll: the kernel's own peak, which includes cached files.
    if (this.#peakMemoryBytes === 0 || usage?.isOutOfMemory) {
      this.#peakMemoryBytes = usage?.peakMemoryBytes ?? this.#peakMemoryBytes;
    }
    this.#cpuMs = Math.max(this.#cpuMs, usage?.cpuMs ?? 0);
    // It may have reached a limit between two polls.
    if (this.#killReason) return;
    if (usage?.isOutOfMemory) this.#killReason = 'memory';
    else if (usage?.isFull) this.#killReason = 'processes';
  }

  #describe(code: number | null, signal: NodeJS.Signals | null, failure: Error | undefined): SandboxedEnd {
    const said = this.#messages.slice(this.#hasStarted ? startedMark.length : 0).trim();
    const neverRan = !this.#hasStarted;
    const problem =
      this.#problem ?? failure?.message ?? (neverRan ? said || 'the launch ended early' : undefined);
    const usage = {
      peakMemoryBytes: this.#peakMemoryBytes,
      cpuMs: this.#cpuMs,
      refusedConnections: this.#refusals(),
    };
    if (this.#killReason)
      return { reason: this.#killReason, exitCode: null, signal: 'SIGKILL', problem, ...usage };
    if (neverRan) return { reason: 'notStarted', exitCode: null, signal: null, problem, ...usage };
    // The first process of a namespace exits on behalf of the program, as a shell does: 128 + the signal.
    const relayed = hasNamespaces(this.#plan.mechanism) && code !== null ? signalName(code - 128) : undefined;
    if (relayed) return { reason: 'exited', exitCode: null, signal: relayed, problem, ...usage };
    return { reason: 'exited', exitCode: code, signal, problem, ...usage };
  }

  #read(stream: Readable, name: ProgramStream): void {
    stream.on('data', (chunk: Buffer) => {
      const left = this.#limits.outputBytes - this.#outputBytes;
      if (chunk.length > left) this.kill('output');
      if (left <= 0) return;
      this.#outputBytes += chunk.length;
      const taken = chunk.length > left ? chunk.subarray(0, left) : chunk;
      this.#unsentBytes += taken.length;
      this.#throttle();
      this.#send(name, taken, () => {
        this.#unsentBytes -= taken.length;
        this.#throttle();
      });
    });
  }

  /** A busy pool pauses the program, as a full pipe would. After a kill at most one buffer is left. */
  #throttle(): void {
    const { stdout, stderr, events } = this.#launch;
    for (const stream of [stdout, stderr, events]) {
      if (this.#unsentBytes > maxUnsentBytes) stream.pause();
      else if (stream.isPaused()) stream.resume();
    }
  }

  /** Bytes written by the program: its folder, and without namespaces its files in world-writable folders. */
  async #sizeBytes(): Promise<number | undefined> {
    const { directory, mechanism, uid } = this.#plan;
    const ownBytes = await folderSizeBytes(directory);
    if (ownBytes === undefined || uid === undefined || hasNamespaces(mechanism)) return ownBytes;
    return ownBytes + (await sharedSizeBytes(uid));
  }

  #takesFromOthers({ watchCount, inFlightCount }: HeldResources): boolean {
    if (needsRoot(this.#plan.mechanism)) return false;
    return watchCount > maxWatchCount || inFlightCount > maxInFlightCount;
  }

  #watchDisk(pauseMs: number): void {
    this.#diskTimer = setTimeout(async () => {
      const startedAt = performance.now();
      const sizeBytes = await this.#sizeBytes();
      if (this.#isOver) return;
      const own = this.#processes.ofProgram(this.pid, listProcesses());
      const held = heldResources(own.map(({ pid }) => pid));
      this.#heldFileBytes = held.memoryBytes;
      if (sizeBytes === undefined || sizeBytes + held.unlinkedBytes > this.#limits.diskBytes)
        this.kill('disk');
      else if (this.#takesFromOthers(held)) this.kill('descriptors');
      else this.#watchDisk(Math.max(minDiskPauseMs, (performance.now() - startedAt) * diskPauseFactor));
    }, pauseMs);
  }
}

function signalName(number: number): NodeJS.Signals | undefined {
  const entries = Object.entries(constants.signals) as [NodeJS.Signals, number][];
  return entries.find(([, value]) => value === number)?.[0];
}
