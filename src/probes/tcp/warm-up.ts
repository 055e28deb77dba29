import { type AddressInfo, createServer } from 'node:net';
import { createEgressPolicy } from '../egress/policy.ts';
import { openTimekeeper } from '../kernel-thread/timekeeper.ts';
import { systemResolver } from '../resolver.ts';
import { probeTcp } from './probe.ts';

const conversations = 3;

/**
 * Runs a few conversations with an echo server of our own on loopback: the first conversation of a thread compiles and
 * loads common code, and the first check would report that as its target's time. If nothing can listen on loopback, the
 * first check is measured cold; nothing else depends on it.
 */
export async function warmUpTcp(): Promise<void> {
  await openTimekeeper();
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.once('data', (chunk) => socket.end(chunk));
  });
  const isListening = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(0, '127.0.0.1', () => resolve(true));
  });
  if (!isListening) return;
  const { port } = server.address() as AddressInfo;
  try {
    for (let sent = 0; sent < conversations; sent += 1) {
      await probeTcp(
        {
          hostname: '127.0.0.1',
          port,
          family: 4,
          tls: undefined,
          data: 'warm',
          isAnswerWanted: true,
          maxAnswerBytes: 1024,
          idleGapMs: 1000,
        },
        {
          resolver: systemResolver,
          egress: createEgressPolicy(),
          signal: new AbortController().signal,
          timeoutMs: 1000,
        },
      );
    }
  } finally {
    server.close();
  }
}
