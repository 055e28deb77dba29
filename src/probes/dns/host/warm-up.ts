import { createSocket } from 'node:dgram';
import { ProbeError } from '../../connection/errors.ts';
import { openTimekeeper } from '../../kernel-thread/timekeeper.ts';
import { queryDns } from '../query.ts';

const queries = 3;

/**
 * Sends a few queries to a server of our own on loopback. The first query of a thread loads and compiles the codec,
 * which takes milliseconds; without a warm-up the first check, or the first lookup of any check, would include that
 * time. If nothing can listen on loopback, the first check is measured cold; nothing else depends on it.
 */
export async function warmUpDns(): Promise<void> {
  await openTimekeeper();
  const socket = createSocket('udp4');
  const isListening = await new Promise<boolean>((resolve) => {
    socket.once('error', () => resolve(false));
    socket.bind(0, '127.0.0.1', () => resolve(true));
  });
  if (!isListening) return;
  socket.on('message', (bytes, { port, address }) => {
    const answer = Buffer.from(bytes);
    // A query with its QR bit set is a response without records.
    answer.writeUInt8(answer.readUInt8(2) | 0x80, 2);
    socket.send(answer, port, address);
  });
  const { port } = socket.address();
  const server = { hostname: '127.0.0.1', address: '127.0.0.1', family: 4, port } as const;
  const controls = {
    egress: { refusal: () => undefined },
    signal: new AbortController().signal,
    timeoutMs: 1000,
  };
  try {
    for (let asked = 0; asked < queries; asked += 1) {
      await queryDns({ name: 'warm.invalid', type: 'A' }, server, { protocol: 'UDP' }, controls);
    }
  } catch (thrown) {
    // A packet filter blocks loopback: the first check is then measured cold.
    if (!(thrown instanceof ProbeError)) throw thrown;
  } finally {
    socket.close();
  }
}
