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

/** Says when something happened at the sockets of a thread, better than the events of the thread can. */
export interface Timekeeper {
  /**
   * Watches a TCP socket whose connect has just begun. Whatever stands in the way, there is a watch; it may
   * then know no more than the events.
   *
   * @param socket one of Node's, or the descriptor of one that Node does not know.
   * @param startedMs when the connect began, by `performance.now()`.
   */
  watch(socket: Socket | { readonly descriptor: number }, startedMs: number): SocketWatch;
  /** How this thread was kept from running since it was asked last; undefined where nobody knows. */
  interruption(): Interruption | undefined;
  /** Prepares a UDP socket for asking when its packets came. */
  packets(socket: UdpSocket): PacketTimes;
}

/** Knows nothing but the events themselves. */
export const eventTimekeeper: Timekeeper = {
  watch: (_socket, startedMs) => new EventWatch(startedMs),
  interruption: () => undefined,
  packets: () => new EventPackets(),
};

/**
 * What a socket is watched for. EPOLLOUT is for more than the answer to the SYN: what was read before the thread looks is no
 * EPOLLIN any more, and the kernel drops an event of which nothing is left.
 */
const watchedEvents = (linux.EPOLLIN | linux.EPOLLOUT | linux.EPOLLET) >>> 0;

/**
 * A timekeeper that asks the kernel. While its thread is not there, because it broke, watches know the events
 * only; the next one starts another thread.
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

  /** @throws SysUnavailable or SysError where the kernel cannot be asked. */
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

  /** Gives up the thread; it ends when nobody else uses it. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    closeSync(this.#stampingSocket);
    await this.#thread.release();
  }

  /** A row in which the thread writes about that socket; undefined when there is none. */
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
        // Rows of a thread that broke went with it.
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

/** The descriptor of a TCP socket of Node; -1 when it has none. */
function tcpDescriptor(socket: Socket): number {
  const { _handle: handle } = socket as Socket & { readonly _handle?: NativeHandle | null };
  return handle?.fd ?? -1;
}

/** The descriptor of a UDP socket, which Node has no public word for; -1 when it is not where it was. */
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

/** The timekeeper of this thread: the kernel's once `openTimekeeper` has found that it works here. */
export function threadTimekeeper(): Timekeeper {
  return timekeeper;
}

/**
 * Opens the timekeeper of this thread, once. Where the kernel cannot be asked, times stay those of events.
 */
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

/** @throws SysUnavailable where the kernel does not report enough of a TCP connection. */
function requireTcpInfo(libc: Libc): void {
  const descriptor = libc.socket(linux.AF_INET, linux.SOCK_STREAM | linux.SOCK_CLOEXEC, 0);
  const isReported = descriptor >= 0 && new TcpInfo(libc).read(descriptor);
  if (descriptor >= 0) libc.close(descriptor);
  if (!isReported) throw new SysUnavailable('the kernel does not report on TCP connections (TCP_INFO)');
}

/**
 * Nobody sends to this socket. The kernel stamps packets while any socket wants that, and switching it on and
 * off with each query would leave the first packets without.
 */
function openStampingSocket(libc: Libc): number {
  const opened = libc.socket(linux.AF_INET, linux.SOCK_DGRAM | linux.SOCK_CLOEXEC, 0);
  if (opened < 0) throw new SysError('socket', libc.errno());
  const descriptor = adoptDescriptor(libc, opened);
  const one = Buffer.from([1, 0, 0, 0]);
  libc.setsockopt(descriptor, linux.SOL_SOCKET, linux.SO_TIMESTAMPNS, one, one.length);
  return descriptor;
}
