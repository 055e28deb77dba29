import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { errorCodeOf } from '@picket/lib/errors.ts';

type Write = Socket['_write'];

/** Observes the writes of a request to a connection. */
export interface SendingObserver {
  /** True if the socket still has data that the kernel did not accept immediately. */
  isSending(): boolean;
  /**
   * Everything written so far has left. The last call reports the end of the request.
   *
   * @param beforeMs when the write that just returned began; absent if the kernel accepted the rest of a write later.
   */
  onSent(beforeMs?: number): void;
  /** The server sent session tickets (TLS 1.3), which are not part of a response. */
  onTicket(): void;
}

/**
 * Reports when a request has left a socket. Node hands small writes to the kernel before `_write` returns; the rest of
 * a large write has left when its callback runs. HTTP/2 writes more than the request: see http2/session.ts.
 *
 * A peer that stops reading may still have responded, as servers do that refuse an upload. Node would discard the
 * response with the connection, so write errors are held back here and reading continues.
 *
 * @param onRefused called for a write error because the peer stopped reading.
 * @returns a function that ends the observation, so that the connection can carry another request.
 */
export function observeSending(
  socket: Socket,
  observer: SendingObserver,
  onRefused: (error: Error) => void,
): () => void {
  const { isSending, onSent, onTicket } = observer;
  if (socket instanceof TLSSocket) {
    if (socket.getProtocol() === 'TLSv1.3') socket.on('session', onTicket);
    if (socket.alpnProtocol === 'h2') return () => socket.off('session', onTicket);
  }
  const write: Write = socket._write;
  // A constant first: V8 13.6 allocates a function that is written as the value of an assignment to a property among old
  // objects, and keeps all that it refers to (here the whole run) until it collects these, which is the most expensive kind.
  const observed: Write = (chunk, encoding, callback) => {
    let isLeftBehind = false;
    let isRefused = false;
    const beforeMs = performance.now();
    write.call(socket, chunk, encoding, (error?: Error | null) => {
      isRefused = error != null && isHangUp(error);
      if (error && isRefused) {
        onRefused(error);
        return;
      }
      if (isLeftBehind && !error) onSent();
      callback(error);
    });
    isLeftBehind = isSending();
    if (!isLeftBehind && !isRefused) onSent(beforeMs);
  };
  socket._write = observed;
  return () => {
    socket.off('session', onTicket);
    socket._write = write;
  };
}

/** Returns whether the peer has closed or reset the connection. */
function isHangUp(error: Error): boolean {
  const code = errorCodeOf(error);
  return code === 'EPIPE' || code === 'ECONNRESET';
}
