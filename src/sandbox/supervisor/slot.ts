import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chown, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { toError } from '@picket/lib/errors.ts';
import { hasNamespaces, needsRoot, type SandboxMechanism } from '../mechanism.ts';
import type { Networks } from '../network/networks.ts';
import type { RunNetwork } from '../network/run-network.ts';
import type { SandboxEndReason } from '../sandbox.ts';
import { ControlGroup, type findControllers } from './control-group.ts';
import { type Launch, type LaunchPlan, launch } from './launch.ts';
import type { ProgramWatch } from './measures/program-watch.ts';
import type { ProgramRequest } from './message.ts';
import { RunningProgram, type SendChunk } from './program.ts';
import { SlotProcesses } from './slot-processes.ts';
import { sweepLeftovers, wipeFolder } from './wipe.ts';

/** A launch that waits for its program, with its control group. */
interface Prepared {
  readonly launch: Launch;
  readonly plan: LaunchPlan;
  readonly group: ControlGroup | undefined;
}

/**
 * A slot serves one run after the other. It is clean, with a prepared launch, while it is free. Its first program makes
 * it dirty, until `clean` has ended everything, wiped the folder and prepared both again.
 */
export class Slot {
  readonly index: number;
  readonly directory: string;
  readonly uid: number | undefined;
  readonly #mechanism: SandboxMechanism;
  readonly #privatePaths: readonly string[];
  readonly #controllers: ReturnType<typeof findControllers>;
  readonly #networks: Networks | undefined;
  readonly #watch: ProgramWatch;
  #network: RunNetwork | undefined;
  #cookie = randomUUID();
  #processes: SlotProcesses;
  #prepared: Prepared | undefined;
  #program: RunningProgram | undefined;
  #launchCount = 0;
  /** Serialises cleaning and ending: an end during a cleaning would leave a fresh folder behind. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(parts: {
    readonly index: number;
    readonly directory: string;
    readonly uid: number | undefined;
    readonly mechanism: SandboxMechanism;
    readonly privatePaths: readonly string[];
    readonly controllers: ReturnType<typeof findControllers>;
    /** Creates networks; undefined if sandboxes use the host's. */
    readonly networks: Networks | undefined;
    readonly watch: ProgramWatch;
  }) {
    this.index = parts.index;
    this.directory = parts.directory;
    this.uid = needsRoot(parts.mechanism) ? parts.uid : undefined;
    this.#mechanism = parts.mechanism;
    this.#privatePaths = parts.privatePaths;
    this.#controllers = parts.controllers;
    this.#networks = parts.networks;
    this.#watch = parts.watch;
    this.#processes = new SlotProcesses(this.#mechanism, this.uid, this.#cookie);
  }

  get program(): RunningProgram | undefined {
    return this.#program;
  }

  /** @throws errors of `fs` and `spawn` if the host cannot start processes now. */
  start(request: ProgramRequest, send: SendChunk): RunningProgram {
    if (this.#program) throw new Error('a program runs in this sandbox already');
    const isAlive =
      this.#prepared?.launch.child.exitCode === null && this.#prepared.launch.child.signalCode === null;
    const { launch: prepared, plan, group } = this.#prepared && isAlive ? this.#prepared : this.#prepare();
    this.#prepared = undefined;
    const program = new RunningProgram({
      launch: prepared,
      plan,
      request,
      processes: this.#processes,
      group,
      refusals: () => this.#network?.refusals ?? [],
      watch: this.#watch,
      send,
    });
    this.#program = program;
    void program.ended.then(async () => {
      this.#program = undefined;
      await group?.remove();
    });
    return program;
  }

  /** Opens a port of the host, regardless of the egress policy, until the next `clean`. */
  openTestPort(port: number): void {
    this.#network?.openTestPort(port);
  }

  kill(reason: SandboxEndReason): void {
    this.#program?.kill(reason);
  }

  /** Ends everything, wipes the folder and prepares the slot for the next run. @throws Error if something is left. */
  async clean(): Promise<void> {
    await this.#inTurn(() => this.#clean());
  }

  async #clean(): Promise<void> {
    await this.#end();
    this.#cookie = randomUUID();
    this.#processes = new SlotProcesses(this.#mechanism, this.uid, this.#cookie);
    await mkdir(this.directory, { mode: 0o700 });
    await mkdir(join(this.directory, '.tmp'), { mode: 0o700 });
    if (this.uid !== undefined) {
      await chown(join(this.directory, '.tmp'), this.uid, this.uid);
      await chown(this.directory, this.uid, this.uid);
    }
    this.#network = await this.#networks?.make(this.directory);
    this.#prepared = this.#prepare();
    this.#prepared.launch.child.once('error', () => undefined); // retried and reported when a program is started
  }

  /** Ends everything and removes the folder. @throws Error if something is left. */
  async end(): Promise<void> {
    await this.#inTurn(() => this.#end());
  }

  async #end(): Promise<void> {
    const prepared = this.#prepared;
    this.#prepared = undefined;
    this.#program?.kill('killed');
    await this.#program?.ended;
    if (prepared) {
      const { child } = prepared.launch;
      const isAlive = child.pid !== undefined && child.exitCode === null && child.signalCode === null;
      const exited = isAlive ? once(child, 'exit') : undefined;
      await this.#processes.end(child.pid);
      await exited;
      await prepared.group?.remove();
    }
    await this.#processes.end(undefined);
    if (this.#network) this.#networks?.close(this.#network);
    this.#network = undefined;
    await wipeFolder(this.directory);
    if (this.uid !== undefined && !hasNamespaces(this.#mechanism)) await sweepLeftovers(this.uid);
  }

  async #inTurn(act: () => Promise<void>): Promise<void> {
    const done = this.#turn.then(act);
    this.#turn = done.catch(() => undefined); // reported to the caller
    await done;
  }

  #prepare(): Prepared {
    this.#launchCount += 1;
    const name = `${this.index}-${this.#launchCount}`;
    const group = this.#controllers.size > 0 ? new ControlGroup(this.#controllers, name) : undefined;
    try {
      const plan: LaunchPlan = {
        mechanism: this.#mechanism,
        directory: this.directory,
        uid: this.uid,
        groupDoors: group?.doors ?? [],
        privatePaths: this.#privatePaths,
        cookie: this.#cookie,
        networkDescriptor: this.#network?.descriptor,
      };
      return { launch: launch(plan), plan, group };
    } catch (thrown) {
      void group?.remove();
      throw toError(thrown);
    }
  }
}
