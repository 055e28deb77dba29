import { toError } from '@picket/lib/errors.ts';
import { SysError } from '../sys/errno.ts';
import type { Libc } from '../sys/libc.ts';
import { ARPHRD_LOOPBACK, PACKET_OUTGOING } from '../sys/linux.ts';
import { connectionPacket } from './connection-packet.ts';
import { type CaptureScope, captureFilter } from './filter.ts';
import { PacketSocket } from './packet-socket.ts';
import { type CapturedPacket, pcapFile, recordBytes } from './pcap.ts';

/** Thrown if this host does not allow captures; the message names the missing permission or feature. */
export class CaptureUnavailable extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'CaptureUnavailable';
  }
}

/** Result of a capture. */
export interface Capture {
  /** A file in libpcap format. */
  readonly file: Buffer;
  readonly packetCount: number;
  /** True if a limit ended the capture early. */
  readonly isFull: boolean;
  /** Packets the kernel dropped because they were not read fast enough. */
  readonly droppedPackets: number;
}

export interface CaptureLimits {
  readonly maxPackets: number;
  /** Limit for the file. */
  readonly maxBytes: number;
}

/** Until a drain, packets wait in the socket with the kernel's timestamps. */
const drainIntervalMs = 20;
/** Packets read per drain, so that a flood blocks the thread for less than a millisecond. */
const drainedPackets = 128;
/** Maximum number of drains after the capture is stopped. */
const maxLateDrains = 64;
const fileHeaderBytes = 24;

/**
 * Captures the packets of connections to one port of one peer, mostly headers (filter.ts defines what is kept).
 *
 * OPEN from `start`: packets to and from the peer's port collect in the socket; `watch` selects connections by their
 * local port, before or after their packets arrive. → FULL when a limit is reached: the socket is closed and no more
 * packets are read. → CLOSED by `stop`, from both states; it returns the packets of the watched ports only.
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
   * Starts capturing immediately.
   *
   * @throws CaptureUnavailable if this host does not allow captures.
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

  /** Includes the packets of the connection with this local port. */
  watch(localPort: number): void {
    this.#localPorts.add(localPort);
  }

  /**
   * Narrows the kernel filter to the connections watched so far, so that other connections to the same peer cost
   * nothing. A connection that begins later loses its first packets, even if it is watched then.
   */
  narrow(): void {
    this.#socket?.filter(captureFilter({ ...this.#scope, localPorts: [...this.#localPorts] }));
  }

  /**
   * Reads the packets received so far and ends the capture.
   *
   * @throws SysError if the socket has failed.
   */
  async stop(): Promise<Capture> {
    try {
      for (let count = 0; this.#socket && count < maxLateDrains; count += 1) {
        if (!this.#drain()) break;
        // Other work of this thread runs between drains.
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
      // `stop` throws this error.
      this.#error = toError(thrown);
      this.#close();
    }
  }

  /** @returns true if more packets may be waiting. */
  #drain(): boolean {
    // A packet cannot be attributed until a connection is known.
    if (!this.#socket || this.#localPorts.size === 0) return false;
    let count = 0;
    this.#socket.drain(drainedPackets, (packet) => {
      count += 1;
      return this.#acceptPacket(packet);
    });
    if (this.#isFull) this.#close();
    return count === drainedPackets;
  }

  /** @returns false if a limit is reached. */
  #acceptPacket(packet: CapturedPacket): boolean {
    const { deviceType, packetType } = packet.link;
    // The loopback device delivers each packet twice, outgoing and incoming.
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
      // `stop` handles the rejection, possibly later.
      this.#closed.catch(() => undefined);
    }
  }
}
