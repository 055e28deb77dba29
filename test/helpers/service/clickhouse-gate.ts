import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/**
 * Fate of an insert: `hold before`, it does not reach ClickHouse; `hold after`, it is stored but the response is held
 * back; `lose`, the connection ends after it was stored.
 */
export type Fate = 'pass' | 'hold before' | 'hold after' | 'lose';

/** A proxy for ClickHouse that can stop inserts at critical moments. */
export interface ClickHouseGate extends AsyncDisposable {
  /** The same database, through the gate. */
  readonly url: string;
  /** Number of inserts that were stored through it. */
  readonly inserts: number;
  /** Lets `passing` inserts pass; resolves when the next one has met its fate. Later inserts pass. */
  next(fate: Fate, passing?: number): Promise<void>;
}

export async function openClickHouseGate(databaseUrl: string): Promise<ClickHouseGate> {
  const target = new URL(databaseUrl);
  let inserts = 0;
  let fate: Fate = 'pass';
  let passing = 0;
  let onFate: (() => void) | undefined;
  const forward = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await buffer(request);
    const isInsert = request.url?.includes('insert') === true;
    const own = isInsert && passing === 0 ? fate : 'pass';
    if (isInsert && passing > 0) passing -= 1;
    else if (isInsert) fate = 'pass';
    if (own === 'hold before') {
      onFate?.();
      return;
    }
    const headers = new Headers();
    for (const name of ['x-clickhouse-user', 'x-clickhouse-key']) {
      const value = request.headers[name];
      if (typeof value === 'string') headers.set(name, value);
    }
    const answer = await fetch(`${target.origin}${request.url}`, { method: 'POST', headers, body });
    const content = Buffer.from(await answer.arrayBuffer());
    if (isInsert && answer.ok) inserts += 1;
    if (own !== 'pass') {
      if (own === 'lose') request.socket.destroy();
      onFate?.();
      return;
    }
    response.writeHead(answer.status).end(content);
  };
  const server = createServer((request, response) => {
    forward(request, response).catch(() => request.socket.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: Object.assign(new URL(databaseUrl), { port: String(port) }).href,
    get inserts() {
      return inserts;
    },
    next: (nextFate, passingFirst = 0) =>
      new Promise((resolve) => {
        fate = nextFate;
        passing = passingFirst;
        onFate = resolve;
      }),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
