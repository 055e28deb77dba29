import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { errorCodeOf } from '@picket/lib/errors.ts';
import { hostAndPort } from '../address.ts';
import { bareHostname, proxyFromUrl } from '../connection/forward-proxy.ts';
import { openTunnel } from '../connection/proxy-tunnel.ts';

/** The target of a connection, as undici names it. */
export interface ConnectorOptions {
  readonly hostname: string;
  readonly protocol: string;
  readonly port: string;
  readonly servername?: string | undefined;
}

type Connected = (...outcome: [error: Error, socket: null] | [error: null, socket: Socket]) => void;

export type Connector = (options: ConnectorOptions, callback: Connected) => void;

const keepAliveAfterMs = 60_000;

/**
 * A connector for undici's Agent that reaches every target through a SOCKS5 proxy, which resolves the names (RFC 1928,
 * RFC 1929). It is for calls of our own, such as those to the service: checks time each step (connection.ts).
 *
 * @param options.timeoutMs time limit for the tunnel, and TLS to the target if the address asks for it.
 */
export function socksConnector(proxyUrl: URL, { timeoutMs }: { readonly timeoutMs: number }): Connector {
  const proxy = proxyFromUrl(proxyUrl);
  const proxyName = hostAndPort(proxy.hostname, proxy.port);
  return (options, callback) => {
    const isSecure = options.protocol === 'https:';
    const hostname = bareHostname(options);
    const port = Number(options.port) || (isSecure ? 443 : 80);
    const socket = connectTcp({ host: proxy.hostname, port: proxy.port, noDelay: true });
    let isSettled = false;
    const settle = (error: Error | null, connected: Socket) => {
      if (isSettled) return;
      isSettled = true;
      clearTimeout(timer);
      if (!error) {
        connected.off('error', fail);
        callback(null, connected);
        return;
      }
      socket.destroy();
      callback(error, null);
    };
    const fail = (error: Error) => settle(error, socket);
    const timer = setTimeout(() => {
      const waited = `no connection to ${hostAndPort(hostname, port)} through the proxy ${proxyName} within ${timeoutMs} ms`;
      fail(Object.assign(new Error(waited), { code: 'ETIMEDOUT' }));
    }, timeoutMs);
    const secure = () => {
      socket.setKeepAlive(true, keepAliveAfterMs);
      if (!isSecure) {
        settle(null, socket);
        return;
      }
      const secureSocket = connectTls({
        socket,
        servername: options.servername ?? hostname,
        ALPNProtocols: ['http/1.1'],
        // A trusted intermediate authority is trusted without its root, as in checks.
        allowPartialTrustChain: true,
      });
      secureSocket.once('error', fail);
      secureSocket.once('secureConnect', () => settle(null, secureSocket));
    };
    socket.once('error', (error) => {
      const code = errorCodeOf(error);
      fail(Object.assign(new Error(`proxy ${proxyName}: ${error.message}`, { cause: error }), { code }));
    });
    socket.once('connect', () => {
      openTunnel({ proxy, hostname, port, isSecure, onPending: () => undefined })(socket, {
        send: (data) => socket.write(data),
        done: (error) => (error ? fail(error) : secure()),
      });
    });
  };
}
