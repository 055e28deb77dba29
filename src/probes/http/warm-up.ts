import type { AddressInfo } from 'node:net';
import { secureContextFor } from '../connection/secure-contexts.ts';
import { createEgressPolicy } from '../egress/policy.ts';
import { openTimekeeper } from '../kernel-thread/timekeeper.ts';
import { systemResolver } from '../resolver.ts';
import { probeHttp } from './probe.ts';

// Not a static import: that would load the WebSocket of Node's own undici, 45 ms of CPU in each thread.
const http = process.getBuiltinModule('node:http');

const requests = 3;

/**
 * Sends a few requests to a server of our own on loopback. The first request of a thread compiles the parser and loads
 * lazy modules, which takes tens of milliseconds; without a warm-up the first check would report them as its target's
 * time. If nothing can listen on loopback, the first check is measured cold; nothing else depends on it.
 */
export async function warmUpHttp(): Promise<void> {
  await openTimekeeper();
  secureContextFor(undefined);
  const server = http.createServer((_request, response) => response.end('warm'));
  const isListening = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(0, '127.0.0.1', () => resolve(true));
  });
  if (!isListening) return;
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  try {
    for (let sent = 0; sent < requests; sent += 1) {
      await probeHttp(
        {
          url,
          method: 'GET',
          headers: [],
          body: undefined,
          followRedirects: false,
          isCertificateChecked: true,
          family: 4,
          proxy: undefined,
          maxBodyBytes: 1024,
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
