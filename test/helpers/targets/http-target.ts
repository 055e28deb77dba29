import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createSecureServer } from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import { createServer as createTlsServer, type TLSSocket, type TlsOptions } from 'node:tls';
import type { KeyAndCertificate } from './certificates.ts';
import { type ReceivedRequest, type Route, serve, standardRoutes } from './http-routes.ts';
import { listen, type Target } from './listening.ts';

export interface HttpTarget extends Target {
  /** All requests so far, in order. */
  readonly requests: readonly ReceivedRequest[];
}

export interface HttpTargetOptions {
  /** Further routes by the first segment of their path; they take precedence over the standard ones. */
  readonly routes?: Readonly<Record<string, Route>>;
  /** Address to listen on; 127.0.0.1 when absent. */
  readonly host?: string;
}

/** Starts a plain HTTP/1.1 server with the standard routes (see http-routes.ts). */
export async function startHttpTarget(options: HttpTargetOptions = {}): Promise<HttpTarget> {
  const requests: ReceivedRequest[] = [];
  const serving = servingOptions(options, requests);
  const server = createServer((request, response) => serve(request, response, serving));
  return { ...(await listen(server, { scheme: 'http', host: options.host })), requests };
}

export interface HttpsTargetOptions extends HttpTargetOptions {
  readonly identity: KeyAndCertificate;
  /** Offered protocols; both when absent. */
  readonly protocols?: readonly ('h2' | 'http/1.1')[];
  /** PEM of the authority that must have issued client certificates. */
  readonly clientAuthority?: string;
  /** Called after every handshake. */
  readonly onSecureConnection?: (socket: TLSSocket) => void;
  readonly tls?: Pick<TlsOptions, 'minVersion' | 'maxVersion' | 'ciphers'>;
}

/** Starts an HTTPS server for HTTP/2 and HTTP/1.1 with the standard routes. */
export async function startHttpsTarget(options: HttpsTargetOptions): Promise<HttpTarget> {
  const requests: ReceivedRequest[] = [];
  const serving = servingOptions(options, requests);
  const protocols = options.protocols ?? ['h2', 'http/1.1'];
  const settings = {
    key: options.identity.key,
    cert: options.identity.cert,
    ...(options.clientAuthority && {
      ca: options.clientAuthority,
      requestCert: true,
      rejectUnauthorized: true,
    }),
    ...options.tls,
  };
  const server = protocols.includes('h2')
    ? createSecureServer({ ...settings, allowHTTP1: protocols.includes('http/1.1') })
    : createHttpsServer(settings);
  server.on('request', (request: IncomingMessage, response: ServerResponse) =>
    serve(request, response, serving),
  );
  if (options.onSecureConnection) server.on('secureConnection', options.onSecureConnection);
  // Some tests are about clients that refuse the certificate, or have no certificate of their own.
  server.on('tlsClientError', (_error: Error, socket: TLSSocket) => socket.destroy());
  server.on('sessionError', () => undefined);
  return { ...(await listen(server, { scheme: 'https', host: options.host })), requests };
}

/** Starts a TLS server that does not speak HTTP: it closes each connection after the handshake. */
export async function startTlsCloser(identity: KeyAndCertificate): Promise<Target> {
  const server = createTlsServer({ key: identity.key, cert: identity.cert }, (socket) => socket.destroy());
  server.on('tlsClientError', (_error, socket) => socket.destroy());
  return listen(server, { scheme: 'https' });
}

function servingOptions(options: HttpTargetOptions, requests: ReceivedRequest[]) {
  return {
    routes: { ...standardRoutes, ...options.routes },
    onRequest: (request: ReceivedRequest) => {
      requests.push(request);
    },
  };
}
