import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { Route } from '@picket/protocol/http/route.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { turnKeyOf } from '../connections/caller-turns.ts';
import { badRequestLine } from '../errors.ts';
import type { BodyRoom } from './body-room.ts';
import { isCompressed } from './compressed-body.ts';

/** Time limit for a client to send a request. */
export const requestTimeoutMs = 60_000;

/** Ends a request whose body does not arrive in time, so that a slow sender does not occupy a connection for long. */
export function limitSending(request: IncomingMessage): void {
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
  if (encoding === undefined && (length === undefined || length === '0')) return;
  // Requests without a connection (Fastify's inject) are never slow, and have no socket to close.
  if (!(request.socket instanceof Socket)) return;
  const timer = setTimeout(() => {
    const error = new Error('the body did not come in time');
    badRequestLine(Object.assign(error, { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), request.socket);
    request.socket.destroySoon();
  }, requestTimeoutMs);
  request.once('end', () => clearTimeout(timer)).once('close', () => clearTimeout(timer));
}

/** Bodies up to this size need no reserved capacity. */
export const smallBodyBytes = 1024 * 1024;

/** Returns the maximum size of a request's body. */
export function largestBody(route: Route, request: IncomingMessage): number {
  const announced = request.headers['content-length'];
  const limit = route.bodyLimitBytes ?? smallBodyBytes;
  return announced === undefined || isCompressed(request.headers)
    ? limit
    : Math.min(Number(announced), limit);
}

/** Keeps a request waiting, unread, until there is capacity for its body; the end of the response releases it. */
export async function enterRoom(
  room: BodyRoom,
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const gone = new AbortController();
  reply.raw.once('close', () => gone.abort());
  // Callers of several accounts may share an address, and an account may have any number of locations.
  const sender = turnKeyOf(request.caller, request);
  const leave = await room.enter(sender, largestBody(route, request.raw), gone.signal);
  if (reply.raw.closed) leave();
  else reply.raw.once('close', leave).once('finish', leave);
}

/** Ends a connection whose client stalls while receiving: the response occupies memory. */
export function limitReading(request: IncomingMessage, timeoutMs: number): void {
  // Once the response is sent, Node sets the idle timeout of the connection.
  if (request.socket instanceof Socket) request.socket.setTimeout(timeoutMs);
}
