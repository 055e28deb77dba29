import { networkInterfaces } from 'node:os';
import { extname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { EgressPolicy } from '@picket/probes/egress/policy.ts';
import { ownPortsFile } from '../sandbox.ts';
import { type Kernel, openKernel } from './kernel.ts';
import type { NetworkAnswer, NetworkOrder, NetworkParts } from './network-worker.ts';
import { RunNetwork } from './run-network.ts';

/** Creates the networks of sandboxes, and serves all of them. */
export class Networks {
  readonly #policy: EgressPolicy;
  readonly #kernel: Kernel = openKernel();
  readonly #open = new Set<RunNetwork>();
  readonly #maker = new NetworkMaker();
  /** Rung when the set of networks changes. */
  readonly #bell = this.#kernel.openBell();
  #isServing = false;

  /** @throws Error if the kernel cannot be queried. */
  constructor(policy: EgressPolicy) {
    this.#policy = policy;
    // The process waits for its threads when it ends, whatever ends it.
    process.once('exit', () => this.#kernel.ring(this.#bell));
  }

  /**
   * @param directory the folder of the sandbox.
   * @throws Error if this host cannot create networks; the message explains why.
   */
  async make(directory: string): Promise<RunNetwork> {
    const network = new RunNetwork({
      kernel: this.#kernel,
      parts: await this.#maker.make(),
      policy: this.#policy,
      ownPorts: join(directory, ownPortsFile),
    });
    this.#open.add(network);
    this.#kernel.ring(this.#bell);
    if (!this.#isServing) void this.#serve();
    return network;
  }

  close(network: RunNetwork): void {
    this.#open.delete(network);
    network.close();
    // The thread that waits keeps the network alive.
    this.#kernel.ring(this.#bell);
  }

  async #serve(): Promise<void> {
    this.#isServing = true;
    while (this.#open.size > 0) {
      await this.#kernel.wait([this.#bell, ...[...this.#open].map(({ queueDescriptor }) => queueDescriptor)]);
      this.#kernel.silence(this.#bell);
      for (const network of this.#open) network.serve();
    }
    this.#isServing = false;
  }
}

interface Waiting {
  readonly resolve: (parts: NetworkParts) => void;
  readonly reject: (reason: Error) => void;
}

/**
 * The single thread that creates networks: loading its modules costs several times as much as a network. It starts with
 * the first order, and again after it has ended.
 */
class NetworkMaker {
  readonly #waiting: Waiting[] = [];
  #worker: Worker | undefined;

  /** @throws Error if this host cannot create networks; the message explains why. */
  async make(): Promise<NetworkParts> {
    this.#worker ??= this.#start();
    const worker = this.#worker;
    return await new Promise<NetworkParts>((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      worker.postMessage({ hasIpv6: hasIpv6() } satisfies NetworkOrder);
    });
  }

  #start(): Worker {
    const worker = new Worker(new URL(`./network-worker${extname(import.meta.url)}`, import.meta.url));
    const fail = (error: Error) => {
      if (this.#worker !== worker) return;
      this.#worker = undefined;
      for (const { reject } of this.#waiting.splice(0)) reject(error);
    };
    worker.on('message', (answer: NetworkAnswer) => {
      const waiting = this.#waiting.shift();
      if ('parts' in answer) waiting?.resolve(answer.parts);
      else waiting?.reject(new Error(answer.problem));
    });
    worker.on('error', fail);
    worker.on('exit', (code) => fail(new Error(`the thread that makes networks ended with ${code}`)));
    return worker;
  }
}

/** Whether the host has an IPv6 address of its own; ::1 alone does not provide a route. */
function hasIpv6(): boolean {
  return Object.values(networkInterfaces())
    .flatMap((entries) => entries ?? [])
    .some(({ family, internal, address }) => family === 'IPv6' && !internal && !address.startsWith('fe80:'));
}
