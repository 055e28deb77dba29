import { AF_INET, AF_INET6, AF_NETLINK, type Kernel, SOCK_RAW } from './kernel.ts';
import { addressBytes, type Packet } from './packet.ts';

/** Queries the kernel for one socket by its own address and port (sock_diag), without enumerating all sockets. */

const NETLINK_SOCK_DIAG = 4;
const SOCK_DIAG_BY_FAMILY = 20;
const NLM_F_REQUEST = 1;
const protocolNumbers = { tcp: 6, udp: 17 } as const;
const requestBytes = 72;
const typeOffset = 4;

/** Opens a netlink socket for the network of the calling thread. @throws SysError */
export function openListeners(kernel: Kernel): number {
  const descriptor = kernel.socket(AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG);
  const address = Buffer.alloc(12);
  address.writeUInt16LE(AF_NETLINK);
  kernel.bind(descriptor, address);
  return descriptor;
}

/** Returns whether a socket of that network would receive the packet. */
export function isHeard(kernel: Kernel, descriptor: number, packet: Packet): boolean {
  const request = Buffer.alloc(requestBytes);
  request.writeUInt32LE(requestBytes);
  request.writeUInt16LE(SOCK_DIAG_BY_FAMILY, typeOffset);
  request.writeUInt16LE(NLM_F_REQUEST, 6);
  request.writeUInt8(packet.family === 4 ? AF_INET : AF_INET6, 16);
  request.writeUInt8(protocolNumbers[packet.protocol], 17);
  request.writeUInt32LE(0xffffffff, 20); // in any state
  const own = { port: packet.destinationPort, address: addressBytes(packet.destination) };
  const other = { port: packet.sourcePort, address: addressBytes(packet.source) };
  // For UDP the kernel swaps source and destination, for historical reasons (udp_diag.c).
  const [first, second] = packet.protocol === 'tcp' ? [own, other] : [other, own];
  request.writeUInt16BE(first.port, 24);
  request.writeUInt16BE(second.port, 26);
  first.address.copy(request, 28);
  second.address.copy(request, 44);
  request.fill(0xff, 64, 72); // no cookie
  kernel.send(descriptor, request);
  const answer = Buffer.alloc(1024);
  const count = kernel.receive(descriptor, answer);
  return count !== undefined && answer.readUInt16LE(typeOffset) === SOCK_DIAG_BY_FAMILY;
}
