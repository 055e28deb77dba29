import type { IpFamily } from '../address.ts';
import {
  add,
  addIpHeaderLength,
  and,
  bpfProgram,
  byte,
  byteAfterIp,
  copyIpHeaderLength,
  half,
  halfAfterIp,
  jumpIfEqual,
  measureIpv4Header,
  returnAccumulator,
  returnNothing,
  type Step,
  setIpHeaderLength,
  shiftRight,
  word,
  wordAfterIp,
} from '../sys/bpf.ts';
import { encodeSocketAddress } from '../sys/socket-address.ts';

/** Protocols that can be captured. */
export type TransportProtocol = 'tcp' | 'udp' | 'icmp';

/** The packets to capture, and how much of each to keep. */
export interface CaptureScope {
  readonly protocol: TransportProtocol;
  /** The peer's address as it appears in packets, without a zone. */
  readonly address: string;
  readonly family: IpFamily;
  /** The peer's port; ignored for pings. */
  readonly port: number;
  /** Local ports; all ports if empty. */
  readonly localPorts: readonly number[];
  /** Bytes to keep after the TCP, UDP or ICMP header. */
  readonly payloadBytes: number;
}

/** Above this number, ports are distinguished after the capture: BPF jumps span at most 255 steps. */
export const maxFilteredPorts = 16;

/** A field of a packet and its accepted values. */
interface Test {
  readonly load: Step;
  readonly mask?: number;
  readonly anyOf: readonly number[];
}

/** One class of packets: all tests must match. `length` leaves the number of bytes to keep in the accumulator. */
interface Sort {
  readonly tests: readonly Test[];
  readonly length: readonly Step[];
}

const icmpHeaderBytes = 8;
const udpHeaderBytes = 8;

/** Offsets of the header fields that the filter reads, per family, in bytes. */
const layouts = {
  4: {
    version: 0x40,
    protocolAt: 9,
    sourceAt: 12,
    destinationAt: 16,
    quotedHeaderBytes: 20,
    protocols: { tcp: 6, udp: 17, icmp: 1 },
    // Echo reply and request.
    echoes: [0, 8],
    // Unreachable and time exceeded.
    icmpErrors: [3, 11],
    prologue: [measureIpv4Header],
    // Only the first fragment of a packet has a TCP header.
    onlyWhole: [{ load: half(6), mask: 0x1fff, anyOf: [0] }],
  },
  6: {
    version: 0x60,
    protocolAt: 6,
    sourceAt: 8,
    destinationAt: 24,
    quotedHeaderBytes: 40,
    protocols: { tcp: 6, udp: 17, icmp: 58 },
    echoes: [129, 128],
    // Unreachable, packet too big, time exceeded.
    icmpErrors: [1, 2, 3],
    prologue: [setIpHeaderLength(40)],
    onlyWhole: [],
  },
} as const;

/**
 * Builds a classic BPF program (`struct sock_filter`s) for packets that start at their IP header. It accepts the TCP
 * segments or datagrams to and from a peer's port, or pings to and from the peer, and the ICMP errors about packets
 * sent to it. It truncates each packet inside the kernel: to `payloadBytes` after its header; errors to the first 8
 * bytes of the quoted header (TCP ports and sequence number; the whole UDP or echo header).
 *
 * IPv6 packets with extension headers are not recognised; this host sends none.
 */
export function captureFilter(scope: CaptureScope): Buffer {
  const layout = layouts[scope.family];
  const steps: Step[] = [...layout.prologue];
  for (const sort of sortsOf(scope)) steps.push(...assembled(sort));
  steps.push(returnNothing);
  return bpfProgram(steps);
}

function sortsOf(scope: CaptureScope): Sort[] {
  const { family, address, port, protocol } = scope;
  const layout = layouts[family];
  const number = layout.protocols[protocol];
  const localPorts = scope.localPorts.length > maxFilteredPorts ? [] : scope.localPorts;
  const isFamily: Test = { load: byte(0), mask: 0xf0, anyOf: [layout.version] };
  const isOurs: Test[] = [isFamily, { load: byte(layout.protocolAt), anyOf: [number] }, ...layout.onlyWhole];
  const portsAre = (sourceAt: number, remoteFirst: boolean): Test[] => [
    { load: halfAfterIp(remoteFirst ? sourceAt : sourceAt + 2), anyOf: [port] },
    ...(localPorts.length === 0
      ? []
      : [{ load: halfAfterIp(remoteFirst ? sourceAt + 2 : sourceAt), anyOf: localPorts }]),
  ];
  const isEcho: Test[] = [{ load: byteAfterIp(0), anyOf: layout.echoes }];
  const quotedAt = icmpHeaderBytes + layout.quotedHeaderBytes;
  const quotedIs = protocol === 'icmp' ? [] : portsAre(quotedAt, false);
  const length = keptLength(scope);
  return [
    {
      tests: [
        ...isOurs,
        ...addressIs(address, layout.destinationAt, word),
        ...(protocol === 'icmp' ? isEcho : portsAre(0, false)),
      ],
      length,
    },
    {
      tests: [
        ...isOurs,
        ...addressIs(address, layout.sourceAt, word),
        ...(protocol === 'icmp' ? isEcho : portsAre(0, true)),
      ],
      length,
    },
    {
      tests: [
        isFamily,
        { load: byte(layout.protocolAt), anyOf: [layout.protocols.icmp] },
        ...layout.onlyWhole,
        { load: byteAfterIp(0), anyOf: layout.icmpErrors },
        { load: byteAfterIp(icmpHeaderBytes + layout.protocolAt), anyOf: [number] },
        ...addressIs(address, icmpHeaderBytes + layout.destinationAt, wordAfterIp),
        ...quotedIs,
      ],
      length: [copyIpHeaderLength, add(quotedAt + 8)],
    },
  ];
}

function keptLength({ protocol, payloadBytes }: CaptureScope): Step[] {
  if (protocol !== 'tcp') {
    const headerBytes = protocol === 'udp' ? udpHeaderBytes : icmpHeaderBytes;
    return [copyIpHeaderLength, add(headerBytes + payloadBytes)];
  }
  return [
    byteAfterIp(12),
    // The upper four bits count words of four bytes.
    and(0xf0),
    shiftRight(2),
    addIpHeaderLength,
    add(payloadBytes),
  ];
}

function addressIs(address: string, offset: number, load: (offset: number) => Step): Test[] {
  const encoded = encodeSocketAddress(address);
  const bytes = address.includes(':') ? encoded.subarray(8, 24) : encoded.subarray(4, 8);
  return Array.from({ length: bytes.length / 4 }, (_, index) => ({
    load: load(offset + 4 * index),
    anyOf: [bytes.readUInt32BE(4 * index)],
  }));
}

/** The steps of one class; a failed test jumps past them, to the next class. */
function assembled({ tests, length }: Sort): Step[] {
  const accept = [...length, returnAccumulator];
  const steps: Step[] = [];
  const sizes = tests.map(({ mask, anyOf }) => 1 + (mask === undefined ? 0 : 1) + anyOf.length);
  const total = sizes.reduce((sum, size) => sum + size, 0) + accept.length;
  for (const { load, mask, anyOf } of tests) {
    steps.push(load);
    if (mask !== undefined) steps.push(and(mask));
    for (const [index, value] of anyOf.entries()) {
      const left = anyOf.length - 1 - index;
      // Jump offsets count from the step after the jump.
      const next = total - steps.length - 1;
      steps.push(jumpIfEqual(value, left, left === 0 ? next : 0));
    }
  }
  return [...steps, ...accept];
}
