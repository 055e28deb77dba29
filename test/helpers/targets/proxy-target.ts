import { createServer, type IncomingMessage, request as sendRequest } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { connect, type Server } from 'node:net';
import type { Duplex } from 'node:stream';
import type { KeyAndCertificate } from './certificates.ts';
import { listen, type Target } from './listening.ts';

export interface ProxyTarget extends Target {
  /** The proxy's URL with its credentials. */
  readonly proxyUrl: string;
  /** Requests it received: `CONNECT host:port` or `GET http://…`. */
  readonly requests: readonly string[];
}

export interface ProxyOptions {
  /** Credentials it requires. */
  readonly username?: string;
  readonly password?: string;
  /** Responds to CONNECT with this status instead of opening a tunnel. */
  readonly connectStatus?: number;
  /** Misbehaviour instead of contacting the target, like a proxy with a dead target; the proxy itself responds. */
  readonly onTarget?: Misbehaviour;
  /** Misbehaviour on every request. */
  readonly onAnything?: Misbehaviour;
  /** Speaks TLS to its clients. */
  readonly identity?: KeyAndCertificate;
}

type Misbehaviour = 'waits' | 'closes' | 'babbles';

/** Starts a forward proxy: tunnels for CONNECT, and plain HTTP by absolute URL. */
export async function startProxyTarget(options: ProxyOptions = {}): Promise<ProxyTarget> {
  const requests: string[] = [];
  const wanted =
    options.username === undefined
      ? undefined
      : `Basic ${Buffer.from(`${options.username}:${options.password ?? ''}`).toString('base64')}`;
  const isRefused = (request: IncomingMessage) =>
    wanted !== undefined && request.headers['proxy-authorization'] !== wanted;
  const { onTarget, onAnything } = options;
  const misbehave = (socket: Duplex, behaviour: Misbehaviour) => {
    if (behaviour === 'closes') socket.destroy();
    else if (behaviour === 'babbles') socket.end('220 mail.example.test ready\r\n\r\n');
  };
  const server = options.identity
    ? createSecureServer({ key: options.identity.key, cert: options.identity.cert })
    : createServer();
  server.on('request', (request, response) => {
    if (onAnything) return misbehave(request.socket, onAnything);
    // A request without a host is for the proxy itself.
    if (request.url?.startsWith('/')) return void response.writeHead(400).end();
    requests.push(`${request.method} ${request.url}`);
    if (onTarget) return misbehave(request.socket, onTarget);
    if (isRefused(request)) {
      response.writeHead(407, { 'proxy-authenticate': 'Basic' }).end();
      return;
    }
    const { 'proxy-authorization': _secret, ...headers } = request.headers;
    const onward = sendRequest(request.url ?? '', { method: request.method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', () => response.writeHead(502).end('bad gateway'));
    request.pipe(onward);
  });
  server.on('connect', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    requests.push(`CONNECT ${request.url}`);
    socket.on('error', () => socket.destroy());
    const behaviour = onAnything ?? onTarget;
    if (behaviour) return misbehave(socket, behaviour);
    if (isRefused(request)) return refuse(socket, 407, 'Proxy Authentication Required');
    if (options.connectStatus !== undefined) return refuse(socket, options.connectStatus, 'Refused');
    const { hostname, port } = new URL(`http://${request.url}`);
    const onward = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) || 80 }, () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      onward.write(head);
      onward.pipe(socket).pipe(onward);
    });
    onward.on('error', () => refuse(socket, 502, 'Bad Gateway'));
    socket.on('close', () => onward.destroy());
  });
  const target = await listen(server as Server, { scheme: options.identity ? 'https' : 'http' });
  const credentials =
    options.username === undefined
      ? ''
      : `${encodeURIComponent(options.username)}:${encodeURIComponent(options.password ?? '')}@`;
  return { ...target, proxyUrl: target.url.replace('://', `://${credentials}`), requests };
}

function refuse(socket: Duplex, status: number, phrase: string): void {
  socket.end(`HTTP/1.1 ${status} ${phrase}\r\nContent-Length: 0\r\n\r\n`);
}
