import { type ClientHttp2Session, constants } from 'node:http2';
import type { Socket } from 'node:net';
import { errorCodeOf } from '@picket/lib/errors.ts';
import { ProbeError } from '../connection/errors.ts';
import { type Http2Wire, startHttp2 } from '../http/http2/session.ts';
import type { CallTimes } from './call-times.ts';

/**
 * Begins HTTP/2 on a connection and waits for the settings of the server, as gRPC clients do: a call then waits only
 * for its response.
 *
 * @param onFailure called for every event that ends the session, also later, and possibly more than once.
 */
export async function openSession(
  socket: Socket,
  authority: string,
  {
    times,
    wire,
    onFailure,
  }: { readonly times: CallTimes; readonly wire: Http2Wire; onFailure(error: Error): void },
): Promise<ClientHttp2Session> {
  times.begin();
  const session = startHttp2(socket, `http://${authority}`, wire);
  let goawayCode: number = constants.NGHTTP2_NO_ERROR;
  const { promise, resolve } = Promise.withResolvers<ClientHttp2Session>();
  session.on('goaway', (code: number) => {
    goawayCode = code;
  });
  const onError = (error: Error) => onFailure(sessionError(error, goawayCode));
  session.on('error', onError);
  const onClose = () => {
    const message = 'the peer closed the connection before a call could be made';
    onFailure(new ProbeError('connection-reset', 'firstByte', message));
  };
  session.once('close', onClose);
  // A refused client certificate is an error of the socket, which stays open; the session does not report it.
  socket.on('error', onError);
  // The session does not report a socket that was closed before.
  if (socket.destroyed) onClose();
  else socket.once('close', onClose);
  session.once('remoteSettings', () => {
    times.recordFirstByte();
    resolve(session);
  });
  return await promise;
}

/** The peer does not speak HTTP/2, or rejects our frames as invalid. */
function sessionError(error: Error, goawayCode: number): Error {
  const code = errorCodeOf(error);
  if (code === 'ERR_HTTP2_SESSION_ERROR' && goawayCode !== constants.NGHTTP2_NO_ERROR) {
    const message = `the peer ended the connection with GOAWAY, code ${goawayCode}`;
    return new ProbeError('connection-reset', 'firstByte', message);
  }
  if (!code?.startsWith('ERR_HTTP2_')) return error;
  return new ProbeError('response-malformed', 'firstByte', `the response is not HTTP/2: ${error.message}`);
}
