import { connect } from 'node:net';
import type { EgressPolicy, EgressRefusal } from '@picket/probes/egress/policy.ts';
import { Datagrams } from './datagrams.ts';
import { noSuchName, QuestionFilter, readQuestions } from './dns-questions.ts';
import type { Kernel } from './kernel.ts';
import { isHeard } from './listeners.ts';
import { NameBook } from './name-book.ts';
import { marks, type NetworkParts, ownAddresses, relayPort } from './network-worker.ts';
import { isAddressOfHost, readOwnPorts } from './own-ports.ts';
import { type Packet, readPacket } from './packet.ts';
import { PacketQueue, type QueuedPacket } from './packet-queue.ts';
import { Relay } from './relay.ts';

const maxRefusals = 20;
const refusedCodes = new Set(['ECONNREFUSED', 'ECONNRESET']);
const unreachableCodes = new Set([
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EACCES',
  'EPERM',
  'EADDRNOTAVAIL',
  'ENETDOWN',
]);

/**
 * The network of one sandbox, a namespace of its own. Its loopback belongs to the run; a port without a listener of the
 * run reaches the host's loopback, unless the run has claimed the port. For every other connection, the egress policy
 * first checks the exact address to connect to, and the host then connects; meanwhile the run's own handshake waits.
 */
export class RunNetwork {
  readonly #kernel: Kernel;
  readonly #parts: NetworkParts;
  readonly #policy: EgressPolicy;
  readonly #queue: PacketQueue;
  readonly #relay: Relay;
  readonly #names = new NameBook();
  readonly #datagrams: Datagrams;
  readonly #ownPorts: string;
  readonly #connecting = new Set<string>();
  readonly #refusals = new Set<string>();
  #testPort: number | undefined;
  #isClosed = false;

  /** @param options.ownPorts the file in which the run claims ports. */
  constructor(options: {
    readonly kernel: Kernel;
    readonly parts: NetworkParts;
    readonly policy: EgressPolicy;
    readonly ownPorts: string;
  }) {
    const { kernel, parts } = options;
    this.#kernel = kernel;
    this.#parts = parts;
    this.#policy = options.policy;
    this.#ownPorts = options.ownPorts;
    this.#queue = new PacketQueue(kernel, parts.queue);
    this.#relay = new Relay(parts.listeners);
    this.#datagrams = new Datagrams({ kernel, raw4: parts.raw4, raw6: parts.raw6, names: this.#names });
  }

  /** A namespace descriptor for `nsenter`. */
  get descriptor(): number {
    return this.#parts.network;
  }

  get queueDescriptor(): number {
    return this.#parts.queue;
  }

  /** Messages about refused connections, without duplicates and limited in number. */
  get refusals(): readonly string[] {
    return [...this.#refusals];
  }

  /** Opens a port of 127.0.0.1 regardless of the policy, to test that connections can leave this network at all. */
  openTestPort(port: number): void {
    this.#testPort = port;
  }

  /** Decides about the waiting packets. */
  serve(): void {
    if (this.#isClosed) return;
    for (const packet of this.#queue.read()) this.#judge(packet);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#relay.close();
    this.#datagrams.close();
    const { network, queue, diagnosis, raw4, raw6 } = this.#parts;
    for (const descriptor of [network, queue, diagnosis, raw4, ...(raw6 === undefined ? [] : [raw6])]) {
      this.#kernel.close(descriptor);
    }
  }

  #judge({ id, bytes }: QueuedPacket): void {
    const packet = readPacket(bytes);
    if (!packet) this.#queue.drop(id);
    else if (isOwn(packet.destination) && this.#isHeard(packet)) this.#queue.accept(id, marks.direct);
    else if (this.#isNameServer(packet)) this.#ask(id, packet);
    else if (this.#isRunsOwn(packet)) this.#queue.accept(id, this.#markAtHome(packet));
    else if (this.#isRefused(packet)) this.#queue.accept(id, marks.refused);
    else if (packet.protocol === 'tcp') this.#connect(id, packet);
    else {
      this.#datagrams.forward(packet);
      this.#queue.drop(id);
    }
  }

  /** The host's name servers are reachable at any address; the policy checks the names in the queries. */
  #isNameServer({ destination, destinationPort }: Packet): boolean {
    return this.#names.isServer(destination, destinationPort);
  }

  #ask(id: number, packet: Packet): void {
    if (packet.protocol === 'tcp') {
      this.#connect(id, packet, new QuestionFilter((message) => this.#isQuestionRefused(message)));
      return;
    }
    if (!this.#isQuestionRefused(packet.payload)) this.#datagrams.forward(packet);
    else {
      const asked = readQuestions(packet.payload);
      if (asked) this.#datagrams.answer(packet, noSuchName(packet.payload, asked.endsAt));
    }
    this.#queue.drop(id);
  }

  /** Whether a message to a name server contains a name that the policy forbids, or is not a query. */
  #isQuestionRefused(message: Buffer): boolean {
    const asked = readQuestions(message);
    if (!asked) return true;
    const refusals = asked.names.flatMap((name) => this.#policy.lookupRefusal(name) ?? []);
    for (const refusal of refusals) this.#recordRefusal(refusal);
    return refusals.length > 0;
  }

  #recordRefusal({ message }: EgressRefusal): void {
    if (this.#refusals.size < maxRefusals) this.#refusals.add(message);
  }

  /** Whether the run listens there. The relay does, too, but must not be reachable as a loopback port. */
  #isHeard(packet: Packet): boolean {
    if (packet.protocol === 'tcp' && packet.destinationPort === relayPort) return false;
    return isHeard(this.#kernel, this.#parts.diagnosis, packet);
  }

  /** Whether a packet for this host, at any of its addresses, is for a port that the run has claimed. */
  #isRunsOwn({ protocol, destination, destinationPort }: Packet): boolean {
    if (protocol !== 'tcp' || !readOwnPorts(this.#ownPorts).has(destinationPort)) return false;
    return isOwn(destination) || isAddressOfHost(destination);
  }

  /** A server of the host is reachable at every address of the host; here loopback stands for all of them. */
  #markAtHome(packet: Packet): number {
    if (isOwn(packet.destination)) return marks.refused;
    const destination = packet.family === 4 ? '127.0.0.1' : '::1';
    return this.#isHeard({ ...packet, destination }) ? marks.home : marks.refused;
  }

  #isRefused({ destination, destinationPort }: Packet): boolean {
    if (destination === '127.0.0.1' && destinationPort === this.#testPort) return false;
    const refusals = this.#names
      .namesOf(destination)
      .map((hostname) => this.#policy.refusal({ hostname, address: destination, port: destinationPort }));
    const [refusal] = refusals;
    // If several names resolved to the address, one allowed name is enough.
    if (refusal === undefined || refusals.includes(undefined)) return false;
    this.#recordRefusal(refusal);
    return true;
  }

  /** @param filter a stream that receives the run's data. */
  #connect(id: number, packet: Packet, filter?: QuestionFilter): void {
    const { source, sourcePort, destination, destinationPort } = packet;
    const key = `${source} ${sourcePort} ${destination} ${destinationPort}`;
    if (this.#connecting.has(key)) {
      this.#queue.drop(id); // a retransmission, because the connect is pending
      return;
    }
    this.#connecting.add(key);
    const upstream = connect({
      host: destination,
      port: destinationPort,
      allowHalfOpen: true,
      noDelay: true,
      autoSelectFamily: false,
    });
    const decide = (verdict: () => void) => {
      this.#connecting.delete(key);
      if (!this.#isClosed) verdict();
    };
    const fail = (error: NodeJS.ErrnoException) => {
      const code = error.code ?? '';
      decide(() => {
        if (refusedCodes.has(code)) this.#queue.accept(id, marks.refused);
        else if (unreachableCodes.has(code)) this.#queue.accept(id, marks.unreachable);
        else this.#queue.drop(id);
      });
    };
    upstream.once('error', fail);
    upstream.once('connect', () => {
      upstream.off('error', fail);
      if (this.#isClosed) upstream.destroy();
      decide(() => {
        // Data that arrives before the run's half is connected must wait.
        upstream.pause();
        this.#relay.expect(source, sourcePort, upstream, filter);
        this.#queue.accept(id, marks.relayed);
      });
    });
  }
}

function isOwn(address: string): boolean {
  return (
    address.startsWith('127.') ||
    address === '::1' ||
    address === ownAddresses[4] ||
    address === ownAddresses[6]
  );
}
