import { createServer, type IncomingMessage } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type WebSocket, WebSocketServer } from 'ws';
import type { KeyAndCertificate } from '../targets/certificates.ts';
import { listen, type Target } from '../targets/listening.ts';

export interface SocketServer extends Target {
  /** The request heads of all handshakes. */
  readonly asked: readonly IncomingMessage[];
  /** Messages that clients sent. */
  readonly received: readonly string[];
  /** Close codes of ended connections. */
  readonly closeCodes: readonly number[];
}

/** Behaviour of each path after the handshake. */
const paths: Readonly<Record<string, (socket: WebSocket, request: IncomingMessage) => void>> = {
  '/echo': (socket) => socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary })),
  '/greeting': (socket) => socket.send('220 welcome'),
  '/orders': (socket) =>
    socket.on('message', (data) => {
      const { op, id } = JSON.parse(String(data)) as { op: string; id: number };
      socket.send(JSON.stringify({ type: 'heartbeat', at: 1 }));
      socket.send(JSON.stringify({ type: 'result', op, id, items: [{ price: 5 }, { price: 7 }] }));
    }),
  '/five': (socket) => {
    for (let count = 1; count <= 5; count += 1) socket.send(`number ${count}`);
  },
  '/gone': (socket) => socket.close(4001, 'gone for good'),
  '/bye': (socket) => {
    socket.send('last words');
    socket.close(1000, 'bye');
  },
  '/away': (socket) => socket.close(1001),
  '/without-code': (socket) => socket.close(),
  '/cut': (socket) => socket.terminate(),
  '/binary': (socket) => socket.send(Buffer.from([0, 1, 2, 255])),
  '/empty': (socket) => socket.send(''),
  '/parts': (socket) => {
    socket.send('in ', { fin: false });
    socket.send('three ', { fin: false });
    socket.send('parts', { fin: true });
  },
  '/pinged': (socket) => {
    socket.ping('are you there');
    socket.on('pong', (data) => socket.send(`pong ${data.toString('utf8')}`));
  },
  '/large': (socket) => socket.send('x'.repeat(900_000)),
  '/too-large': (socket) => socket.send('x'.repeat(1_100_000)),
  '/too-many': (socket) => {
    for (let count = 0; count < 1100; count += 1) socket.send('more');
  },
  '/feed': (socket) =>
    socket.on('message', (data) => {
      const { symbol } = JSON.parse(String(data)) as { symbol: string };
      for (const one of [{ op: 'subscribed' }, { heartbeat: 1 }, { symbol, price: 12.5 }]) {
        socket.send(JSON.stringify(one));
      }
    }),
  '/silent': () => undefined,
};

/** A server of the package `ws`; its behaviour depends on the path. */
export async function startSocketServer(
  options: {
    readonly identity?: KeyAndCertificate;
    /** PEM of the authority that must have issued client certificates. */
    readonly clientAuthority?: string;
    /** The subprotocols it selects, whatever is offered; absent: the first offered one. */
    readonly subprotocols?: readonly string[];
    readonly isCompressing?: boolean;
  } = {},
): Promise<SocketServer> {
  const { identity, clientAuthority, subprotocols } = options;
  const server = identity
    ? createSecureServer({ ...identity, ca: clientAuthority, requestCert: clientAuthority !== undefined })
    : createServer();
  const asked: IncomingMessage[] = [];
  const received: string[] = [];
  const closeCodes: number[] = [];
  const sockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: options.isCompressing ?? false,
    handleProtocols: (offered) =>
      subprotocols ? (subprotocols.find((name) => offered.has(name)) ?? false) : ([...offered][0] ?? false),
  });
  const statuses: Readonly<Record<string, readonly [head: string, body: string]>> = {
    '/forbidden': ['403 Forbidden\r\nContent-Type: text/plain', 'the key is not valid'],
    '/unauthorized': ['401 Unauthorized\r\nWWW-Authenticate: Basic', ''],
    '/elsewhere': ['301 Moved Permanently\r\nLocation: ws://127.0.0.1:1/', ''],
    '/broken': ['503 Service Unavailable', 'try later'],
  };
  server.on('request', (_request, response) => response.writeHead(426).end('a WebSocket is wanted'));
  server.on('upgrade', (request, socket, head) => {
    asked.push(request);
    const path = request.url?.split('?')[0] ?? '';
    const refusal = statuses[path];
    const isRefused = path === '/basic' && request.headers.authorization !== 'Basic YW5uYTpzZWNyZXQ=';
    if (refusal || isRefused) {
      const [start, body] = refusal ?? statuses['/unauthorized'] ?? ['', ''];
      socket.end(`HTTP/1.1 ${start}\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
      return;
    }
    sockets.handleUpgrade(request, socket, head, (opened) => {
      opened.on('error', () => opened.terminate());
      opened.on('message', (data) => received.push(String(data)));
      opened.on('close', (code) => closeCodes.push(code));
      (paths[path] ?? paths['/echo'])?.(opened, request);
    });
  });
  const target = await listen(server, { scheme: identity ? 'wss' : 'ws' });
  return { ...target, asked, received, closeCodes };
}
