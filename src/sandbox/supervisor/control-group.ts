import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readProcess } from './measures/process-usage.ts';

/** Resource usage of the processes in a group. undefined if the controller is not available. */
export interface GroupUsage {
  readonly peakMemoryBytes: number | undefined;
  /** Current memory, without the page cache, which can be reclaimed. */
  readonly heldMemoryBytes: number | undefined;
  readonly cpuMs: number | undefined;
  /** The OOM killer ended a process of the group. */
  readonly isOutOfMemory: boolean;
  /** A process or thread was refused because the group is full. */
  readonly isFull: boolean;
}

type Controller = 'memory' | 'pids' | 'cpuacct';
const wantedControllers: readonly Controller[] = ['memory', 'pids', 'cpuacct'];
const namePrefix = 'picket-';

/** The control groups (version 1) below which this process may create groups of its own, by controller. */
export function findControllers(): ReadonlyMap<Controller, string> {
  const found = new Map<Controller, string>();
  for (const controller of wantedControllers) {
    const parent = controllerDirectory(controller);
    if (parent && isUsable(parent)) found.set(controller, parent);
  }
  return found;
}

/** Where the group of this process is mounted for a controller, if at all. */
function controllerDirectory(controller: Controller): string | undefined {
  const own = readLines('/proc/self/cgroup')
    .map((line) => line.split(':'))
    .find(([, names]) => names?.split(',').includes(controller))?.[2];
  if (own === undefined) return undefined;
  for (const line of readLines('/proc/self/mountinfo')) {
    const [mount, source] = line.split(' - ');
    const [, , , root = '/', place = ''] = (mount ?? '').split(' ');
    const [type, , options = ''] = (source ?? '').split(' ');
    if (type !== 'cgroup' || !options.split(',').includes(controller)) continue;
    const below = root === '/' ? own : own.startsWith(root) ? own.slice(root.length) : '/';
    return join(place, below);
  }
  return undefined;
}

/** Creates and removes a group, which a read-only mount or missing permissions would refuse. */
function isUsable(parent: string): boolean {
  const trial = join(parent, `${namePrefix}${process.pid}-trial`);
  try {
    mkdirSync(trial);
    rmdirSync(trial);
    return true;
  } catch {
    return false; // read-only, or no permission to create groups
  }
}

/** Removes groups left by a dead agent, once their processes have ended. */
export async function removeStaleGroups(controllers: ReadonlyMap<Controller, string>): Promise<void> {
  const directories = [...controllers.values()].flatMap((parent) =>
    readdirSync(parent)
      .filter((name) => name.startsWith(namePrefix))
      // Groups of running agents may be empty, too, before a process joins.
      .filter((name) => !readProcess(Number.parseInt(name.slice(namePrefix.length), 10)))
      .map((name) => join(parent, name)),
  );
  await Promise.all(directories.map(removeEmptied));
}

/** A group of processes with its own limits, one per launch. */
export class ControlGroup {
  readonly #directories: ReadonlyMap<Controller, string>;
  #cpuMsBefore = 0;

  /** @throws errors of `fs` if it cannot be created. */
  constructor(controllers: ReadonlyMap<Controller, string>, name: string) {
    const directories = new Map<Controller, string>();
    for (const [controller, parent] of controllers) {
      const directory = join(parent, `${namePrefix}${process.pid}-${name}`);
      mkdirSync(directory, { recursive: true });
      directories.set(controller, directory);
    }
    this.#directories = directories;
  }

  /** Files to which a process writes 0 to join. */
  get doors(): readonly string[] {
    return [...this.#directories.values()].map((directory) => join(directory, 'cgroup.procs'));
  }

  /** Sets the limits and starts counting. */
  limit(memoryBytes: number, taskCount: number): void {
    this.#write('memory', 'memory.limit_in_bytes', memoryBytes);
    // Absent on hosts without swap accounting; must not be below the memory limit.
    if (this.#read('memory', 'memory.memsw.limit_in_bytes') !== undefined) {
      this.#write('memory', 'memory.memsw.limit_in_bytes', memoryBytes);
    }
    this.#write('memory', 'memory.max_usage_in_bytes', 0);
    this.#write('pids', 'pids.max', taskCount);
    this.#cpuMsBefore = this.#cpuMs() ?? 0;
  }

  usage(): GroupUsage {
    const peak = this.#read('memory', 'memory.max_usage_in_bytes');
    const used = this.#read('memory', 'memory.usage_in_bytes');
    const cache = /^total_inactive_file (\d+)$/m.exec(this.#read('memory', 'memory.stat') ?? '')?.[1];
    const cpuMs = this.#cpuMs();
    return {
      peakMemoryBytes: peak === undefined ? undefined : Number(peak),
      heldMemoryBytes: used === undefined ? undefined : Math.max(0, Number(used) - Number(cache ?? 0)),
      cpuMs: cpuMs === undefined ? undefined : cpuMs - this.#cpuMsBefore,
      isOutOfMemory: /^oom_kill [1-9]/m.test(this.#read('memory', 'memory.oom_control') ?? ''),
      isFull: /^max [1-9]/m.test(this.#read('pids', 'pids.events') ?? ''),
    };
  }

  /** Removes the group once its last process has ended. A remaining group is removed at the next start. */
  async remove(): Promise<void> {
    await Promise.all([...this.#directories.values()].map(removeEmptied));
  }

  #cpuMs(): number | undefined {
    const nanoseconds = this.#read('cpuacct', 'cpuacct.usage');
    return nanoseconds === undefined ? undefined : Math.round(Number(nanoseconds) / 1_000_000);
  }

  #read(controller: Controller, file: string): string | undefined {
    const directory = this.#directories.get(controller);
    if (!directory) return undefined;
    try {
      return readFileSync(join(directory, file), 'latin1').trim();
    } catch {
      return undefined; // this kernel does not have the file
    }
  }

  #write(controller: Controller, file: string, value: number): void {
    const directory = this.#directories.get(controller);
    if (directory) writeFileSync(join(directory, file), String(value));
  }
}

/** Removes a group; a group with live processes remains. */
async function removeEmptied(directory: string): Promise<void> {
  for (let attempt = 0; attempt < 20; attempt += 1) {
    try {
      rmdirSync(directory);
      return;
    } catch {
      await delay(5); // zombies still count
    }
  }
}

function readLines(path: string): string[] {
  try {
    return readFileSync(path, 'latin1').trim().split('\n');
  } catch {
    return []; // no such file: no control groups
  }
}
