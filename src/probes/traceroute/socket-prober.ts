import { closeSync } from 'node:fs';
import { errorCodeOf } from '@picket/lib/errors.ts';
import { answeringAddress } from '@picket/lib/wire/canonical-address.ts';
import type { SocketWatch } from '../kernel-thread/socket-watch.ts';
import { threadTimekeeper } from '../kernel-thread/timekeeper.ts';
import { adoptDescriptor } from '../sys/descriptor.ts';
import { errnoName } from '../sys/errno.ts';
import { KernelClock, type KernelTime, roundTripMs, type StampClock } from '../sys/kernel-clock.ts';
import type { Libc } from '../sys/libc.ts';
import * as linux from '../sys/linux.ts';
import { MessageReceiver } from '../sys/message.ts';
import { encodeSocketAddress } from '../sys/socket-address.ts';
import { splitZone } from '../sys/zone.ts';
import { type ErrorBudget, udpErrorBudget } from './error-budget.ts';
import { type HopAnswer, type HopProbe, type HopProber, hopError } from './hop-prober.ts';

export type SocketProtocol = 'UDP' | 'TCP';

/** Answers wait in their sockets with kernel timestamps: a slow poll does not lengthen any time. */
const tickMs = 5;
/** Once the last probe is this old, most answers have arrived. */
const lateTickMs = 25;
const lateAfterMs = 100;
const pollEntryBytes = 8;
const reventsOffset = 6;
/** Payload of UDP probes: the size that traceroute programs use, with known content. */
const datagram = Buffer.alloc(32, '@');
/** Abortive close: the target receives a reset, and nothing stays open at either end. */
const abortiveClose = Buffer.from([1, 0, 0, 0, 0, 0, 0, 0]);
const { SOL_SOCKET, SOL_IP, SOL_IPV6, IPPROTO_TCP } = linux;

/** A probe that has been sent. */
interface OpenProbe {
  readonly descriptor: number;
  readonly probe: HopProbe;
  readonly target: string;
  readonly sentAt: KernelTime;
  readonly sentAtMs: number;
  /** Times the target's response to a connect; TCP only. */
  readonly watch: SocketWatch | undefined;
  settle(answer: HopAnswer | undefined): void;
}

/**
 * Sends probes as UDP datagrams or TCP SYNs, each from a socket of its own. Neither needs a privilege: the kernel keeps
 * the ICMP errors about a socket's packets in its error queue (for pending connects since Linux 5.8). A connection that
 * succeeds is reset immediately.
 */
export class SocketProber implements HopProber {
  readonly description: string;
  readonly budget: ErrorBudget | undefined;
  readonly #libc: Libc;
  readonly #protocol: SocketProtocol;
  readonly #port: number;
  readonly #clock: KernelClock;
  readonly #receiver: MessageReceiver;
  readonly #open = new Set<OpenProbe>();
  #timer: NodeJS.Timeout | undefined;
  #lastSentMs = 0;
  #stampClock: StampClock = 'kernel';

  constructor(libc: Libc, { protocol, port }: { readonly protocol: SocketProtocol; readonly port: number }) {
    this.#libc = libc;
    this.#protocol = protocol;
    this.#port = port;
    this.budget = protocol === 'UDP' ? udpErrorBudget : undefined;
    this.description =
      protocol === 'UDP' ? `UDP datagrams to port ${port}` : `TCP connections to port ${port}`;
    this.#clock = new KernelClock(libc);
    this.#receiver = new MessageReceiver(libc);
  }

  get clock(): StampClock {
    return this.#stampClock;
  }

  probe(probe: HopProbe, signal: AbortSignal): Promise<HopAnswer | undefined> {
    if (signal.aborted) return Promise.resolve(undefined);
    const sent = this.#send(probe);
    if ('errno' in sent) return Promise.resolve({ kind: 'unsent', errno: sent.errno });
    return new Promise((resolve) => {
      const onAbort = () => open.settle(undefined);
      const open: OpenProbe = {
        ...sent,
        probe,
        settle: (answer) => {
          if (!this.#open.delete(open)) return;
          signal.removeEventListener('abort', onAbort);
          open.watch?.release();
          closeSync(open.descriptor);
          resolve(answer);
        },
      };
      this.#open.add(open);
      signal.addEventListener('abort', onAbort, { once: true });
      this.#lastSentMs = sent.sentAtMs;
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#tick(), tickMs);
    });
  }

  #send(probe: HopProbe): Omit<OpenProbe, 'probe' | 'settle'> | { readonly errno: string } {
    const { address, scopeId } = splitZone(probe.address);
    if (scopeId === undefined) return { errno: 'ENODEV' };
    const opened = this.#openSocket(probe);
    if (typeof opened !== 'number') return opened;
    const to = encodeSocketAddress(address, scopeId);
    to.writeUInt16BE(this.#port, 2);
    const sentAtMs = performance.now();
    const sentAt = this.#clock.realtime();
    const result =
      this.#protocol === 'UDP'
        ? this.#libc.sendto(opened, datagram, datagram.length, 0, to, to.length)
        : this.#libc.connect(opened, to, to.length);
    const errno = result < 0 ? errnoName(this.#libc.errno()) : undefined;
    // The target may refuse the connection before the call returns; its response waits in the socket.
    if (errno !== undefined && errno !== 'EINPROGRESS' && errno !== 'ECONNREFUSED') {
      closeSync(opened);
      return { errno };
    }
    const watch =
      this.#protocol === 'TCP' ? threadTimekeeper().watch({ descriptor: opened }, sentAtMs) : undefined;
    return { descriptor: opened, target: answeringAddress(probe.address), sentAt, sentAtMs, watch };
  }

  #openSocket({ family, ttl }: HopProbe): number | { readonly errno: string } {
    const libc = this.#libc;
    const domain = family === 4 ? linux.AF_INET : linux.AF_INET6;
    const type = this.#protocol === 'UDP' ? linux.SOCK_DGRAM : linux.SOCK_STREAM;
    const created = libc.socket(domain, type | linux.SOCK_NONBLOCK | linux.SOCK_CLOEXEC, 0);
    if (created < 0) return { errno: errnoName(libc.errno()) };
    let descriptor: number;
    try {
      descriptor = adoptDescriptor(libc, created);
    } catch (thrown) {
      const errno = errorCodeOf(thrown);
      if (errno === undefined) throw thrown;
      return { errno };
    }
    this.#set(descriptor, SOL_SOCKET, linux.SO_TIMESTAMPNS, 1);
    if (family === 4) {
      this.#set(descriptor, SOL_IP, linux.IP_TTL, ttl);
      this.#set(descriptor, SOL_IP, linux.IP_RECVERR, 1);
    } else {
      this.#set(descriptor, SOL_IPV6, linux.IPV6_UNICAST_HOPS, ttl);
      this.#set(descriptor, SOL_IPV6, linux.IPV6_RECVERR, 1);
    }
    if (this.#protocol === 'TCP') {
      this.#set(descriptor, IPPROTO_TCP, linux.TCP_SYNCNT, 1);
      libc.setsockopt(descriptor, SOL_SOCKET, linux.SO_LINGER, abortiveClose, abortiveClose.length);
    }
    return descriptor;
  }

  /** Reads the answers to all open probes, then expires the overdue ones. */
  #tick(): void {
    const open = [...this.#open];
    const entries = Buffer.alloc(open.length * pollEntryBytes);
    const wanted = this.#protocol === 'UDP' ? linux.POLLIN : linux.POLLOUT;
    for (const [index, { descriptor }] of open.entries()) {
      entries.writeInt32LE(descriptor, index * pollEntryBytes);
      entries.writeInt16LE(wanted, index * pollEntryBytes + 4);
    }
    const nowMs = performance.now();
    this.#libc.poll(entries, open.length, 0);
    for (const [index, one] of open.entries()) {
      const events = entries.readInt16LE(index * pollEntryBytes + reventsOffset);
      const answer = events === 0 ? undefined : this.#answerTo(one, events);
      // Without a kernel timestamp, the time may include a delay of this thread.
      const isStamped = one.watch === undefined || one.watch.clock === 'kernel';
      const rttMs = answer?.kind === 'answer' && isStamped ? answer.rttMs : null;
      const isLate = rttMs !== null && rttMs > one.probe.replyTimeoutMs;
      if (answer) one.settle(isLate ? { kind: 'silence' } : answer);
      else if (nowMs - one.sentAtMs > one.probe.replyTimeoutMs) one.settle({ kind: 'silence' });
    }
    if (this.#open.size === 0) return;
    const isLate = nowMs - this.#lastSentMs > lateAfterMs;
    this.#timer = setTimeout(() => this.#tick(), isLate ? lateTickMs : tickMs);
  }

  #answerTo(open: OpenProbe, events: number): HopAnswer | undefined {
    let answer: HopAnswer | undefined;
    if (events & linux.POLLERR) {
      this.#receiver.drain(open.descriptor, 'errors', ({ error, stampedAt }) => {
        if (answer || !error || error.origin === linux.SO_EE_ORIGIN_LOCAL) return;
        const { type, code, offender: address = null } = error;
        const rttMs = this.#rttMs(open, stampedAt);
        const said = hopError(open.probe, { from: address, type, code });
        answer = { kind: 'answer', address, rttMs, error: said, port: said ? undefined : 'closed' };
      });
    }
    if (answer) return answer;
    return this.#protocol === 'UDP' ? this.#datagramTo(open) : this.#connectionOf(open);
  }

  /** A program at the port answered. */
  #datagramTo(open: OpenProbe): HopAnswer | undefined {
    let answer: HopAnswer | undefined;
    this.#receiver.drain(open.descriptor, 'packets', ({ address, stampedAt }) => {
      if (address !== open.target) return;
      const rttMs = this.#rttMs(open, stampedAt);
      answer ??= { kind: 'answer', address: open.target, rttMs, error: null, port: 'open' };
    });
    return answer;
  }

  /** The target accepted or refused the connection; any other failure counts as silence. */
  #connectionOf(open: OpenProbe): HopAnswer {
    const error = this.#socketError(open.descriptor);
    if (error !== undefined && error !== 'ECONNREFUSED') return { kind: 'silence' };
    const { watch, sentAtMs, target } = open;
    const eventMs = performance.now();
    const isMade = error === undefined;
    if (watch?.clock !== 'kernel') this.#stampClock = 'event';
    const answeredMs = isMade
      ? watch?.connectMs(eventMs)
      : (watch?.answeredAt(eventMs) ?? eventMs) - sentAtMs;
    return {
      kind: 'answer',
      address: target,
      rttMs: answeredMs ?? eventMs - sentAtMs,
      error: null,
      port: isMade ? 'open' : 'closed',
    };
  }

  #socketError(descriptor: number): string | undefined {
    const value = Buffer.alloc(4);
    const sizeBytes = Buffer.alloc(4);
    sizeBytes.writeUInt32LE(value.length);
    this.#libc.getsockopt(descriptor, SOL_SOCKET, linux.SO_ERROR, value, sizeBytes);
    const errno = value.readInt32LE();
    return errno === 0 ? undefined : errnoName(errno);
  }

  #rttMs({ sentAt, sentAtMs }: OpenProbe, receivedAt: KernelTime | undefined): number {
    const elapsedMs = performance.now() - sentAtMs;
    if (receivedAt) return roundTripMs(sentAt, receivedAt, elapsedMs);
    this.#stampClock = 'event';
    return elapsedMs;
  }

  /** Failures are ignored: the options only add information, and probes work without them. */
  #set(descriptor: number, level: number, option: number, value: number): void {
    const encoded = Buffer.alloc(4);
    encoded.writeInt32LE(value);
    this.#libc.setsockopt(descriptor, level, option, encoded, encoded.length);
  }
}
