import { connect } from 'node:net';
import { join } from 'node:path';
import type pg from 'pg';

/** A client, with undocumented session fields of the driver. */
export type PostgresSession = Pick<pg.Client, 'host' | 'port'> & {
  readonly processID?: number | null;
  readonly secretKey?: number | null;
};

const cancelRequest = 80_877_102;

/**
 * Cancels the current statement of a session on the server, as psql does at Ctrl-C: by a request of the wire protocol
 * with the key of the session, which poolers also understand. Resolves when the server has received it. Does nothing if
 * no statement is running; if the request is lost, the statement ends by itself, at the latest by `statement_timeout`.
 */
export async function cancelStatement({ host, port, processID, secretKey }: PostgresSession): Promise<void> {
  if (typeof processID !== 'number' || typeof secretKey !== 'number') return;
  const request = Buffer.alloc(16);
  for (const [place, value] of [16, cancelRequest, processID, secretKey].entries()) {
    request.writeInt32BE(value, place * 4);
  }
  const isSocket = host.startsWith('/');
  const socket = isSocket ? connect(join(host, `.s.PGSQL.${port}`)) : connect(port, host);
  // A lost request changes nothing: the statement ends at its time limit.
  socket.on('error', () => undefined);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.setTimeout(5_000, () => socket.destroy());
  socket.end(request);
  // The server closes the connection without a response.
  socket.resume();
  await closed;
}
