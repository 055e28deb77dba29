import { connect } from 'node:net';
import { join } from 'node:path';
import type pg from 'pg';

/** A client with what the driver keeps of its session but does not document. */
export type PostgresSession = Pick<pg.Client, 'host' | 'port'> & {
  readonly processID?: number | null;
  readonly secretKey?: number | null;
};

const cancelRequest = 80_877_102;

/**
 * Ends the statement that a session works on, on the server, as psql does at Ctrl-C: by a request of the wire protocol
 * that shows the key of the session, which poolers understand, too. Resolves when the server has taken it. Where there
 * is no statement nothing happens; where the request does not arrive, the statement ends by itself, at last by
 * `statement_timeout`.
 */
export async function cancelStatement({ host, port, processID, secretKey }: PostgresSession): Promise<void> {
  if (typeof processID !== 'number' || typeof secretKey !== 'number') return;
  const request = Buffer.alloc(16);
  for (const [place, value] of [16, cancelRequest, processID, secretKey].entries()) {
    request.writeInt32BE(value, place * 4);
  }
  const isSocket = host.startsWith('/');
  const socket = isSocket ? connect(join(host, `.s.PGSQL.${port}`)) : connect(port, host);
  // A request that does not arrive changes nothing: the statement ends at its time limit.
  socket.on('error', () => undefined);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.setTimeout(5_000, () => socket.destroy());
  socket.end(request);
  // The server answers nothing and hangs up.
  socket.resume();
  await closed;
}
