import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { isIpv6Enabled, type ResolvedAddress } from '../address.ts';
import { quickestHandshakeStartMs, usualHandshakeStartMs } from '../kernel-thread/send-time.ts';
import type { SentMoment, SocketWatch } from '../kernel-thread/socket-watch.ts';
import { type Timekeeper, threadTimekeeper } from '../kernel-thread/timekeeper.ts';
import { type LookupTimes, resolveWanted } from '../resolver.ts';
import type { StampClock } from '../sys/kernel-clock.ts';
import { type CertificateFacts, CertificateReader } from './certificate.ts';
import { egressRefusal } from './egress-question.ts';
import { classifyError, egressDenied, networkAnswer, ProbeError, type ProbePhase } from './errors.ts';
import type { ForwardProxy } from './forward-proxy.ts';
import { beginHandshake, type HandshakeOptions } from './handshake.ts';
import { explainedBy, peerOf, placeOf } from './place.ts';
import { openTunnel } from './proxy-tunnel.ts';
import { usableContext } from './secure-contexts.ts';
import type { ConnectionOptions, ConnectionTarget, ConnectionTimes, Upgrade } from './target.ts';

/**
 * One fresh connection, made step by step so that every step can be timed and blamed: the name, one TCP
 * connect to its first address if the egress policy allows that, the tunnel through a proxy if there is one,
 * and TLS without session resumption (a monitor has to see the full handshake). After `open` has called back,
 * the socket belongs to the caller; `destroy` works at any time.
 *
 * Each step is timed from the moment its first packet has left to the arrival of the last one it needs, by
 * the kernel's stamps where those are to be had (see kernel-thread/socket-watch.ts).
 */
export class Connection {
  readonly times: ConnectionTimes = { dnsMs: 0, tcpMs: 0, proxyMs: 0, startTlsMs: 0, tlsMs: 0 };
  /** How much later than it happened a step was noticed, at most. */
  lagMs = 0;
  #timekeeper: Timekeeper | undefined;
  /** True once there was a TCP connection to the target, through a proxy or not. */
  isConnected = false;
  /** The step under way. Whatever happens on the way to a proxy and through it is `proxy`. */
  phase: ProbePhase;
  /** True once the connection is the caller's; what happens from then on has phases of its own. */
  isOpen = false;
  /** True once the proxy was asked for a tunnel, unless it said no: what is heard of it then may be the target's. */
  isTunnelPending = false;
  /** The address connected to; the proxy's when there is one. */
  address: string | null = null;
  readonly #target: ConnectionTarget;
  #socket: Socket | undefined;
  /** The TCP socket below everything. */
  #tcpSocket: Socket | undefined;
  #watch: SocketWatch | undefined;
  readonly #certificate = new CertificateReader();
  #lookupClock: StampClock = 'kernel';
  #lookupStop: AbortController | undefined;
  /** The first error that TLS met. */
  #tlsError: Error | undefined;
  /** The step that is being timed. */
  #step: { readonly name: keyof ConnectionTimes; readonly start: SentMoment } | undefined;
  #connectedMs = 0;
  #isDestroyed = false;
  #callback: ((error: Error | null, socket: Socket | null) => void) | undefined;

  constructor(target: ConnectionTarget) {
    this.#target = target;
    this.phase = target.proxy ? 'proxy' : 'dns';
  }

  /** The peer of the present step, for messages. */
  get where(): string {
    return placeOf(this.#target, this);
  }

  /** The same for programs. */
  get peer() {
    return peerOf(this.#target, this);
  }

  /** What the target showed of itself in TLS. */
  get certificate(): CertificateFacts | undefined {
    return this.#certificate.facts;
  }

  /** Whose stamps the times are made of. */
  get clock(): StampClock {
    return this.#watch?.clock === 'event' ? 'event' : this.#lookupClock;
  }

  /** When the peer could begin to speak. To be asked as soon as the connection is open, before anything is sent. */
  get readyMs(): number {
    if (this.#socket !== this.#tcpSocket) return performance.now();
    if (this.#target.proxy) return this.arrivalOf(this.receivedBytes, performance.now());
    return this.#watch?.readyAt(this.#connectedMs) ?? this.#connectedMs;
  }

  /** By how much the times may be off in all, as far as is known. */
  get doubtMs(): number {
    return this.#watch?.doubtMs ?? 0;
  }

  /** Bytes the TCP socket has received so far, those of TLS included. */
  get receivedBytes(): number {
    return this.#tcpSocket?.bytesRead ?? 0;
  }

  /** True while something that was written has not been handed to the kernel yet. */
  get isSending(): boolean {
    const { _handle: handle } = (this.#tcpSocket ?? {}) as { _handle?: { writeQueueSize?: number } | null };
    return (handle?.writeQueueSize ?? 0) > 0;
  }

  /** What is behind an error where TLS failed before it. */
  explained(error: Error): Error {
    return explainedBy(this.#tlsError, error);
  }

  /** For how long the connection has been silent on either side, as far as the kernel knows. */
  silentMs(): number {
    return this.#watch?.silentMs(performance.now()) ?? 0;
  }

  /** To be called right before something is written that `sentSince` is asked about. */
  beforeSending(): void {
    this.#timekeeper?.interruption();
  }

  /** When data were sent whose writing began at `beforeMs` and has just ended. */
  sentSince(beforeMs: number, usualMs?: number): number {
    const afterMs = performance.now();
    const stamps = { beforeMs, afterMs, usualMs, interruption: () => this.#timekeeper?.interruption() };
    return this.#noted(this.#watch?.written(stamps) ?? afterMs, afterMs);
  }

  /** When the first `receivedBytes` bytes had arrived, which have been read in this very event. */
  arrivalOf(receivedBytes: number, eventMs: number): number {
    return this.#noted(this.#watch?.arrivalOf(receivedBytes, eventMs) ?? eventMs, eventMs);
  }

  /** When the first byte after the first `knownBytes` arrived; `receivedBytes` are read in this very event. */
  arrivalAfter(knownBytes: number, receivedBytes: number, eventMs: number): number {
    return this.#noted(this.#watch?.arrivalAfter(knownBytes, receivedBytes, eventMs) ?? eventMs, eventMs);
  }

  /** Connects; calls back once, with what `classifyError` says of the error when it fails. */
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
    // Through a proxy the family is the proxy's business: only its own name is looked up here.
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
    const step = this.#step;
    if (step) this.#complete(performance.now() - step.start.atMs);
    this.#watch?.release();
    this.#socket?.destroy();
  }

  #begin(name: keyof ConnectionTimes, atMs = performance.now(), earliestMs = atMs): number {
    this.#step = { name, start: { atMs, earliestMs } };
    return atMs;
  }

  /** Ends the step under way. */
  #complete(durationMs: number): void {
    if (this.#step) this.times[this.#step.name] += Math.max(0, durationMs);
    this.#step = undefined;
  }

  /** Ends a step that was an exchange with the peer, of which everything has been read in this very event. */
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
      // The connect follows this event: then there is something to watch.
      process.nextTick(() => {
        hasLeft = !socket.destroyed;
        if (!this.#isDestroyed) this.#watch = timekeeper.watch(socket, startMs);
        const localPort = () => socket.localPort;
        onAttempt?.({ protocol: 'tcp', hostname, isSecure, address, port: proxy?.port ?? port, localPort });
      });
    });
    // An error that comes after this connection is done concerns nobody, but unheard it would end the
    // process.
    socket.on('error', ignore);
    const onError = (error: NodeJS.ErrnoException) => {
      const eventMs = performance.now();
      const answeredMs = this.#noted(this.#watch?.answeredAt(eventMs) ?? eventMs, eventMs);
      this.#complete(answeredMs - startMs);
      // Without IPv6 there is no source address, which looks like having run out of ports.
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
    // A proxy of HTTP forwards plain requests without a tunnel.
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

  /** Every question with its answer is an exchange of its own: what this side needs in between is in no time. */
  #upgrade(
    socket: Socket,
    { upgrade, step }: { readonly upgrade: Upgrade; readonly step: keyof ConnectionTimes },
    onReady: () => void,
  ): void {
    let knownBytes = this.receivedBytes;
    this.#begin(step);
    let hasSpoken = this.#target.proxy !== undefined;
    const complete = () => {
      // A peer that speaks first does not wait for the client.
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
    const { clientIdentity, inspection } = options;
    const secureContext = usableContext(clientIdentity, this.phase, inspection !== undefined);
    if (secureContext instanceof ProbeError) {
      this.#fail(secureContext);
      return;
    }
    const isTarget = options.step === 'tlsMs';
    const { checkServerIdentity } = this.#certificate;
    this.beforeSending();
    const beforeMs = performance.now();
    const secureSocket = beginHandshake(socket, options, {
      secureContext,
      ...(isTarget && { checkServerIdentity }),
    });
    // ClientHello has left with that.
    const sentMs = this.sentSince(beforeMs, usualHandshakeStartMs);
    this.#begin(options.step, sentMs, Math.min(sentMs, beforeMs + quickestHandshakeStartMs));
    this.#socket = secureSocket;
    // Who inspects the handshake reads the chain, which can be read once.
    if (isTarget && !inspection) this.#certificate.attach(secureSocket);
    secureSocket.on('error', (error) => {
      this.#tlsError ??= error;
    });
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
