import { randomInt } from 'node:crypto';
import { closeSync } from 'node:fs';
import type { IpFamily } from '../../address.ts';
import {
  attachFilter,
  bpfProgram,
  half,
  halfAfterIp,
  jumpIfEqual,
  measureIpv4Header,
  returnNothing,
  returnWhole,
} from '../../sys/bpf.ts';
import { adoptDescriptor } from '../../sys/descriptor.ts';
import { errnoName } from '../../sys/errno.ts';
import type { Libc } from '../../sys/libc.ts';
import * as linux from '../../sys/linux.ts';
import type { MessageReceiver, ReceivedMessage } from '../../sys/message.ts';
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
 * kernel chooses the identifier and delivers only its replies. `raw`: needs NET_RAW; a filter leaves out the replies to
 * other processes.
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

/** State of a family's socket: its mode, or the errors that prevented it. */
export type FamilyReport =
  | { readonly mode: SocketMode }
  | { readonly mode: null; readonly datagramErrno: string; readonly rawErrno: string };

/**
 * Called with an echo reply, or with a network error about an echo request, whose ICMP header (of the reply, or of the
 * request that the error quotes) begins at that byte of the message. An error has `message.error`.
 */
export type OnAnswer = (message: ReceivedMessage, at: number) => void;

/**
 * Path MTU discovery mode for a socket. `dontFragment` selects "probe": each request tests the path again, instead of
 * being refused locally because of a path MTU that the kernel learned earlier.
 */
export function pathMtuDiscovery(dontFragment: boolean | undefined): number {
  if (dontFragment === undefined) return linux.PMTUDISC_WANT;
  return dontFragment ? linux.PMTUDISC_PROBE : linux.PMTUDISC_DONT;
}

const receiveBufferBytes = 1 << 20;
/** Share of its buffer that unread replies may fill: it also holds departures, and more for a packet than its bytes. */
const roomShare = 1 / 3;
const { SOL_IP, SOL_IPV6 } = linux;

/** A non-blocking ICMP socket of one family that sends echo requests and receives the answers. */
export class EchoSocket {
  readonly family: IpFamily;
  readonly mode: SocketMode;
  readonly descriptor: number;
  readonly #libc: Libc;
  readonly #identifier = randomInt(0x10000);
  #roomBytes = 0;
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
  prepare(sequence: number, dataBytes: number, tokens: Buffer, tokenAt: number): void {
    if (this.#packet.length !== echoHeaderBytes + dataBytes) {
      const { family } = this;
      const token = tokens.subarray(tokenAt, tokenAt + tokenBytes);
      this.#packet = echoRequest({ family, identifier: this.#identifier, sequence, token, dataBytes });
    } else {
      numberEchoRequest(this.#packet, sequence, tokens, tokenAt);
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
  receiveReplies(receiver: MessageReceiver, onAnswer: OnAnswer): void {
    receiver.drain(this.descriptor, 'packets', (message) => {
      const at = this.#headerAt(message);
      const isReply = message.bytes[at] === echoReplyType(this.family);
      if (isReply && this.#isOurs(message, at)) onAnswer(message, at);
    });
  }

  /** Reads the error queue: network errors, and the departures of requests in send order. */
  receiveErrors(receiver: MessageReceiver, onAnswer: OnAnswer, onLeft: (atMs: number) => void): void {
    receiver.drain(this.descriptor, 'errors', (message) => {
      switch (message.errorOrigin) {
        case linux.SO_EE_ORIGIN_TIMESTAMPING:
          if (message.stampedMs !== undefined) onLeft(message.stampedMs);
          break;
        case undefined:
        // Local errors were already reported by the send.
        case linux.SO_EE_ORIGIN_LOCAL:
          break;
        default:
          if (this.#isOurs(message, 0)) onAnswer(message, 0);
      }
    });
  }

  /** Bytes of replies that can surely wait to be read. */
  get roomBytes(): number {
    return this.#roomBytes;
  }

  close(): void {
    closeSync(this.descriptor);
  }

  /** Whether a whole ICMP header begins there, of a request of this socket or of a reply to one. */
  #isOurs({ bytes, sizeBytes }: ReceivedMessage, at: number): boolean {
    if (sizeBytes < at + echoHeaderBytes) return false;
    return this.mode === 'datagram' || bytes.readUInt16BE(at + 4) === this.#identifier;
  }

  /** Only raw IPv4 sockets deliver the IP header. */
  #headerAt({ bytes, sizeBytes }: ReceivedMessage): number {
    if (this.mode !== 'raw' || this.family !== 4 || sizeBytes === 0) return 0;
    return (bytes.readUInt8(0) & 0x0f) * 4;
  }

  #configure(): void {
    this.#set(linux.SOL_SOCKET, linux.SO_TIMESTAMPNS, 1);
    const whenSent = linux.SOF_TIMESTAMPING_TX_SOFTWARE | linux.SOF_TIMESTAMPING_OPT_TSONLY;
    this.#set(linux.SOL_SOCKET, linux.SO_TIMESTAMPING, whenSent);
    // Beyond the limit of the system, if this process may.
    this.#set(linux.SOL_SOCKET, linux.SO_RCVBUF, receiveBufferBytes);
    this.#set(linux.SOL_SOCKET, linux.SO_RCVBUFFORCE, receiveBufferBytes);
    this.#roomBytes = this.#get(linux.SOL_SOCKET, linux.SO_RCVBUF) * roomShare;
    if (this.family === 4) {
      this.#set(SOL_IP, linux.IP_RECVTTL, 1);
      this.#set(SOL_IP, linux.IP_RECVERR, 1);
    } else {
      this.#set(SOL_IPV6, linux.IPV6_RECVHOPLIMIT, 1);
      this.#set(SOL_IPV6, linux.IPV6_RECVERR, 1);
    }
    if (this.mode === 'raw') this.#receiveOnlyOwnReplies();
  }

  /**
   * A raw socket receives every ICMP packet of the namespace unless filtered. The replies to other processes would fill its
   * buffer, and ours would be lost.
   */
  #receiveOnlyOwnReplies(): void {
    const { family, descriptor } = this;
    const type = echoReplyType(family);
    // Only raw IPv4 sockets see the IP header.
    const identifier = family === 4 ? [measureIpv4Header, halfAfterIp(4)] : [half(4)];
    const isOwn = jumpIfEqual(this.#identifier, 0, 1);
    attachFilter(this.#libc, descriptor, bpfProgram([...identifier, isOwn, returnWhole, returnNothing]));
    if (family === 4) {
      this.#set(linux.SOL_RAW, linux.ICMP_FILTER, ~(1 << type));
      return;
    }
    // One bit for each of the 256 types; set bits are blocked.
    const filter = Buffer.alloc(32, 0xff);
    const word = (type >> 5) * 4;
    filter.writeInt32LE(~(1 << (type & 31)), word);
    this.#libc.setsockopt(descriptor, linux.SOL_ICMPV6, linux.ICMPV6_FILTER, filter, filter.length);
  }

  /** Failures are ignored: the options only add information, and pings work without them. */
  #set(level: number, option: number, value: number): void {
    const encoded = Buffer.alloc(4);
    encoded.writeInt32LE(value);
    this.#libc.setsockopt(this.descriptor, level, option, encoded, encoded.length);
  }

  #get(level: number, option: number): number {
    const value = Buffer.alloc(4);
    const sizeBytes = Buffer.alloc(4);
    sizeBytes.writeUInt32LE(value.length);
    this.#libc.getsockopt(this.descriptor, level, option, value, sizeBytes);
    return value.readInt32LE();
  }
}
