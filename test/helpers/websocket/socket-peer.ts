import { WebSocket } from 'ws';

/** The outcome of a conversation, in terms common to both clients. */
export interface SocketVerdict {
  /** Result of the handshake: `open`, the status of a refusal, or `failed`. */
  readonly handshake: 'open' | 'failed' | number;
  readonly messages: readonly string[];
  /** The close code; `broken` if the client closed because of invalid data, `silent` if nothing arrived. */
  readonly end: number | 'broken' | 'silent' | null;
}

export interface SocketExchange {
  readonly url: string;
  readonly subprotocols?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly send?: string | Buffer;
  /** Number of messages to wait for. */
  readonly wanted: number;
  readonly timeoutMs: number;
  readonly ca?: string;
  readonly servername?: string;
}

/** Talks to the server with the client of the package `ws`, for an independent comparison. */
export async function talkAsPeer(talk: SocketExchange): Promise<SocketVerdict> {
  const { url, subprotocols = [], headers = {}, send, wanted, timeoutMs, ca, servername } = talk;
  const messages: string[] = [];
  const { promise, resolve } = Promise.withResolvers<SocketVerdict>();
  let isOpen = false;
  const socket = new WebSocket(url, [...subprotocols], {
    perMessageDeflate: false,
    followRedirects: false,
    maxPayload: 1024 * 1024,
    handshakeTimeout: timeoutMs,
    headers,
    ...(ca !== undefined && { ca }),
    ...(servername !== undefined && { servername }),
  });
  const end = (code: SocketVerdict['end']) =>
    resolve({ handshake: isOpen ? 'open' : 'failed', messages, end: isOpen ? code : null });
  const timer = setTimeout(() => end('silent'), timeoutMs);
  const closeWhenDone = () => {
    if (messages.length >= wanted) socket.close(1000);
  };
  socket.on('unexpected-response', (request, response) => {
    resolve({ handshake: response.statusCode ?? 0, messages, end: null });
    request.destroy();
  });
  socket.on('open', () => {
    isOpen = true;
    if (send !== undefined) socket.send(send);
    closeWhenDone();
  });
  socket.on('message', (data: Buffer, isBinary) => {
    if (messages.length >= wanted) return;
    messages.push(data.toString(isBinary ? 'base64' : 'utf8'));
    closeWhenDone();
  });
  socket.on('error', () => end('broken'));
  socket.on('close', (code) => end(code));
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    socket.terminate();
  }
}
