import { createSocket, type Socket } from 'node:dgram';
import { errorCodeOf } from '@picket/lib/errors.ts';
import { hostAndPort, isIpv6Enabled, type ResolvedAddress, type WantedFamily } from '../address.ts';
import { classifyError, egressDenied, networkAnswer, ProbeError } from '../connection/errors.ts';
import type { ConnectionOptions } from '../connection/target.ts';
import { noAnswer, withinLimits } from '../dns/limits.ts';
import type { PacketTimes, ProbeMeasurement } from '../kernel-thread/socket-watch.ts';
import { type Timekeeper, threadTimekeeper } from '../kernel-thread/timekeeper.ts';
import { type LookupTimes, resolveWanted } from '../resolver.ts';
import type { StepOutcome } from '../steps/steps.ts';

/** A datagram, and the response to wait for before the next one is sent. */
export interface UdpExchange {
  /** Called when the datagram is sent: it may depend on an earlier response. @throws ProbeError */
  data(): Buffer;
  /** Returns whether a response is the expected one; others are skipped. @throws ProbeError */
  accept(answer: Buffer): boolean;
}

/** Destination, datagrams and timeouts. */
export interface UdpProbeRequest {
  /** A name, or an address without brackets. */
  readonly hostname: string;
  readonly port: number;
  readonly family: WantedFamily;
  /** One after the other; at least one. */
  readonly exchanges: readonly UdpExchange[];
  /** Maximum number of sends of each: datagrams get lost. */
  readonly attempts: number;
  /** Timeout of each send. */
  readonly attemptTimeoutMs: number;
}

export interface UdpProbeControls extends ConnectionOptions {
  /** Aborting ends the probe with `aborted`, or with a timeout if the reason is a TimeoutError. */
  readonly signal: AbortSignal;
  /** Limit for the whole probe, in milliseconds from now. */
  readonly timeoutMs: number;
}

/** An exchange that has begun. */
export interface UdpExchangeOutcome extends StepOutcome {
  readonly sentCount: number;
  /** From the last send to the response, or to the end. */
  readonly waitMs: number;
}

/** Result of a probe. */
export interface UdpProbeResult {
  /** Undefined if each exchange got its response. */
  readonly error: ProbeError | undefined;
  /** The response of the last answered exchange. */
  readonly answer: Buffer | undefined;
  readonly outcomes: readonly UdpExchangeOutcome[];
  /** Total number of sends. */
  readonly sentCount: number;
  readonly dnsMs: number;
  /** Sum of the waits of all exchanges. */
  readonly waitMs: number;
  readonly measurement: ProbeMeasurement;
  readonly address: string | null;
}

/**
 * Sends each datagram until an accepted response arrives, then continues with the next. The socket is connected: the
 * kernel drops datagrams from other sources, and reports ICMP errors of routers and of the target. Never throws because
 * of a peer; a rejection is a bug of ours.
 */
export async function probeUdp(
  request: UdpProbeRequest,
  controls: UdpProbeControls,
): Promise<UdpProbeResult> {
  return await new Asking(request, controls).run();
}

interface Exchanged {
  sentCount: number;
  isDone: boolean;
  waitMs: number;
}

interface Reading {
  readonly nowMs: number;
  readonly waitMs: number;
  readonly lagMs: number;
  readonly doubtMs: number;
}

/**
 * States: RESOLVING -> ASKING (sends, waits, sends again; the next exchange after a response) -> done, or straight to
 * done from either on failure.
 */
class Asking {
  readonly #request: UdpProbeRequest;
  readonly #controls: UdpProbeControls;
  readonly #timekeeper: Timekeeper;
  readonly #startMs = performance.now();
  readonly #exchanged: Exchanged[] = [];
  #lookup: LookupTimes | undefined;
  #dnsMs = 0;
  #address: string | null = null;
  #answer: Buffer | undefined;
  /** When the first and the last datagram of the current exchange were sent. */
  #firstSentMs = 0;
  #sentMs = 0;
  #times: PacketTimes | undefined;
  #lagMs = 0;
  #doubtMs = 0;
  #endedMs = 0;

  constructor(request: UdpProbeRequest, controls: UdpProbeControls) {
    this.#request = request;
    this.#controls = controls;
    this.#timekeeper = controls.timekeeper ?? threadTimekeeper();
  }

  async run(): Promise<UdpProbeResult> {
    try {
      await this.#ask(await this.#resolved());
      return this.#result();
    } catch (thrown) {
      const phase = this.#address === null ? 'dns' : 'firstByte';
      const error = classifyError(thrown, phase, this.#where);
      if (!(error instanceof ProbeError)) throw error;
      return this.#result(error);
    }
  }

  get #where(): string {
    const { hostname, port } = this.#request;
    return hostAndPort(this.#address ?? hostname, port);
  }

  async #resolved(): Promise<ResolvedAddress> {
    const { hostname, port, family } = this.#request;
    const { resolver, egress, signal, timeoutMs } = this.#controls;
    const beganMs = performance.now();
    const found = withinLimits<readonly ResolvedAddress[]>(
      { signal, timeoutMs },
      hostname,
      ({ resolve, reject }) => {
        const stop = new AbortController();
        const onMeasured = (times: LookupTimes) => {
          this.#lookup = times;
        };
        resolveWanted(resolver, hostname, family, { signal: stop.signal, onMeasured }).then(resolve, reject);
        return () => stop.abort();
      },
      () => {
        const message = `timed out after ${Math.round(timeoutMs)} ms while resolving the name (${hostname})`;
        return new ProbeError('resolver-unavailable', 'dns', message, 'ETIMEDOUT');
      },
    );
    const [first] = await found.finally(() => {
      this.#dnsMs = this.#lookup?.elapsedMs ?? performance.now() - beganMs;
    });
    if (!first) throw new Error('the resolver returned neither an address nor an error');
    const refusal = egress.refusal({ hostname, address: first.address, port });
    if (refusal) throw egressDenied('dns', refusal);
    this.#address = first.address;
    return first;
  }

  #ask({ address, family }: ResolvedAddress): Promise<void> {
    const { hostname, port, exchanges, attempts, attemptTimeoutMs } = this.#request;
    const { signal, timeoutMs, onAttempt } = this.#controls;
    const leftMs = timeoutMs - (performance.now() - this.#startMs);
    return withinLimits<void>(
      { signal, timeoutMs: leftMs },
      this.#where,
      ({ resolve, reject }) => {
        const socket = createSocket(family === 6 ? 'udp6' : 'udp4');
        let timer: NodeJS.Timeout | undefined;
        let exchange: UdpExchange | undefined;
        let data: Buffer = Buffer.alloc(0);
        const attempt = () => {
          const sentCount = this.#send(socket, data);
          // Data that arrived before the deadline is read first, as in `withinLimits`.
          const end = () => setImmediate(() => reject(this.#silence()));
          timer = setTimeout(sentCount < attempts ? attempt : end, attemptTimeoutMs);
        };
        const next = () => {
          clearTimeout(timer);
          exchange = exchanges[this.#exchanged.length];
          if (!exchange) return resolve();
          this.#exchanged.push({ sentCount: 0, isDone: false, waitMs: 0 });
          try {
            data = exchange.data();
            attempt();
          } catch (thrown) {
            reject(thrown);
          }
        };
        socket.on('error', (error) => {
          this.#end(this.#reading(), false);
          reject(this.#socketError(error, family, data.length));
        });
        socket.on('message', (bytes) => {
          const reading = this.#reading();
          try {
            if (!exchange?.accept(bytes)) return;
          } catch (thrown) {
            // An exception in an event listener would not reach the caller.
            return reject(thrown);
          }
          this.#end(reading, true);
          this.#answer = bytes;
          next();
        });
        // As a listener, not as an argument: Node calls that with an error too, where no route leads to the address.
        socket.once('connect', () => {
          const { port: localPort } = socket.address();
          onAttempt?.({
            ...{ protocol: 'udp', hostname, isSecure: false, address, port },
            localPort: () => localPort,
          });
          this.#times = this.#timekeeper.packets(socket);
          next();
        });
        socket.connect(port, address);
        return () => {
          clearTimeout(timer);
          socket.close();
        };
      },
      () => this.#silence(),
    );
  }

  #silence(): ProbeError {
    const last = this.#exchanged.at(-1);
    this.#endedMs = performance.now();
    // A response to any datagram of the exchange would have been received; earlier waits count, too.
    const answeredMs = this.#exchanged.reduce((sum, exchanged) => sum + exchanged.waitMs, 0);
    const waitedMs = last ? answeredMs + this.#endedMs - this.#firstSentMs : 0;
    if (last) last.waitMs = this.#endedMs - this.#sentMs;
    const sentCount = last?.sentCount ?? 0;
    const count = sentCount > 1 ? `; the datagram was sent ${sentCount} times` : '';
    return noAnswer(this.#where, this.#endedMs - this.#startMs, waitedMs, count);
  }

  /** Sends the datagram; returns how often it has been sent. */
  #send(socket: Socket, data: Buffer): number {
    const exchanged = this.#exchanged.at(-1);
    if (!exchanged) throw new Error('there is nothing to send');
    this.#times?.beforeSending();
    socket.send(data);
    this.#times?.afterSending();
    this.#sentMs = performance.now();
    if (exchanged.sentCount === 0) this.#firstSentMs = this.#sentMs;
    exchanged.sentCount += 1;
    return exchanged.sentCount;
  }

  /** Arrival time of a datagram, read within its event: the next event overwrites the kernel's timestamp. */
  #reading(): Reading {
    const nowMs = performance.now();
    const elapsedMs = nowMs - this.#sentMs;
    const waitMs = this.#times?.elapsedMs() ?? elapsedMs;
    return { nowMs, waitMs, lagMs: Math.max(0, elapsedMs - waitMs), doubtMs: this.#times?.doubtMs ?? 0 };
  }

  /** Ends the exchange in progress. */
  #end({ nowMs, waitMs, lagMs, doubtMs }: Reading, isDone: boolean): void {
    const exchanged = this.#exchanged.at(-1);
    if (!exchanged) return;
    exchanged.isDone = isDone;
    exchanged.waitMs = waitMs;
    this.#endedMs = nowMs;
    this.#lagMs = Math.max(this.#lagMs, lagMs);
    this.#doubtMs = Math.max(this.#doubtMs, doubtMs);
  }

  #socketError(error: Error, family: 4 | 6, sizeBytes: number): Error {
    // Without IPv6 there is no source address, which looks like port exhaustion.
    if (errorCodeOf(error) === 'EADDRNOTAVAIL' && family === 6 && !isIpv6Enabled()) {
      return new ProbeError('network-unavailable', 'firstByte', `${error.message}: IPv6 is disabled here`);
    }
    if (errorCodeOf(error) === 'EMSGSIZE') {
      const message = `${sizeBytes} bytes do not fit in one datagram (${this.#where})`;
      return new ProbeError('request-invalid', 'firstByte', message, 'EMSGSIZE', { cause: error });
    }
    const isAnswer = 'syscall' in error && String(error.syscall).startsWith('recv');
    return isAnswer ? networkAnswer(error, 'firstByte', this.#where) : error;
  }

  #result(error?: ProbeError): UdpProbeResult {
    const waitMs = this.#exchanged.reduce((sum, exchanged) => sum + exchanged.waitMs, 0);
    const wireMs = this.#dnsMs + waitMs;
    const clock = this.#times?.clock === 'event' ? 'event' : (this.#lookup?.clock ?? 'event');
    return {
      error,
      answer: this.#answer,
      outcomes: this.#exchanged,
      sentCount: this.#exchanged.reduce((sum, { sentCount }) => sum + sentCount, 0),
      dnsMs: this.#dnsMs,
      waitMs,
      measurement: {
        clock,
        overheadMs: Math.max(0, (this.#endedMs || performance.now()) - this.#startMs - wireMs),
        lagMs: Math.max(this.#lagMs, this.#lookup?.lagMs ?? 0),
        doubtMs: this.#doubtMs,
        ...(error && { waitedMs: error.waitedMs ?? wireMs }),
      },
      address: this.#address,
    };
  }
}
