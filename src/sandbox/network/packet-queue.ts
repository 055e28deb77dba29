import { AF_NETLINK, type Kernel, SOCK_RAW, SysError } from './kernel.ts';

/**
 * A queue of packets that wait in the kernel for a verdict of ours (nfnetlink_queue). Messages follow Linux's uapi
 * headers: netlink's own fields are in host byte order, the rest in network byte order.
 */

const NETLINK_NETFILTER = 12;
const NFNL_SUBSYS_QUEUE = 3;
const NFQNL_MSG_PACKET = 0;
const NFQNL_MSG_VERDICT = 1;
const NFQNL_MSG_CONFIG = 2;
const NFQA_CFG_CMD = 1;
const NFQA_CFG_PARAMS = 2;
const NFQA_CFG_QUEUE_MAXLEN = 3;
const NFQNL_CFG_CMD_BIND = 1;
const NFQNL_COPY_PACKET = 2;
const NFQA_PACKET_HDR = 1;
const NFQA_VERDICT_HDR = 2;
const NFQA_MARK = 3;
const NFQA_PAYLOAD = 10;
const NLM_F_REQUEST = 1;
const SOL_NETLINK = 270;
const NETLINK_NO_ENOBUFS = 5;
const SOL_SOCKET = 1;
const SO_RCVBUFFORCE = 33;
const NF_DROP = 0;
const NF_ACCEPT = 1;
const headerBytes = 20;
const maxPacketBytes = 0xffff;
const maxWaiting = 2048;
const receiveBufferBytes = 4 * 1024 * 1024;

/** A waiting packet. */
export interface QueuedPacket {
  readonly id: number;
  /** From its IP header on. */
  readonly bytes: Buffer;
}

export class PacketQueue {
  readonly descriptor: number;
  readonly #kernel: Kernel;
  readonly #buffer = Buffer.allocUnsafe(maxPacketBytes + 4096);

  /** @param descriptor see `openPacketQueue`. */
  constructor(kernel: Kernel, descriptor: number) {
    this.#kernel = kernel;
    this.descriptor = descriptor;
  }

  /** Reads the packets that have arrived since the last call. */
  *read(): Generator<QueuedPacket> {
    for (;;) {
      const count = this.#kernel.receive(this.descriptor, this.#buffer);
      if (count === undefined) return;
      for (let at = 0; at + headerBytes <= count; ) {
        const lengthBytes = this.#buffer.readUInt32LE(at);
        if (lengthBytes < headerBytes) break;
        if (this.#buffer.readUInt16LE(at + 4) === ((NFNL_SUBSYS_QUEUE << 8) | NFQNL_MSG_PACKET)) {
          const packet = readPacket(this.#buffer.subarray(at + headerBytes, at + lengthBytes));
          if (packet) yield packet;
        }
        at += (lengthBytes + 3) & ~3;
      }
    }
  }

  /** Accepts a packet, with a mark for the following rules. */
  accept(id: number, mark: number): void {
    const value = Buffer.alloc(4);
    value.writeUInt32BE(mark);
    this.#answer(id, NF_ACCEPT, attribute(NFQA_MARK, value));
  }

  drop(id: number): void {
    this.#answer(id, NF_DROP, Buffer.alloc(0));
  }

  #answer(id: number, verdict: number, more: Buffer): void {
    const header = Buffer.alloc(8);
    header.writeUInt32BE(verdict);
    header.writeUInt32BE(id, 4);
    this.#send(NFQNL_MSG_VERDICT, Buffer.concat([attribute(NFQA_VERDICT_HDR, header), more]));
  }

  #send(type: number, attributes: Buffer): void {
    this.#kernel.send(this.descriptor, message(type, attributes));
  }
}

/**
 * Opens queue 0 in the network of the calling thread.
 *
 * @returns its descriptor.
 * @throws SysError
 */
export function openPacketQueue(kernel: Kernel): number {
  const descriptor = kernel.socket(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER);
  const address = Buffer.alloc(12);
  address.writeUInt16LE(AF_NETLINK);
  kernel.bind(descriptor, address);
  kernel.setOption(descriptor, SOL_NETLINK, NETLINK_NO_ENOBUFS, 1);
  try {
    kernel.setOption(descriptor, SOL_SOCKET, SO_RCVBUFFORCE, receiveBufferBytes);
  } catch (thrown) {
    if (!(thrown instanceof SysError)) throw thrown; // requires root of the host: the default size has to do
  }
  const configure = (name: number, value: Buffer) =>
    kernel.send(descriptor, message(NFQNL_MSG_CONFIG, attribute(name, value)));
  configure(NFQA_CFG_CMD, Buffer.from([NFQNL_CFG_CMD_BIND, 0, 0, 0]));
  const copy = Buffer.alloc(5);
  copy.writeUInt32BE(maxPacketBytes);
  copy.writeUInt8(NFQNL_COPY_PACKET, 4);
  configure(NFQA_CFG_PARAMS, copy);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(maxWaiting);
  configure(NFQA_CFG_QUEUE_MAXLEN, length);
  return descriptor;
}

function message(type: number, attributes: Buffer): Buffer {
  const header = Buffer.alloc(headerBytes);
  header.writeUInt32LE(headerBytes + attributes.length);
  header.writeUInt16LE((NFNL_SUBSYS_QUEUE << 8) | type, 4);
  header.writeUInt16LE(NLM_F_REQUEST, 6);
  // Then the family, the version, and the queue number: all 0.
  return Buffer.concat([header, attributes]);
}

function attribute(name: number, value: Buffer): Buffer {
  const bytes = Buffer.alloc((4 + value.length + 3) & ~3);
  bytes.writeUInt16LE(4 + value.length);
  bytes.writeUInt16LE(name, 2);
  value.copy(bytes, 4);
  return bytes;
}

function readPacket(attributes: Buffer): QueuedPacket | undefined {
  let id: number | undefined;
  let bytes: Buffer | undefined;
  for (let at = 0; at + 4 <= attributes.length; ) {
    const lengthBytes = attributes.readUInt16LE(at);
    if (lengthBytes < 4) break;
    const name = attributes.readUInt16LE(at + 2) & 0x3fff;
    const value = attributes.subarray(at + 4, at + lengthBytes);
    if (name === NFQA_PACKET_HDR) id = value.readUInt32BE();
    // A copy: the buffer is reused before the verdict is known.
    else if (name === NFQA_PAYLOAD) bytes = Buffer.from(value);
    at += (lengthBytes + 3) & ~3;
  }
  return id === undefined || bytes === undefined ? undefined : { id, bytes };
}
