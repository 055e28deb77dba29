/**
 * A host that answers echo requests as instructed: started in the target's namespace with one word for each expected
 * request, while the kernel's own replies are switched off. It prints a line when it is ready.
 *
 * `once`, `twice`, `late:<ms>`, `after-next` (answered together with the next request), `other-token`,
 * `other-sequence`, `other-identifier`, `short` (only the header), `other-source`, `silent`.
 */
import { internetChecksum } from '../../../src/probes/icmp/echo/packet.ts';
import { loadLibc } from '../../../src/probes/sys/libc.ts';
import { AF_INET, IPPROTO_ICMP, POLLIN, SOCK_NONBLOCK, SOCK_RAW } from '../../../src/probes/sys/linux.ts';
import { MessageReceiver } from '../../../src/probes/sys/message.ts';
import { encodeSocketAddress } from '../../../src/probes/sys/socket-address.ts';

const plan = process.argv.slice(2);
const libc = await loadLibc();
const descriptor = libc.socket(AF_INET, SOCK_RAW | SOCK_NONBLOCK, IPPROTO_ICMP);
if (descriptor < 0) throw new Error(`no raw socket (errno ${libc.errno()})`);
const receiver = new MessageReceiver(libc);
const entry = Buffer.alloc(8);
entry.writeInt32LE(descriptor, 0);
entry.writeInt16LE(POLLIN, 4);
const changes: Readonly<Record<string, (packet: Buffer) => Buffer>> = {
  'other-token': (packet) => {
    packet.writeUInt8(packet.readUInt8(8) ^ 0xff, 8);
    return packet;
  },
  'other-sequence': (packet) => {
    packet.writeUInt16BE((packet.readUInt16BE(6) + 1000) & 0xffff, 6);
    return packet;
  },
  'other-identifier': (packet) => {
    packet.writeUInt16BE(packet.readUInt16BE(4) ^ 0xffff, 4);
    return packet;
  },
  short: (packet) => packet.subarray(0, 8),
};
const later: { readonly atMs: number; readonly send: () => void }[] = [];
const afterNext: (() => void)[] = [];
process.stdout.write('ready\n');

while (plan.length > 0 || later.length > 0) {
  libc.poll(entry, 1, 5);
  receiver.drain(descriptor, 'packets', ({ data, address }) => {
    const request = data.subarray((data.readUInt8(0) & 0x0f) * 4);
    if (request.readUInt8(0) !== 8 || address === undefined) return;
    const held = afterNext.splice(0);
    respond(plan.shift() ?? 'silent', Buffer.from(request), encodeSocketAddress(address));
    for (const send of held) send();
  });
  const nowMs = performance.now();
  for (const due of later.filter(({ atMs }) => atMs <= nowMs)) {
    due.send();
    later.splice(later.indexOf(due), 1);
  }
}

/** Sends the reply from an address other than the one that the request was sent to. */
function replyFromElsewhere(packet: Buffer, to: Buffer): void {
  const header = Buffer.alloc(20);
  header.set([0x45, 0, 0, 0, 0, 0, 0, 0, 64, IPPROTO_ICMP]);
  header.set([10, 80, 2, 9], 12);
  header.set(to.subarray(4, 8), 16);
  // A socket of protocol 255 takes whole packets; the kernel fills in their length and checksum.
  const elsewhere = libc.socket(AF_INET, SOCK_RAW, 255);
  const whole = Buffer.concat([header, packet]);
  libc.sendto(elsewhere, whole, whole.length, 0, to, to.length);
  libc.close(elsewhere);
}

function respond(how: string, request: Buffer, to: Buffer): void {
  const [manner = '', waitMs = '0'] = how.split(':');
  const changed = changes[manner]?.(request) ?? request;
  const send = () => reply(changed, to, manner === 'other-source' ? replyFromElsewhere : replyFromHere);
  if (manner === 'silent') return;
  if (manner === 'after-next') afterNext.push(send);
  else if (manner === 'late') later.push({ atMs: performance.now() + Number(waitMs), send });
  else send();
  if (manner === 'twice') send();
}

function reply(request: Buffer, to: Buffer, send: typeof replyFromHere): void {
  const packet = Buffer.from(request);
  packet.writeUInt8(0, 0);
  packet.writeUInt16BE(0, 2);
  packet.writeUInt16BE(internetChecksum(packet), 2);
  send(packet, to);
}

function replyFromHere(packet: Buffer, to: Buffer): void {
  libc.sendto(descriptor, packet, packet.length, 0, to, to.length);
}
