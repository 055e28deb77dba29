import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { errorCodeOf } from '@picket/lib/errors.ts';

type Write = Socket['_write'];

/** What is to be known of a connection that a request is written to. */
export interface SendingObserver {
  /** Whether the socket still has something that the kernel did not take at once. */
  isSending(): boolean;
  /**
   * What was written until now has left. The last call reports the end of the request.
   *
   * @param beforeMs when the write began that has just returned; absent when the kernel took what was left of
   *   it later.
   */
  onSent(beforeMs?: number): void;
  /** The server has sent tickets for later connections (TLS 1.3), which are no answer to anything. */
  onTicket(): void;
}

/**
 * Tells when a request has left a socket. Node hands small writes to the kernel before `_write` returns; what
 * did not fit has left when it calls back. What HTTP/2 writes is more than its request: see http2/session.ts.
 *
 * A peer that takes nothing more may still have answered, as servers do that refuse an upload. Node
 * would throw the answer away with the connection, so the error of a write stays here: reading goes on.
 *
 * @param onRefused hears of an error of a write that says that the peer takes nothing more.
 */
export function observeSending(
  socket: Socket,
  observer: SendingObserver,
  onRefused: (error: Error) => void,
): void {
  const { isSending, onSent, onTicket } = observer;
  if (socket instanceof TLSSocket) {
    if (socket.getProtocol() === 'TLSv1.3') socket.on('session', onTicket);
    if (socket.alpnProtocol === 'h2') return;
  }
  const write: Write = socket._write;
  socket._write = (chunk, encoding, callback) => {
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
}

/** Whether the peer has closed or reset the connection. */
function isHangUp(error: Error): boolean {
  const code = errorCodeOf(error);
  return code === 'EPIPE' || code === 'ECONNRESET';
}
