import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

type Write = Socket['_write'];
type WriteMany = NonNullable<Socket['_writev']>;

/** What is to be known of a connection that undici writes to. */
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
  /** The same, from an event that may have had to wait its turn. */
  onSentSomeTimeAgo(): void;
  /** The server has sent tickets for later connections (TLS 1.3), which are no answer to anything. */
  onTicket(): void;
}

/**
 * Tells when a request has left a socket. Node hands small writes to the kernel before `_write` returns; what
 * did not fit has left when it calls back. HTTP/2 writes past the socket, at the end of the round of the
 * event loop in which the request was made.
 */
export function observeSending(socket: Socket, observer: SendingObserver): void {
  const { isSending, onSent, onSentSomeTimeAgo, onTicket } = observer;
  if (socket instanceof TLSSocket) {
    if (socket.getProtocol() === 'TLSv1.3') socket.on('session', onTicket);
    if (socket.alpnProtocol === 'h2') {
      setImmediate(onSentSomeTimeAgo);
      return;
    }
  }
  const write: Write = socket._write;
  const writeMany = socket._writev as WriteMany;
  const observed = (callback: (error?: Error | null) => void) => {
    let isLeftBehind = false;
    const beforeMs = performance.now();
    return {
      after: () => {
        isLeftBehind = isSending();
        if (!isLeftBehind) onSent(beforeMs);
      },
      done: (error?: Error | null) => {
        if (isLeftBehind && !error) onSent();
        callback(error);
      },
    };
  };
  socket._write = (chunk, encoding, callback) => {
    const { after, done } = observed(callback);
    write.call(socket, chunk, encoding, done);
    after();
  };
  socket._writev = (chunks, callback) => {
    const { after, done } = observed(callback);
    writeMany.call(socket, chunks, done);
    after();
  };
}
