/**
 * The target of the conversations benchmark, in a process of its own: several ports of each kind, each for one run,
 * because a banner does not identify a run. Prints `{"tcp": [PORT, ...], "steps": ..., "udp": ..., "starttls": ...}`.
 * On every other port it waits before it sends.
 *
 * Usage: node speaking-target.ts ADDRESS PORTS WAIT_MS
 */
import { createSocket } from 'node:dgram';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createSecureContext, TLSSocket } from 'node:tls';
import { createAuthority } from '../../helpers/targets/certificates.ts';

const [address = '127.0.0.1', portCount = '100', waitMs = '20'] = process.argv.slice(2);
const certificate = await (await createAuthority('Picket benchmark')).issue({ hosts: [address] });
const secureContext = createSecureContext({ ...certificate, minVersion: 'TLSv1.3' });

const speakers: Readonly<Record<string, (socket: Socket, soon: (speak: () => void) => void) => void>> = {
  tcp: (socket, soon) => soon(() => socket.end('hello\r\n')),
  steps: (socket, soon) => {
    soon(() => socket.write('hello\r\n'));
    socket.once('data', () => soon(() => socket.end('yes\r\n')));
  },
  starttls: (socket, soon) => {
    soon(() => socket.write('220 speaking.test ESMTP\r\n'));
    socket.on('data', (bytes) => {
      if (!bytes.toString().startsWith('STARTTLS'))
        return soon(() => socket.write('250-speaking.test\r\n250 STARTTLS\r\n'));
      socket.removeAllListeners('data');
      soon(() => {
        socket.write('220 go\r\n');
        new TLSSocket(socket, { isServer: true, secureContext }).on('error', () => socket.destroy()).resume();
      });
    });
  },
};

const ports: Record<string, number[]> = {};
for (const [kind, speak] of Object.entries(speakers)) {
  ports[kind] = await Promise.all(indices().map((index) => listening(speak, index)));
}
ports['udp'] = await Promise.all(indices().map(answering));
console.log(JSON.stringify(ports));
process.stdin.on('end', () => process.exit(0)).resume();

function indices(): number[] {
  return Array.from({ length: Number(portCount) }, (_, index) => index);
}

function sooner(index: number): (speak: () => void) => void {
  return (speak) => (index % 2 === 0 ? speak() : void setTimeout(speak, Number(waitMs)));
}

function listening(speak: (typeof speakers)[string], index: number): Promise<number> {
  const server = createServer({ noDelay: true }, (socket) => {
    socket.on('error', () => socket.destroy());
    speak(socket, sooner(index));
    socket.resume();
  });
  return new Promise((resolve) => {
    server.listen(0, address, () => resolve((server.address() as AddressInfo).port));
  });
}

function answering(index: number): Promise<number> {
  const socket = createSocket('udp4');
  socket.on('message', (bytes, peer) => sooner(index)(() => socket.send(bytes, peer.port, peer.address)));
  return new Promise((resolve) => socket.bind(0, address, () => resolve(socket.address().port)));
}
