import { toError } from '@picket/lib/errors.ts';
import { SysError } from '../sys/errno.ts';
import type { Libc } from '../sys/libc.ts';
import { ARPHRD_LOOPBACK, PACKET_OUTGOING } from '../sys/linux.ts';
import { connectionPacket } from './connection-packet.ts';
import { type CaptureScope, captureFilter } from './filter.ts';
import { PacketSocket } from './packet-socket.ts';
import { type CapturedPacket, pcapFile, recordBytes } from './pcap.ts';

/** This host does not allow captures; the message says what is missing. */
export class CaptureUnavailable extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'CaptureUnavailable';
  }
}

/** What a capture got. */
export interface Capture {
  /** A file of libpcap's format. */
  readonly file: Buffer;
  readonly packetCount: number;
  /** True when a limit ended it early. */
  readonly isFull: boolean;
  /** Packets that the kernel had to drop because they came faster than they were taken. */
  readonly droppedPackets: number;
}

export interface CaptureLimits {
  readonly maxPackets: number;
  /** Of the file. */
  readonly maxBytes: number;
}

/** Packets wait in the socket meanwhile, with the kernel's time on them. */
const drainIntervalMs = 20;
/** Taken at a time, so that a flood holds the thread up for less than a millisecond. */
const drainedPackets = 128;
/** At most taken out once it is over, in as many steps as that needs. */
const maxLateDrains = 64;
const fileHeaderBytes = 24;

/**
 * Captures the packets of connections to one port of one peer, headers above all (see filter.ts for what is
 * kept).
 *
 * OPEN from `start`: packets to and from the peer's port collect in the socket; `watch` names the connections
 * that count, by this end's port, before or after their packets came. → FULL when a limit is reached: the
 * socket is closed, nothing more is taken. → CLOSED by `stop`, from both, which returns what was captured: only
 * packets of the watched ports.
 */
export class ConnectionCapture {
  readonly #scope: Omit<CaptureScope, 'localPorts'>;
  readonly #limits: CaptureLimits;
  readonly #localPorts = new Set<number>();
  readonly #timer: NodeJS.Timeout;
  readonly #packets: CapturedPacket[] = [];
  #socket: PacketSocket | undefined;
  #sizeBytes = fileHeaderBytes;
  #isFull = false;
  #error: Error | undefined;
  #droppedPackets = 0;
  #closed: Promise<void> | undefined;

  private constructor(socket: PacketSocket, scope: Omit<CaptureScope, 'localPorts'>, limits: CaptureLimits) {
    this.#socket = socket;
    this.#scope = scope;
    this.#limits = limits;
    this.#timer = setInterval(() => this.#drainInTime(), drainIntervalMs);
  }

  /**
   * Captures from this moment on.
   *
   * @throws CaptureUnavailable when this host does not allow it.
   */
  static start(
    libc: Libc,
    scope: Omit<CaptureScope, 'localPorts'>,
    limits: CaptureLimits,
  ): ConnectionCapture {
    try {
      const socket = PacketSocket.open(libc, captureFilter({ ...scope, localPorts: [] }));
      return new ConnectionCapture(socket, scope, limits);
    } catch (thrown) {
      if (!(thrown instanceof SysError)) throw thrown;
      const isForbidden = thrown.code === 'EPERM' || thrown.code === 'EACCES';
      const reason = isForbidden ? 'the agent lacks the capability NET_RAW' : 'packet sockets do not work';
      throw new CaptureUnavailable(`${reason} (${thrown.message})`);
    }
  }

  /** Takes the packets of the connection with that port of this end. */
  watch(localPort: number): void {
    this.#localPorts.add(localPort);
  }

  /**
   * Lets the kernel pass nothing but the connections that are watched by now, so that others to the same peer
   * cost nothing. One that begins later loses its first packets, even if it is watched then.
   */
  narrow(): void {
    this.#socket?.filter(captureFilter({ ...this.#scope, localPorts: [...this.#localPorts] }));
  }

  /**
   * Takes what has come until now and ends the capture.
   *
   * @throws SysError when the socket failed meanwhile.
   */
  async stop(): Promise<Capture> {
    try {
      for (let count = 0; this.#socket && count < maxLateDrains; count += 1) {
        if (!this.#drain()) break;
        // Others of this thread come in between.
        await new Promise((resolve) => setImmediate(resolve));
      }
    } finally {
      this.#close();
    }
    await this.#closed;
    if (this.#error) throw this.#error;
    return {
      file: pcapFile(this.#packets),
      packetCount: this.#packets.length,
      isFull: this.#isFull,
      droppedPackets: this.#droppedPackets,
    };
  }

  #drainInTime(): void {
    try {
      this.#drain();
    } catch (thrown) {
      // `stop` throws it.
      this.#error = toError(thrown);
      this.#close();
    }
  }

  /** @returns whether more packets may wait. */
  #drain(): boolean {
    // Until a connection is known no packet can be attributed.
    if (!this.#socket || this.#localPorts.size === 0) return false;
    let count = 0;
    this.#socket.drain(drainedPackets, (packet) => {
      count += 1;
      return this.#acceptPacket(packet);
    });
    if (this.#isFull) this.#close();
    return count === drainedPackets;
  }

  /** @returns false when a limit is reached. */
  #acceptPacket(packet: CapturedPacket): boolean {
    const { deviceType, packetType } = packet.link;
    // What goes through the loopback device passes twice, out and in again.
    if (deviceType === ARPHRD_LOOPBACK && packetType === PACKET_OUTGOING) return true;
    const facts = connectionPacket(packet.data, { ...this.#scope, localPorts: [] });
    if (!facts || !this.#localPorts.has(facts.localPort)) return true;
    const kept = { ...packet, data: packet.data.subarray(0, facts.keptBytes) };
    const { maxPackets, maxBytes } = this.#limits;
    this.#isFull = this.#packets.length >= maxPackets || this.#sizeBytes + recordBytes(kept) > maxBytes;
    if (this.#isFull) return false;
    this.#packets.push(kept);
    this.#sizeBytes += recordBytes(kept);
    return true;
  }

  #close(): void {
    clearInterval(this.#timer);
    if (!this.#socket) return;
    const socket = this.#socket;
    this.#socket = undefined;
    try {
      this.#droppedPackets = socket.droppedPackets();
    } finally {
      this.#closed = socket.close();
      // `stop` waits for it, which may be later.
      this.#closed.catch(() => undefined);
    }
  }
}
