import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls, type SecureContext } from 'node:tls';
import type { EgressPolicy } from '../egress/policy.ts';
import { isIpv6Enabled } from '../ip-family.ts';
import type { IpFamily, Resolver } from '../resolver.ts';
import type { ConnectionAttempt } from './attempt.ts';
import { classifyError, ProbeError, type ProbePhase } from './errors.ts';
import { type ForwardProxy, openTunnel } from './proxy-tunnel.ts';
import { type ClientIdentity, secureContextFor } from './secure-contexts.ts';

/** Where a connection goes and how. */
export interface ConnectionTarget {
  readonly hostname: string;
  readonly port: number;
  readonly isSecure: boolean;
  readonly family: IpFamily;
  readonly isCertificateChecked: boolean;
  readonly clientIdentity: ClientIdentity | undefined;
  readonly proxy: ForwardProxy | undefined;
  /** Protocols offered in the TLS handshake, the preferred one first. */
  readonly alpnProtocols: readonly string[];
}

/** What a connection needs besides its target. */
export interface ConnectionMeans {
  readonly resolver: Resolver;
  /** Asked for the very address that is connected to, right before. */
  readonly egress: EgressPolicy;
  /** Hears of every connect that was begun, for whoever wants to watch the connection on the wire. */
  readonly onAttempt?: ((attempt: ConnectionAttempt) => void) | undefined;
}

/** Instants of `performance.now()` at which the steps of a connection were done; 0 for steps that were not reached. */
export interface ConnectionMarks {
  resolveStart: number;
  resolved: number;
  connected: number;
  /** Start of the part spent on the proxy: its TLS and its answer to CONNECT. Equals `proxyDone` without a tunnel. */
  proxyDone: number;
  secured: number;
}

/**
 * One fresh connection, made step by step so that every step can be timed and blamed: the name, one TCP connect to its
 * first address if the egress policy allows that, the tunnel through a proxy if there is one, and TLS without session
 * resumption (a monitor has to see the full handshake). After `open` has called back, the socket belongs to the caller;
 * `destroy` works at any time.
 */
export class Connection {
  readonly marks: ConnectionMarks = { resolveStart: 0, resolved: 0, connected: 0, proxyDone: 0, secured: 0 };
  /** The step under way. Whatever happens on the way to a proxy and through it is `proxy`. */
  phase: ProbePhase;
  /** True once the connection is the caller's; what happens from then on has phases of its own. */
  isOpen = false;
  /** The address connected to; the proxy's when there is one. */
  address: string | null = null;
  readonly #target: ConnectionTarget;
  #socket: Socket | undefined;
  #isDestroyed = false;
  #callback: ((error: Error | null, socket: Socket | null) => void) | undefined;

  constructor(target: ConnectionTarget) {
    this.#target = target;
    this.phase = target.proxy ? 'proxy' : 'dns';
  }

  /** The peer of the present step, for messages. */
  get where(): string {
    const { hostname, port, proxy } = this.#target;
    const target = hostAndPort(hostname, port);
    if (proxy) {
      const proxyName = `proxy ${hostAndPort(proxy.hostname, proxy.port)}`;
      return this.phase === 'proxy' && !this.isOpen ? proxyName : `${target} through ${proxyName}`;
    }
    if (this.phase === 'dns') return hostname;
    return this.phase === 'tcp' && !this.isOpen && this.address !== null
      ? hostAndPort(this.address, port)
      : target;
  }

  /** Connects; calls back once, with what `classifyError` says of the error when it fails. */
  open(
    { resolver, egress, onAttempt }: ConnectionMeans,
    callback: (error: Error | null, socket: Socket | null) => void,
  ): void {
    this.#callback = callback;
    const { proxy, hostname, family } = this.#target;
    this.marks.resolveStart = performance.now();
    // Through a proxy the family is the proxy's business: only its own name is looked up here.
    resolver.resolve(proxy?.hostname ?? hostname, proxy ? 'any' : family).then(
      (addresses) => {
        if (this.#isDestroyed) return;
        const first = addresses[0];
        if (!first) return this.#fail(new Error('the resolver answered with no address and no error'));
        this.marks.resolved = performance.now();
        const refusal = this.#refusal(egress, first.address);
        if (refusal === undefined) this.#connect(first.address, first.family, onAttempt);
        else this.#fail(new ProbeError('egress-denied', this.phase, refusal));
      },
      (error: unknown) => this.#fail(error),
    );
  }

  destroy(): void {
    this.#isDestroyed = true;
    this.#callback = undefined;
    this.#socket?.destroy();
  }

  /**
   * Judges the resolved address itself, which is then connected to without another lookup. Through a proxy that is the
   * proxy's; the target, which the proxy resolves, is judged by what is known of it.
   */
  #refusal(egress: EgressPolicy, address: string): string | undefined {
    const { proxy, hostname, port } = this.#target;
    if (!proxy) return egress.refusal({ hostname, address, port });
    return (
      egress.refusal({ hostname: proxy.hostname, address, port: proxy.port }) ??
      egress.refusal({ hostname, port })
    );
  }

  #connect(address: string, family: IpFamily, onAttempt: ConnectionMeans['onAttempt']): void {
    const { proxy, port, hostname, isSecure } = this.#target;
    if (!proxy) this.phase = 'tcp';
    this.address = address;
    const socket = connectTcp({
      host: address,
      port: proxy?.port ?? port,
      autoSelectFamily: false,
      noDelay: true,
    });
    this.#socket = socket;
    if (onAttempt) {
      const localPort = () => socket.localPort;
      const attempt = { hostname, isSecure, address, port: proxy?.port ?? port, localPort };
      // The event comes right before the system call that gives the socket its port.
      socket.once('connectionAttempt', () => process.nextTick(onAttempt, attempt));
    }
    // An error that comes after this connection is done concerns nobody, but unheard it would end the process.
    socket.on('error', ignore);
    const onError = (error: NodeJS.ErrnoException) => {
      // Without IPv6 there is no source address, which looks like having run out of ports.
      if (error.code === 'EADDRNOTAVAIL' && family === 6 && !isIpv6Enabled()) {
        this.#fail(new ProbeError('network-unavailable', 'tcp', `${error.message}: IPv6 is off here`));
      } else {
        this.#fail(error);
      }
    };
    socket.once('error', onError);
    socket.once('connect', () => {
      socket.off('error', onError);
      this.marks.connected = performance.now();
      this.#tunnel(socket);
    });
  }

  #tunnel(socket: Socket): void {
    const { proxy, isSecure, hostname, port } = this.#target;
    if (!proxy) {
      this.marks.proxyDone = this.marks.connected;
      this.#secure(socket);
      return;
    }
    const onProxyReady = (proxySocket: Socket) => {
      if (!isSecure) {
        this.marks.proxyDone = performance.now();
        this.#secure(proxySocket);
        return;
      }
      openTunnel(proxySocket, { proxy, authority: hostAndPort(hostname, port) }, (error) => {
        if (this.#isDestroyed) return;
        if (error) return this.#fail(error);
        this.marks.proxyDone = performance.now();
        this.#secure(proxySocket);
      });
    };
    if (!proxy.isSecure) {
      onProxyReady(socket);
      return;
    }
    this.#handshake(socket, { hostname: proxy.hostname, alpnProtocols: ['http/1.1'] }, onProxyReady);
  }

  #secure(socket: Socket): void {
    const { isSecure, hostname, clientIdentity, isCertificateChecked, alpnProtocols } = this.#target;
    if (!isSecure) {
      this.marks.secured = this.marks.proxyDone;
      this.#succeed(socket);
      return;
    }
    this.phase = 'tls';
    const options = { hostname, alpnProtocols, clientIdentity, isCertificateChecked };
    this.#handshake(socket, options, (secureSocket) => {
      this.marks.secured = performance.now();
      this.#succeed(secureSocket);
    });
  }

  #handshake(
    socket: Socket,
    options: {
      readonly hostname: string;
      readonly alpnProtocols: readonly string[];
      readonly clientIdentity?: ClientIdentity | undefined;
      readonly isCertificateChecked?: boolean;
    },
    onSecure: (socket: Socket) => void,
  ): void {
    let secureContext: SecureContext;
    try {
      secureContext = secureContextFor(options.clientIdentity);
    } catch (thrown) {
      const reason = thrown instanceof Error ? thrown.message : String(thrown);
      this.#fail(
        new ProbeError('request-invalid', this.phase, `the client certificate is unusable: ${reason}`),
      );
      return;
    }
    const secureSocket = connectTls({
      socket,
      // The name the certificate has to be for; SNI knows no addresses.
      host: options.hostname,
      // RFC 6066 section 3: without the trailing dot of a fully qualified name.
      servername: isIP(options.hostname) === 0 ? options.hostname.replace(/\.$/, '') : '',
      rejectUnauthorized: options.isCertificateChecked ?? true,
      secureContext,
      ...(options.alpnProtocols.length > 0 && { ALPNProtocols: [...options.alpnProtocols] }),
    });
    this.#socket = secureSocket;
    secureSocket.on('error', ignore);
    const onError = (error: Error) => this.#fail(error);
    secureSocket.once('error', onError);
    secureSocket.once('secureConnect', () => {
      secureSocket.off('error', onError);
      if (!this.#isDestroyed) onSecure(secureSocket);
    });
  }

  #succeed(socket: Socket): void {
    this.isOpen = true;
    const callback = this.#callback;
    this.#callback = undefined;
    if (callback) callback(null, socket);
    else socket.destroy();
  }

  #fail(thrown: unknown): void {
    const callback = this.#callback;
    if (!callback) return;
    this.#callback = undefined;
    this.#socket?.destroy();
    callback(classifyError(thrown, this.phase, this.where), null);
  }
}

const ignore = () => undefined;

/** `host:port`, with brackets around an IPv6 address. */
export function hostAndPort(hostname: string, port: number): string {
  return hostname.includes(':') ? `[${hostname}]:${port}` : `${hostname}:${port}`;
}
