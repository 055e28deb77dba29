import type { Socket as UdpSocket } from 'node:dgram';
import { closeSync } from 'node:fs';
import type { Socket } from 'node:net';
import { adoptDescriptor } from '../sys/descriptor.ts';
import { EpollSet } from '../sys/epoll.ts';
import { SysError } from '../sys/errno.ts';
import { type Libc, loadLibc, SysUnavailable } from '../sys/libc.ts';
import * as linux from '../sys/linux.ts';
import { PacketClock } from '../sys/packet-clock.ts';
import { openRunDelay, type RunDelay } from '../sys/run-delay.ts';
import { TcpInfo } from '../sys/tcp-info.ts';
import { KernelThread } from './kernel-thread.ts';
import { KernelWatch, type NativeHandle, type WatchRow } from './kernel-watch.ts';
import { MonotonicOffset } from './monotonic-clock.ts';
import type { Interruption } from './send-time.ts';
import { EventPackets, EventWatch, type PacketTimes, type SocketWatch } from './socket-watch.ts';
import { rowCount } from './watch-table.ts';

/** Timestamps of socket events, more precise than the events of the thread. */
export interface Timekeeper {
  /**
   * Watches a TCP socket whose connect has just begun. It always returns a watch, but in some cases that knows no more
   * than the events.
   *
   * @param socket a Node socket, or a descriptor that Node does not know.
   * @param startedMs when the connect began, by `performance.now()`.
   */
  watch(socket: Socket | { readonly descriptor: number }, startedMs: number): SocketWatch;
  /** Run delay of this thread since the last call; undefined if unknown. */
  interruption(): Interruption | undefined;
  /** Prepares a UDP socket for packet timestamps. */
  packets(socket: UdpSocket): PacketTimes;
}

/** A timekeeper that only knows the events themselves. */
export const eventTimekeeper: Timekeeper = {
  watch: (_socket, startedMs) => new EventWatch(startedMs),
  interruption: () => undefined,
  packets: () => new EventPackets(),
};

/**
 * Events to watch. EPOLLOUT covers more than the response to the SYN: data that was read before the thread looks no
 * longer raises EPOLLIN, and the kernel drops an event without remaining flags.
 */
const watchedEvents = (linux.EPOLLIN | linux.EPOLLOUT | linux.EPOLLET) >>> 0;

/**
 * A timekeeper that uses the kernel. If its thread has failed, its watches only know the events; the next watch starts
 * a new thread.
 */
export class KernelTimekeeper implements Timekeeper {
  readonly #libc: Libc;
  readonly #info: TcpInfo;
  readonly #packetClock: PacketClock;
  readonly #offset = new MonotonicOffset();
  readonly #stampingSocket: number;
  readonly #freeRows = Array.from({ length: rowCount }, (_, row) => row);
  #thread: KernelThread;
  #set: EpollSet;
  readonly #readRunDelay = openRunDelay();
  #runDelay: RunDelay = { waitedMs: 0, turnCount: 0 };
  #isClosed = false;

  private constructor(libc: Libc, thread: KernelThread, stampingSocket: number) {
    this.#libc = libc;
    this.#info = new TcpInfo(libc);
    this.#packetClock = new PacketClock(libc);
    this.#stampingSocket = stampingSocket;
    this.#thread = thread;
    this.#set = new EpollSet(libc, thread.epollDescriptor);
  }

  /** @throws SysUnavailable or SysError if the kernel cannot be queried. */
  static async open(): Promise<KernelTimekeeper> {
    const libc = await loadLibc();
    requireTcpInfo(libc);
    const stampingSocket = openStampingSocket(libc);
    const thread = KernelThread.use(libc);
    try {
      await thread.ready;
      return new KernelTimekeeper(libc, thread, stampingSocket);
    } catch (thrown) {
      closeSync(stampingSocket);
      await thread.release();
      throw thrown;
    }
  }

  watch(socket: Socket | { readonly descriptor: number }, startedMs: number): SocketWatch {
    const descriptor = 'descriptor' in socket ? socket.descriptor : tcpDescriptor(socket);
    const row = descriptor >= 0 && !this.#isClosed ? this.#row(descriptor) : undefined;
    if (!row) return new EventWatch(startedMs);
    this.#offset.check();
    return new KernelWatch({ startedMs, descriptor, row, info: this.#info, offset: this.#offset });
  }

  interruption(): Interruption | undefined {
    const now = this.#readRunDelay?.();
    if (!now) return undefined;
    const before = this.#runDelay;
    this.#runDelay = now;
    return { waitedMs: now.waitedMs - before.waitedMs, turnCount: now.turnCount - before.turnCount };
  }

  packets(socket: UdpSocket): PacketTimes {
    const descriptor = udpDescriptor(socket);
    return descriptor < 0 ? new EventPackets() : this.#packetClock.of(descriptor);
  }

  /** Releases the thread; it ends with its last user. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    closeSync(this.#stampingSocket);
    await this.#thread.release();
  }

  /** Allocates a row in which the thread records the events of a socket; undefined if none is free. */
  #row(descriptor: number): WatchRow | undefined {
    if (this.#thread.isEnded) this.#replaceThread();
    const row = this.#freeRows.shift();
    if (row === undefined) return undefined;
    const thread = this.#thread;
    const { table } = thread;
    const generation = table.begin(row, descriptor);
    if (!this.#set.add(descriptor, watchedEvents, { index: row, generation })) {
      this.#freeRows.push(row);
      return undefined;
    }
    const isAwake = table.addWatched();
    if (!isAwake) thread.post({ type: 'watch' });
    return {
      answeredAtMs: () => table.answeredAtMs(row),
      edges: () => table.edges(row),
      edgeCount: () => table.edgeCount(row),
      awaitEdge: (knownCount, timeoutMs) => table.awaitEdge(row, knownCount, timeoutMs),
      standstillEndedAtMs: () => table.standstillEndedAtMs,
      waitBeganAtMs: () => table.waitBeganAtMs,
      isUp: () => thread.isUp,
      release: () => {
        table.end(row);
        table.removeWatched();
        // The rows of a failed thread are gone with it.
        if (thread === this.#thread) this.#freeRows.push(row);
      },
    };
  }

  #replaceThread(): void {
    this.#thread = KernelThread.use(this.#libc);
    this.#set = new EpollSet(this.#libc, this.#thread.epollDescriptor);
    this.#freeRows.length = 0;
    for (let row = 0; row < rowCount; row += 1) this.#freeRows.push(row);
  }
}

/** Descriptor of a Node TCP socket; -1 if it has no descriptor. */
function tcpDescriptor(socket: Socket): number {
  const { _handle: handle } = socket as Socket & { readonly _handle?: NativeHandle | null };
  return handle?.fd ?? -1;
}

/** Descriptor of a UDP socket, for which Node has no public API; -1 if Node's internals have changed. */
function udpDescriptor(socket: UdpSocket): number {
  const symbol = Object.getOwnPropertySymbols(socket).find(
    ({ description }) => description === 'state symbol',
  );
  if (!symbol) return -1;
  const state = (socket as unknown as Record<symbol, { readonly handle?: NativeHandle | null }>)[symbol];
  return state?.handle?.fd ?? -1;
}

let timekeeper: Timekeeper = eventTimekeeper;
let opening: Promise<void> | undefined;

/** The timekeeper of this thread: the kernel's, once `openTimekeeper` has verified it. */
export function threadTimekeeper(): Timekeeper {
  return timekeeper;
}

/** Opens the timekeeper of this thread, once. If the kernel cannot be queried, times are those of events. */
export function openTimekeeper(): Promise<void> {
  opening ??= open();
  return opening;
}

async function open(): Promise<void> {
  try {
    timekeeper = await KernelTimekeeper.open();
  } catch (thrown) {
    if (!(thrown instanceof SysUnavailable) && !(thrown instanceof SysError)) throw thrown;
  }
}

/** @throws SysUnavailable if the kernel reports too little about a TCP connection. */
function requireTcpInfo(libc: Libc): void {
  const descriptor = libc.socket(linux.AF_INET, linux.SOCK_STREAM | linux.SOCK_CLOEXEC, 0);
  const isReported = descriptor >= 0 && new TcpInfo(libc).read(descriptor);
  if (descriptor >= 0) libc.close(descriptor);
  if (!isReported) throw new SysUnavailable('the kernel does not report on TCP connections (TCP_INFO)');
}

/**
 * An unused socket. The kernel timestamps packets while any socket requests it, and toggling that for each query would
 * leave the first packets without timestamps.
 */
function openStampingSocket(libc: Libc): number {
  const opened = libc.socket(linux.AF_INET, linux.SOCK_DGRAM | linux.SOCK_CLOEXEC, 0);
  if (opened < 0) throw new SysError('socket', libc.errno());
  const descriptor = adoptDescriptor(libc, opened);
  const one = Buffer.from([1, 0, 0, 0]);
  libc.setsockopt(descriptor, linux.SOL_SOCKET, linux.SO_TIMESTAMPNS, one, one.length);
  return descriptor;
}
