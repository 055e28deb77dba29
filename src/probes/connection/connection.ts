import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { isIpv6Enabled, type ResolvedAddress } from '../address.ts';
import { quickestHandshakeStartMs, usualHandshakeStartMs } from '../kernel-thread/send-time.ts';
import type { SentMoment, SocketWatch } from '../kernel-thread/socket-watch.ts';
import { type Timekeeper, threadTimekeeper } from '../kernel-thread/timekeeper.ts';
import { type LookupTimes, resolveWanted } from '../resolver.ts';
import type { StampClock } from '../sys/kernel-clock.ts';
import { type CertificateFacts, CertificateReader, checkStrictIdentity } from './certificate.ts';
import { egressRefusal } from './egress-question.ts';
import { classifyError, egressDenied, networkAnswer, ProbeError, type ProbePhase } from './errors.ts';
import type { ForwardProxy } from './forward-proxy.ts';
import { beginHandshake, type HandshakeOptions } from './handshake.ts';
import { explainedBy, peerOf, placeOf } from './place.ts';
import { openTunnel } from './proxy-tunnel.ts';
import { usableContext } from './secure-contexts.ts';
import type { ConnectionOptions, ConnectionTarget, ConnectionTimes, Upgrade } from './target.ts';

/**
 * One fresh connection, made step by step so that every step can be timed and its failure attributed: DNS, one TCP
 * connect to the first address if the egress policy allows it, the tunnel through a proxy if there is one, and TLS
 * without session resumption (a monitor must see the full handshake). After `open` has called back, the socket belongs
 * to the caller; `destroy` works at any time.
 *
 * Each step is timed from the departure of its first packet to the arrival of the last packet it needs, by kernel
 * timestamps where available (see kernel-thread/socket-watch.ts).
 */
export class Connection {
  readonly times: ConnectionTimes = { dnsMs: 0, tcpMs: 0, proxyMs: 0, startTlsMs: 0, tlsMs: 0 };
  /** Maximum delay between an event and its detection, over all steps. */
  lagMs = 0;
  #timekeeper: Timekeeper | undefined;
  /** True once a TCP connection to the target is established, directly or through a proxy. */
  isConnected = false;
  /** The step in progress. Every step of connecting to and through a proxy is `proxy`. */
  phase: ProbePhase;
  /** True once the connection belongs to the caller, which has phases of its own. */
  isOpen = false;
  /** True once a tunnel has been requested and not refused: errors may then come from the target. */
  isTunnelPending = false;
  /** The remote address; the proxy's if there is one. */
  address: string | null = null;
  readonly #target: ConnectionTarget;
  #socket: Socket | undefined;
  /** The TCP socket below everything. */
  #tcpSocket: Socket | undefined;
  #watch: SocketWatch | undefined;
  readonly #certificate = new CertificateReader();
  #lookupClock: StampClock = 'kernel';
  #lookupStop: AbortController | undefined;
  /** The first TLS error. */
  #tlsError: Error | undefined;
  readonly #onTlsError = (error: Error) => {
    this.#tlsError ??= error;
  };
  /** The step being timed. */
  #step: { readonly name: keyof ConnectionTimes; readonly start: SentMoment } | undefined;
  #connectedMs = 0;
  #isDestroyed = false;
  #callback: ((error: Error | null, socket: Socket | null) => void) | undefined;

  constructor(target: ConnectionTarget) {
    this.#target = target;
    this.phase = target.proxy ? 'proxy' : 'dns';
  }

  /** The peer of the current step, for messages. */
  get where(): string {
    return placeOf(this.#target, this);
  }

  /** The same for programs. */
  get peer() {
    return peerOf(this.#target, this);
  }

  /** Certificate and TLS parameters of the target. */
  get certificate(): CertificateFacts | undefined {
    return this.#certificate.facts;
  }

  /** The source of the timestamps. */
  get clock(): StampClock {
    return this.#watch?.clock === 'event' ? 'event' : this.#lookupClock;
  }

  /** When the peer could begin to send. Read it as soon as the connection is open, before sending anything. */
  get readyMs(): number {
    if (this.#socket !== this.#tcpSocket) return performance.now();
    if (this.#target.proxy) return this.arrivalOf(this.receivedBytes, performance.now());
    return this.#watch?.readyAt(this.#connectedMs) ?? this.#connectedMs;
  }

  /** Total error bound of the times, as far as it is known. */
  get doubtMs(): number {
    return this.#watch?.doubtMs ?? 0;
  }

  /** Bytes the TCP socket has received so far, including TLS. */
  get receivedBytes(): number {
    return this.#tcpSocket?.bytesRead ?? 0;
  }

  /** True while written data has not been handed to the kernel. */
  get isSending(): boolean {
    const { _handle: handle } = (this.#tcpSocket ?? {}) as { _handle?: { writeQueueSize?: number } | null };
    return (handle?.writeQueueSize ?? 0) > 0;
  }

  /** Returns the earlier TLS error that caused an error, or the error itself. */
  explained(error: Error): Error {
    return explainedBy(this.#tlsError, error);
  }

  /** How long the connection has been silent in both directions, as far as the kernel knows. */
  silentMs(): number {
    return this.#watch?.silentMs(performance.now()) ?? 0;
  }

  /** Call right before a write that is timed with `sentSince`. */
  beforeSending(): void {
    this.#timekeeper?.interruption();
  }

  /** Returns when data was sent; its write began at `beforeMs` and has just ended. */
  sentSince(beforeMs: number, usualMs?: number): number {
    const afterMs = performance.now();
    const stamps = { beforeMs, afterMs, usualMs, interruption: () => this.#timekeeper?.interruption() };
    return this.#noted(this.#watch?.written(stamps) ?? afterMs, afterMs);
  }

  /** Returns when the first `receivedBytes` bytes had arrived; they were read in this event. */
  arrivalOf(receivedBytes: number, eventMs: number): number {
    return this.#noted(this.#watch?.arrivalOf(receivedBytes, eventMs) ?? eventMs, eventMs);
  }

  /** Returns when the first byte after the first `knownBytes` arrived; `receivedBytes` were read in this event. */
  arrivalAfter(knownBytes: number, receivedBytes: number, eventMs: number): number {
    return this.#noted(this.#watch?.arrivalAfter(knownBytes, receivedBytes, eventMs) ?? eventMs, eventMs);
  }

  /** Connects; calls back once, on failure with an error that `classifyError` has classified. */
  open(
    { resolver, egress, onAttempt, timekeeper = threadTimekeeper() }: ConnectionOptions,
    callback: (error: Error | null, socket: Socket | null) => void,
  ): void {
    this.#callback = callback;
    this.#timekeeper = timekeeper;
    const { proxy, hostname, family } = this.#target;
    const name = proxy?.hostname ?? hostname;
    if (isIP(name) === 0) this.#lookupStop = new AbortController();
    let measured: LookupTimes | undefined;
    const onMeasured = (times: LookupTimes) => {
      measured = times;
    };
    const startMs = this.#begin('dnsMs');
    // With a proxy, only the proxy's own name is resolved here; the proxy chooses the target's family.
    resolveWanted(resolver, name, proxy ? 'any' : family, { signal: this.#lookupStop?.signal, onMeasured })
      .finally(() => {
        this.#lookupStop = undefined;
        if (this.#isDestroyed) return;
        this.#lookupClock = measured?.clock ?? 'event';
        this.lagMs = Math.max(this.lagMs, measured?.lagMs ?? 0);
        this.#complete(measured?.elapsedMs ?? performance.now() - startMs);
      })
      .then(
        (addresses) => {
          if (this.#isDestroyed) return;
          const first = addresses[0];
          if (!first) return this.#fail(new Error('the resolver returned neither an address nor an error'));
          const refusal = egressRefusal(egress, this.#target, first.address);
          if (refusal === undefined) this.#connect(first, { timekeeper, onAttempt });
          else this.#fail(egressDenied(this.phase, refusal));
        },
        (error: unknown) => this.#fail(error),
      );
  }

  destroy(): void {
    if (this.#isDestroyed) return;
    this.#isDestroyed = true;
    this.#callback = undefined;
    this.#lookupStop?.abort();
    if (this.#step) this.#complete(performance.now() - this.#step.start.atMs);
    this.#watch?.release();
    this.#socket?.destroy();
    // V8 keeps a closed TLS socket, and everything that it refers to, until it collects old objects: here the whole run.
    this.#certificate.detach();
    this.#socket?.off('error', this.#onTlsError);
  }

  #begin(name: keyof ConnectionTimes, atMs = performance.now(), earliestMs = atMs): number {
    this.#step = { name, start: { atMs, earliestMs } };
    return atMs;
  }

  /** Ends the step in progress. */
  #complete(durationMs: number): void {
    if (this.#step) this.times[this.#step.name] += Math.max(0, durationMs);
    this.#step = undefined;
  }

  /** Ends a step that exchanged data with the peer; all of it was read in this event. */
  #completeExchange(): void {
    const step = this.#step;
    if (!step) return;
    const eventMs = performance.now();
    const elapsedMs = eventMs - step.start.atMs;
    const ownMs = this.#watch?.exchangeMs(step.start, this.receivedBytes, eventMs) ?? elapsedMs;
    const durationMs = Math.min(eventMs - step.start.earliestMs, Math.max(0, ownMs));
    this.lagMs = Math.max(this.lagMs, elapsedMs - durationMs);
    this.#complete(durationMs);
  }

  #noted(happenedMs: number, eventMs: number): number {
    this.lagMs = Math.max(this.lagMs, eventMs - happenedMs);
    return happenedMs;
  }

  #connect(
    { address, family }: ResolvedAddress,
    { timekeeper, onAttempt }: Pick<ConnectionOptions, 'onAttempt'> & { readonly timekeeper: Timekeeper },
  ): void {
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
    this.#tcpSocket = socket;
    let startMs = this.#begin('tcpMs');
    let hasLeft = false;
    socket.once('connectionAttempt', () => {
      startMs = this.#begin('tcpMs');
      // The connect call follows this event; only then is there a descriptor to watch.
      process.nextTick(() => {
        hasLeft = !socket.destroyed;
        if (!this.#isDestroyed) this.#watch = timekeeper.watch(socket, startMs);
        const localPort = () => socket.localPort;
        onAttempt?.({ protocol: 'tcp', hostname, isSecure, address, port: proxy?.port ?? port, localPort });
      });
    });
    // An error after the end of this connection is irrelevant, but without a listener it would end the process.
    socket.on('error', ignore);
    const onError = (error: NodeJS.ErrnoException) => {
      const eventMs = performance.now();
      const answeredMs = this.#noted(this.#watch?.answeredAt(eventMs) ?? eventMs, eventMs);
      this.#complete(answeredMs - startMs);
      // Without IPv6 there is no source address, which looks like port exhaustion.
      if (error.code === 'EADDRNOTAVAIL' && family === 6 && !isIpv6Enabled()) {
        this.#fail(new ProbeError('network-unavailable', 'tcp', `${error.message}: IPv6 is disabled here`));
      } else {
        this.#fail(hasLeft ? networkAnswer(error, this.phase, this.where) : error);
      }
    };
    socket.once('error', onError);
    socket.once('connect', () => {
      socket.off('error', onError);
      const eventMs = performance.now();
      this.#connectedMs = eventMs;
      this.isConnected = !this.#target.proxy;
      if (this.#watch) this.#noted(this.#watch.answeredAt(eventMs), eventMs);
      this.#complete(this.#watch?.connectMs(eventMs) ?? eventMs - startMs);
      this.#tunnel(socket);
    });
  }

  #tunnel(socket: Socket): void {
    const { proxy } = this.#target;
    if (!proxy) this.#secure(socket);
    else if (!proxy.isSecure) this.#askProxy(socket, proxy);
    else {
      const options = { step: 'proxyMs', hostname: proxy.hostname, alpnProtocols: ['http/1.1'] } as const;
      this.#handshake(socket, options, (proxySocket) => this.#askProxy(proxySocket, proxy));
    }
  }

  #askProxy(socket: Socket, proxy: ForwardProxy): void {
    const { isSecure, isAlwaysTunnelled, hostname, port } = this.#target;
    // An HTTP proxy forwards plain requests without a tunnel.
    if (proxy.protocol === 'http' && !isSecure && !isAlwaysTunnelled) {
      this.#secure(socket);
      return;
    }
    const onPending = (isPending: boolean) => {
      this.isTunnelPending = isPending;
    };
    const upgrade = openTunnel({ proxy, hostname, port, isSecure, onPending });
    this.#upgrade(socket, { upgrade, step: 'proxyMs' }, () => {
      this.isConnected = true;
      this.#secure(socket);
    });
  }

  #secure(socket: Socket): void {
    const { isSecure, upgrade, hostname, serverName = hostname } = this.#target;
    if (!isSecure) {
      this.#succeed(socket);
      return;
    }
    const encrypt = () => {
      this.phase = 'tls';
      const options = { ...this.#target, hostname: serverName, step: 'tlsMs' } as const;
      this.#handshake(socket, options, (secureSocket) => this.#succeed(secureSocket));
    };
    if (upgrade) {
      this.phase = 'starttls';
      this.#upgrade(socket, { upgrade, step: 'startTlsMs' }, encrypt);
    } else encrypt();
  }

  /** Times every request and its response as an exchange of its own; local processing in between is not counted. */
  #upgrade(
    socket: Socket,
    { upgrade, step }: { readonly upgrade: Upgrade; readonly step: keyof ConnectionTimes },
    onReady: () => void,
  ): void {
    let knownBytes = this.receivedBytes;
    this.#begin(step);
    let hasSpoken = this.#target.proxy !== undefined;
    const complete = () => {
      // A server that speaks first does not wait for the client.
      if (!hasSpoken) this.#begin(step, this.readyMs);
      this.#completeExchange();
    };
    upgrade(socket, {
      send: (data) => {
        if (this.receivedBytes > knownBytes) complete();
        hasSpoken = true;
        knownBytes = this.receivedBytes;
        this.beforeSending();
        const beforeMs = performance.now();
        socket.write(data);
        this.#begin(step, this.sentSince(beforeMs), beforeMs);
      },
      done: (error) => {
        if (this.#isDestroyed) return;
        complete();
        if (error) this.#fail(error);
        else onReady();
      },
    });
  }

  #handshake(
    socket: Socket,
    options: HandshakeOptions & { readonly step: keyof ConnectionTimes },
    onSecure: (socket: Socket) => void,
  ): void {
    const secureContext = usableContext(options.clientIdentity, this.phase, options.inspection !== undefined);
    if (secureContext instanceof ProbeError) {
      this.#fail(secureContext);
      return;
    }
    const isTarget = options.step === 'tlsMs';
    this.beforeSending();
    const beforeMs = performance.now();
    const secureSocket = beginHandshake(socket, options, {
      secureContext,
      ...(isTarget && { checkServerIdentity: checkStrictIdentity }),
    });
    // This write sent the ClientHello.
    const sentMs = this.sentSince(beforeMs, usualHandshakeStartMs);
    this.#begin(options.step, sentMs, Math.min(sentMs, beforeMs + quickestHandshakeStartMs));
    this.#socket = secureSocket;
    // An inspection reads the chain itself, and the chain can be read only once.
    if (isTarget && !options.inspection) this.#certificate.attach(secureSocket);
    secureSocket.on('error', ignore).on('error', this.#onTlsError);
    const onError = (error: Error) => {
      this.#completeExchange();
      this.#fail(error);
    };
    secureSocket.once('error', onError);
    secureSocket.once('secureConnect', () => {
      secureSocket.off('error', onError);
      this.#completeExchange();
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
    this.destroy();
    callback(classifyError(thrown, this.phase, this.where, this.peer), null);
  }
}

const ignore = () => undefined;
