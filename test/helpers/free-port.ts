import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

const given = new Set<number>();

/**
 * A port of 127.0.0.1 for a process that cannot be given port 0. It is below the ports that Linux gives connections,
 * so none of those takes it before the process listens.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 32_768);
    if (given.has(port) || !(await canListen(port))) continue;
    given.add(port);
    return port;
  }
}

async function canListen(port: number): Promise<boolean> {
  const server = createServer();
  return await new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
