import type { AddressInfo, Server, Socket } from 'node:net';

/** A real server of a test on a free port. */
export interface Target extends AsyncDisposable {
  /** Such as `http://127.0.0.1:40123`, without a path. */
  readonly url: string;
  readonly host: string;
  readonly port: number;
  /** Number of accepted connections so far. */
  connectionCount(): number;
  /** Closes the server and destroys every connection. */
  close(): Promise<void>;
}

/** Starts a server on a free port and makes it a target that closes at once, even with active clients. */
export async function listen(
  server: Server,
  options: { readonly scheme: string; readonly host?: string | undefined },
): Promise<Target> {
  const host = options.host ?? '127.0.0.1';
  const sockets = new Set<Socket>();
  let connections = 0;
  server.on('connection', (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    // Clients in tests break off connections on purpose.
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  return {
    url: `${options.scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`,
    host,
    port,
    connectionCount: () => connections,
    close,
    [Symbol.asyncDispose]: close,
  };
}
