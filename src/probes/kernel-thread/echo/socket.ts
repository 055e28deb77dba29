import { randomInt } from 'node:crypto';
import { closeSync } from 'node:fs';
import type { IpFamily } from '../../address.ts';
import { adoptDescriptor } from '../../sys/descriptor.ts';
import { errnoName } from '../../sys/errno.ts';
import type { KernelTime } from '../../sys/kernel-clock.ts';
import type { Libc } from '../../sys/libc.ts';
import * as linux from '../../sys/linux.ts';
import type { ExtendedError, MessageReceiver, ReceivedMessage } from '../../sys/message.ts';
import {
  echoHeaderBytes,
  echoReplyType,
  echoRequest,
  numberEchoRequest,
  sumEchoRequest,
  tokenBytes,
} from './packet.ts';

/**
 * Kind of socket. `datagram`: a ping socket, which needs no privilege if `net.ipv4.ping_group_range` allows it; the
 * kernel chooses the identifier and delivers only its replies. `raw`: needs NET_RAW; receives all replies of the
 * network namespace.
 */
export type SocketMode = 'datagram' | 'raw';

/** The system refused both kinds of socket. */
export class SocketsRefused extends Error {
  readonly datagramErrno: string;
  readonly rawErrno: string;

  constructor(datagramErrno: string, rawErrno: string) {
    super(`datagram socket: ${datagramErrno}, raw socket: ${rawErrno}`);
    this.name = 'SocketsRefused';
    this.datagramErrno = datagramErrno;
    this.rawErrno = rawErrno;
  }
}

/** An echo reply, or a network error about an echo request, received by a socket. */
export interface SocketAnswer {
  readonly sequence: number;
  /** The target: the sender of the reply, or the destination of the failed request. */
  readonly target: string | undefined;
  /** The part of the token that was returned. */
  readonly token: Buffer;
  readonly type: number;
  readonly code: number;
  readonly ttl: number | undefined;
  readonly receivedAt: KernelTime | undefined;
  readonly error: ExtendedError | undefined;
}

/**
 * Path MTU discovery mode for a socket. `dontFragment` selects "probe": each request tests the path again, instead of
 * being refused locally because of a path MTU that the kernel learned earlier.
 */
export function pathMtuDiscovery(dontFragment: boolean | undefined): number {
  if (dontFragment === undefined) return linux.PMTUDISC_WANT;
  return dontFragment ? linux.PMTUDISC_PROBE : linux.PMTUDISC_DONT;
}

const receiveBufferBytes = 1 << 20;
const { SOL_IP, SOL_IPV6 } = linux;

/** A non-blocking ICMP socket of one family that sends echo requests and receives the answers. */
export class EchoSocket {
  readonly family: IpFamily;
  readonly mode: SocketMode;
  readonly descriptor: number;
  readonly #libc: Libc;
  readonly #identifier = randomInt(0x10000);
  #ttl: number | undefined;
  #dontFragment: boolean | undefined;
  /** The previous request; the next one differs only slightly. */
  #packet: Buffer = Buffer.alloc(0);

  private constructor(libc: Libc, family: IpFamily, mode: SocketMode, descriptor: number) {
    this.#libc = libc;
    this.family = family;
    this.mode = mode;
    this.descriptor = descriptor;
  }

  /**
   * Opens a datagram socket, or a raw one if that is refused.
   *
   * @throws SocketsRefused
   */
  static open(libc: Libc, family: IpFamily): EchoSocket {
    const domain = family === 4 ? linux.AF_INET : linux.AF_INET6;
    const protocol = family === 4 ? linux.IPPROTO_ICMP : linux.IPPROTO_ICMPV6;
    const flags = linux.SOCK_NONBLOCK | linux.SOCK_CLOEXEC;
    const errnos: string[] = [];
    for (const mode of ['datagram', 'raw'] as const) {
      const type = mode === 'datagram' ? linux.SOCK_DGRAM : linux.SOCK_RAW;
      const descriptor = libc.socket(domain, type | flags, protocol);
      if (descriptor < 0) {
        errnos.push(errnoName(libc.errno()));
        continue;
      }
      const socket = new EchoSocket(libc, family, mode, adoptDescriptor(libc, descriptor));
      socket.#configure();
      return socket;
    }
    throw new SocketsRefused(errnos[0] ?? '', errnos[1] ?? '');
  }

  /** Builds the echo request in advance, so that `send` takes only the time of the system call. */
  prepare(request: { readonly sequence: number; readonly token: Buffer; readonly dataBytes: number }): void {
    if (this.#packet.length !== echoHeaderBytes + request.dataBytes) {
      this.#packet = echoRequest({ family: this.family, identifier: this.#identifier, ...request });
    } else {
      numberEchoRequest(this.#packet, request);
      // The kernel computes ICMPv6 checksums; for ICMP it does so only on datagram sockets.
      if (this.family === 4 && this.mode === 'raw') sumEchoRequest(this.#packet);
    }
  }

  /**
   * Sends the prepared echo request.
   *
   * @param address a `struct sockaddr`.
   * @returns the name of the system error if the request was not sent.
   */
  send(address: Buffer): string | undefined {
    const packet = this.#packet;
    const sent = this.#libc.sendto(this.descriptor, packet, packet.length, 0, address, address.length);
    return sent < 0 ? errnoName(this.#libc.errno()) : undefined;
  }

  /** Sets the time to live or hop limit of future packets; undefined for the system's default. */
  setTtl(ttl: number | undefined): void {
    if (ttl === this.#ttl) return;
    this.#ttl = ttl;
    // -1 selects the system's default.
    if (this.family === 4) this.#set(SOL_IP, linux.IP_TTL, ttl ?? -1);
    else this.#set(SOL_IPV6, linux.IPV6_UNICAST_HOPS, ttl ?? -1);
  }

  /** Sets whether future packets may be fragmented; undefined for the system's default. */
  setDontFragment(dontFragment: boolean | undefined): void {
    if (dontFragment === this.#dontFragment) return;
    this.#dontFragment = dontFragment;
    if (this.family === 4) this.#set(SOL_IP, linux.IP_MTU_DISCOVER, pathMtuDiscovery(dontFragment));
    else this.#set(SOL_IPV6, linux.IPV6_MTU_DISCOVER, pathMtuDiscovery(dontFragment));
  }

  /** Reads every reply that has arrived. */
  receiveReplies(receiver: MessageReceiver, onAnswer: (answer: SocketAnswer) => void): void {
    receiver.drain(this.descriptor, 'packets', (message) => {
      const answer = this.#replyIn(message);
      if (answer) onAnswer(answer);
    });
  }

  /** Reads the error queue: network errors, and the departures of requests in send order. */
  receiveErrors(
    receiver: MessageReceiver,
    onAnswer: (answer: SocketAnswer) => void,
    onLeft: (at: KernelTime) => void,
  ): void {
    receiver.drain(this.descriptor, 'errors', (message) => {
      if (message.error?.origin === linux.SO_EE_ORIGIN_TIMESTAMPING) {
        if (message.stampedAt) onLeft(message.stampedAt);
        return;
      }
      const answer = this.#errorIn(message);
      if (answer) onAnswer(answer);
    });
  }

  close(): void {
    closeSync(this.descriptor);
  }

  #replyIn(message: ReceivedMessage): SocketAnswer | undefined {
    const packet = this.#withoutIpHeader(message.data);
    if (packet.length < echoHeaderBytes || packet.readUInt8(0) !== echoReplyType(this.family)) {
      return undefined;
    }
    return this.#answerIn(packet, message, {
      type: packet.readUInt8(0),
      code: packet.readUInt8(1),
      error: undefined,
    });
  }

  #errorIn(message: ReceivedMessage): SocketAnswer | undefined {
    const { error, data } = message;
    // Local errors were already reported by the send.
    if (!error || error.origin === linux.SO_EE_ORIGIN_LOCAL || data.length < echoHeaderBytes)
      return undefined;
    return this.#answerIn(data, message, { type: error.type, code: error.code, error });
  }

  #answerIn(
    packet: Buffer,
    { address, stampedAt, ttl }: ReceivedMessage,
    about: Pick<SocketAnswer, 'type' | 'code' | 'error'>,
  ): SocketAnswer | undefined {
    if (this.mode === 'raw' && packet.readUInt16BE(4) !== this.#identifier) return undefined;
    return {
      sequence: packet.readUInt16BE(6),
      target: address,
      token: packet.subarray(echoHeaderBytes, echoHeaderBytes + tokenBytes),
      ttl,
      receivedAt: stampedAt,
      ...about,
    };
  }

  /** Only raw IPv4 sockets deliver the IP header. */
  #withoutIpHeader(data: Buffer): Buffer {
    if (this.mode !== 'raw' || this.family !== 4 || data.length === 0) return data;
    return data.subarray((data.readUInt8(0) & 0x0f) * 4);
  }

  #configure(): void {
    this.#set(linux.SOL_SOCKET, linux.SO_TIMESTAMPNS, 1);
    const whenSent = linux.SOF_TIMESTAMPING_TX_SOFTWARE | linux.SOF_TIMESTAMPING_OPT_TSONLY;
    this.#set(linux.SOL_SOCKET, linux.SO_TIMESTAMPING, whenSent);
    this.#set(linux.SOL_SOCKET, linux.SO_RCVBUF, receiveBufferBytes);
    if (this.family === 4) {
      this.#set(SOL_IP, linux.IP_RECVTTL, 1);
      this.#set(SOL_IP, linux.IP_RECVERR, 1);
    } else {
      this.#set(SOL_IPV6, linux.IPV6_RECVHOPLIMIT, 1);
      this.#set(SOL_IPV6, linux.IPV6_RECVERR, 1);
    }
    if (this.mode === 'raw') this.#receiveOnlyReplies();
  }

  /** A raw socket receives every ICMP packet of the namespace unless filtered. */
  #receiveOnlyReplies(): void {
    const type = echoReplyType(this.family);
    if (this.family === 4) {
      this.#set(linux.SOL_RAW, linux.ICMP_FILTER, ~(1 << type));
      return;
    }
    // One bit for each of the 256 types; set bits are blocked.
    const filter = Buffer.alloc(32, 0xff);
    const word = (type >> 5) * 4;
    filter.writeInt32LE(~(1 << (type & 31)), word);
    this.#libc.setsockopt(this.descriptor, linux.SOL_ICMPV6, linux.ICMPV6_FILTER, filter, filter.length);
  }

  /** Failures are ignored: the options only add information, and pings work without them. */
  #set(level: number, option: number, value: number): void {
    const encoded = Buffer.alloc(4);
    encoded.writeInt32LE(value);
    this.#libc.setsockopt(this.descriptor, level, option, encoded, encoded.length);
  }
}
