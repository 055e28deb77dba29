/**
 * The thread that creates the networks of runs, one at a time. It leaves the network of the host at once and waits in
 * an empty one, so that it keeps no network of a run alive.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { isMainThread, parentPort } from 'node:worker_threads';
import { toError } from '@picket/lib/errors.ts';
import { systemProgram } from '../system-program.ts';
import { AF_INET, AF_INET6, type Kernel, openKernel, SOCK_RAW, SOCK_STREAM } from './kernel.ts';
import { openListeners } from './listeners.ts';
import { addressBytes } from './packet.ts';
import { openPacketQueue } from './packet-queue.ts';

export interface NetworkOrder {
  /** Whether the host has IPv6 connectivity. */
  readonly hasIpv6: boolean;
}

/** The response to an order: a network, or the problem that prevented it. */
export type NetworkAnswer = { readonly parts: NetworkParts } | { readonly problem: string };

/** Descriptors of a new network. They belong to the receiver. */
export interface NetworkParts {
  readonly network: number;
  readonly queue: number;
  /** Listening sockets of the relay, by family; `raw4` and `raw6` send the responses to datagrams. */
  readonly listeners: readonly number[];
  /** Netlink socket for queries about listeners in the network. */
  readonly diagnosis: number;
  readonly raw4: number;
  readonly raw6: number | undefined;
}

/** Packet marks. */
export const marks = { relayed: 1, direct: 2, refused: 3, unreachable: 4, home: 5 } as const;
/** The addresses in every such network, from ranges that are not used on the Internet (RFC 7600, RFC 6666). */
export const ownAddresses = { 4: '192.0.0.8', 6: '100::8' } as const;

/** Connections are redirected to this loopback port, which is not reachable otherwise: see RunNetwork. */
export const relayPort = 1;
/** The network namespace of the calling thread. */
const ownNetwork = '/proc/thread-self/ns/net';
const IPPROTO_RAW = 255;
const SOL_SOCKET = 1;
const SO_MARK = 36;

/**
 * Builds the setup commands: a pair of interfaces, because a host with only loopback counts as offline. Every
 * connection and every datagram waits for a verdict of ours; everything else that would leave is rejected. Redirected
 * packets still count as leaving by `outer`, their original route, and are recognised by their new destination.
 */
function setUp({ hasIpv6 }: NetworkOrder): string {
  const rules = (rejections: Readonly<Record<string, string>>) => `*mangle
-A OUTPUT -p tcp --syn -m mark --mark 0 -j NFQUEUE --queue-num 0
-A OUTPUT -p udp -m mark --mark 0 -j NFQUEUE --queue-num 0
COMMIT
*nat
-A OUTPUT -p tcp -m mark --mark ${marks.relayed} -j REDIRECT --to-ports ${relayPort}
-A OUTPUT -p tcp -m mark --mark ${marks.home} -j REDIRECT
COMMIT
*filter
-A OUTPUT -p tcp -m mark --mark ${marks.refused} -j REJECT --reject-with tcp-reset
-A OUTPUT -m mark --mark ${marks.refused} -j REJECT --reject-with ${rejections.port}
-A OUTPUT -m mark --mark ${marks.unreachable} -j REJECT --reject-with ${rejections.address}
-A OUTPUT -o outer ! -d ${rejections.loopback} -m mark ! --mark ${marks.direct} -j REJECT --reject-with ${rejections.prohibited}
COMMIT
`;
  const ip = systemProgram('ip');
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
  // One process for several commands: starting one costs more than its work.
  const batch = (...commands: string[]) => `${ip} -batch - <<'END'\n${commands.join('\n')}\nEND`;
  return [
    batch(
      'link set lo up',
      'link add outer type veth peer name inner',
      `addr add ${ownAddresses[4]}/32 dev outer`,
      // No address may be added later: browsers treat that as a network change, and fail pending loads.
      'link set inner addrgenmode none up',
      'link set outer addrgenmode none up',
    ),
    // Meanwhile the kernel brings the interfaces up.
    `${systemProgram('iptables-restore')} <<'END'\n${rules(four)}END`,
    ...(hasIpv6Kernel() ? [`${systemProgram('ip6tables-restore')} <<'END'\n${rules(six)}END`] : []),
    `for i in 1 2 3 4 5 6 7 8 9; do case "$(${ip} link show dev outer)" in *'state UP'*) break;; esac; sleep 0.05; done`,
    batch(
      'route add default dev outer',
      ...(hasIpv6 ? [`addr add ${ownAddresses[6]}/128 dev outer nodad`, 'route add ::/0 dev outer'] : []),
    ),
  ].join('\n');
}

/** @throws Error if any step fails; everything is then cleaned up. */
function makeNetwork(kernel: Kernel, order: NetworkOrder): NetworkParts {
  kernel.leaveForNewNetwork();
  const opened: number[] = [];
  const keep = (descriptor: number) => {
    opened.push(descriptor);
    return descriptor;
  };
  try {
    return openNetwork(kernel, order, keep);
  } catch (thrown) {
    for (const descriptor of opened) kernel.close(descriptor);
    throw thrown;
  }
}

function openNetwork(
  kernel: Kernel,
  order: NetworkOrder,
  keep: (descriptor: number) => number,
): NetworkParts {
  const { status, stderr, error } = spawnSync('/bin/sh', ['-ec', setUp(order)], {
    encoding: 'utf8',
    env: { LC_ALL: 'C' },
  });
  if (error) throw error;
  if (status !== 0) throw new Error(stderr.trim().split('\n')[0] ?? `exit code ${status}`);
  const listen = (family: number, address: string) => {
    const descriptor = keep(kernel.socket(family, SOCK_STREAM, 0));
    kernel.bind(descriptor, socketAddress(family, address, relayPort));
    kernel.listen(descriptor);
    return descriptor;
  };
  const raw = (family: number) => {
    const descriptor = keep(kernel.socket(family, SOCK_RAW, IPPROTO_RAW));
    kernel.setOption(descriptor, SOL_SOCKET, SO_MARK, marks.direct);
    return descriptor;
  };
  return {
    network: keep(kernel.open(ownNetwork)),
    queue: keep(openPacketQueue(kernel)),
    diagnosis: keep(openListeners(kernel)),
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

/** Handles orders sequentially. An exception ends the thread, and a new one takes over. */
function serve(): void {
  const kernel = openKernel();
  kernel.leaveForNewNetwork();
  const empty = kernel.open(ownNetwork);
  parentPort?.on('message', (order: NetworkOrder) => {
    parentPort?.postMessage(answer(kernel, order));
    kernel.enterNetwork(empty);
  });
}

function answer(kernel: Kernel, order: NetworkOrder): NetworkAnswer {
  try {
    return { parts: makeNetwork(kernel, order) };
  } catch (thrown) {
    return { problem: toError(thrown).message };
  }
}

if (!isMainThread) serve();
