/** The thread that makes one network and ends: it cannot come back to the network of the host. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { systemProgram } from '../system-program.ts';
import { AF_INET, AF_INET6, openKernel, SOCK_RAW, SOCK_STREAM } from './kernel.ts';
import { openListeners } from './listeners.ts';
import { addressBytes } from './packet.ts';
import { openPacketQueue } from './packet-queue.ts';

export interface NetworkOrder {
  /** Whether the host reaches others by IPv6. */
  readonly hasIpv6: boolean;
}

/** Descriptors of a network that was made. They belong to the receiver. */
export interface NetworkParts {
  readonly network: number;
  readonly queue: number;
  /** Where connections that may be made end up, and what answers to datagrams are sent with; by family. */
  readonly listeners: readonly number[];
  /** Tells whether something of the network listens. */
  readonly diagnosis: number;
  readonly raw4: number;
  readonly raw6: number | undefined;
}

/** What packets are marked with. */
export const marks = { relayed: 1, direct: 2, refused: 3, unreachable: 4 } as const;
/** The addresses of every such network: of ranges that nothing on the Internet has (RFC 7600, RFC 6666). */
export const ownAddresses = { 4: '192.0.0.8', 6: '100::8' } as const;

/** What connections are redirected to. */
const relayPort = 1;
const IPPROTO_RAW = 255;
const SOL_SOCKET = 1;
const SO_MARK = 36;

/**
 * A pair of interfaces, because a host with nothing but loopback counts as offline. Every connection and
 * every datagram waits for a word of ours; whatever else would leave is refused. What was redirected to the relay
 * counts as leaving by `outer` still, as that was its way before: its new destination tells.
 */
function setUp({ hasIpv6 }: NetworkOrder): string {
  const rules = (rejections: Readonly<Record<string, string>>) => `*mangle
-A OUTPUT -p tcp --syn -m mark --mark 0 -j NFQUEUE --queue-num 0
-A OUTPUT -p udp -m mark --mark 0 -j NFQUEUE --queue-num 0
COMMIT
*nat
-A OUTPUT -p tcp -m mark --mark ${marks.relayed} -j REDIRECT --to-ports ${relayPort}
COMMIT
*filter
-A OUTPUT -p tcp -m mark --mark ${marks.refused} -j REJECT --reject-with tcp-reset
-A OUTPUT -m mark --mark ${marks.refused} -j REJECT --reject-with ${rejections.port}
-A OUTPUT -m mark --mark ${marks.unreachable} -j REJECT --reject-with ${rejections.address}
-A OUTPUT -o outer ! -d ${rejections.loopback} -m mark ! --mark ${marks.direct} -j REJECT --reject-with ${rejections.prohibited}
COMMIT
`;
  const ip = systemProgram('ip');
  const grep = systemProgram('grep');
  const four = {
    loopback: '127.0.0.0/8',
    port: 'icmp-port-unreachable',
    address: 'icmp-host-unreachable',
    prohibited: 'icmp-admin-prohibited',
  };
  const six = {
    loopback: '::1/128',
    port: 'icmp6-port-unreachable',
    address: 'icmp6-addr-unreachable',
    prohibited: 'icmp6-adm-prohibited',
  };
  return [
    `${ip} link set lo up`,
    `${ip} link add outer type veth peer name inner`,
    `${ip} addr add ${ownAddresses[4]}/32 dev outer`,
    // No address may come later: browsers take that for another network, and fail what they are loading.
    `${ip} link set inner addrgenmode none up`,
    `${ip} link set outer addrgenmode none up`,
    `for i in 1 2 3 4 5 6 7 8 9; do ${ip} link show dev outer | ${grep} -q 'state UP' && break; sleep 0.05; done`,
    `${ip} route add default dev outer`,
    `${systemProgram('iptables-restore')} <<'END'\n${rules(four)}END`,
    ...(hasIpv6Kernel() ? [`${systemProgram('ip6tables-restore')} <<'END'\n${rules(six)}END`] : []),
    ...(hasIpv6
      ? [`${ip} -6 addr add ${ownAddresses[6]}/128 dev outer nodad`, `${ip} -6 route add default dev outer`]
      : []),
  ].join('\n');
}

function makeNetwork(order: NetworkOrder): NetworkParts {
  const kernel = openKernel();
  kernel.leaveForNewNetwork();
  const { status, stderr, error } = spawnSync('/bin/sh', ['-ec', setUp(order)], {
    encoding: 'utf8',
    env: { LC_ALL: 'C' },
  });
  if (error) throw error;
  if (status !== 0) throw new Error(stderr.trim().split('\n')[0] ?? `exit code ${status}`);
  const listen = (family: number, address: string) => {
    const descriptor = kernel.socket(family, SOCK_STREAM, 0);
    kernel.bind(descriptor, socketAddress(family, address, relayPort));
    kernel.listen(descriptor);
    return descriptor;
  };
  const raw = (family: number) => {
    const descriptor = kernel.socket(family, SOCK_RAW, IPPROTO_RAW);
    kernel.setOption(descriptor, SOL_SOCKET, SO_MARK, marks.direct);
    return descriptor;
  };
  return {
    network: kernel.open('/proc/thread-self/ns/net'),
    queue: openPacketQueue(kernel),
    diagnosis: openListeners(kernel),
    listeners: [listen(AF_INET, '127.0.0.1'), ...(hasIpv6Kernel() ? [listen(AF_INET6, '::1')] : [])],
    raw4: raw(AF_INET),
    raw6: hasIpv6Kernel() ? raw(AF_INET6) : undefined,
  };
}

function hasIpv6Kernel(): boolean {
  return existsSync('/proc/net/if_inet6');
}

/** A `struct sockaddr_in` or `sockaddr_in6`. */
export function socketAddress(family: number, address: string, port: number): Buffer {
  const bytes = Buffer.alloc(family === AF_INET ? 16 : 28);
  bytes.writeUInt16LE(family);
  bytes.writeUInt16BE(port, 2);
  addressBytes(address).copy(bytes, family === AF_INET ? 4 : 8);
  return bytes;
}

if (!isMainThread) parentPort?.postMessage(makeNetwork(workerData as NetworkOrder));
