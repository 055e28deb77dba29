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

/** A datagram, and the answer that is waited for before the next one is sent. */
export interface UdpExchange {
  /** Made when it is time: it may hold what an earlier answer said. @throws ProbeError */
  data(): Buffer;
  /** Whether an answer is the one; others are passed over. @throws ProbeError */
  accept(answer: Buffer): boolean;
}

/** Where datagrams go, and how long their answers are waited for. */
export interface UdpProbeRequest {
  /** A name, or an address without brackets. */
  readonly hostname: string;
  readonly port: number;
  readonly family: WantedFamily;
  /** One after the other; at least one. */
  readonly exchanges: readonly UdpExchange[];
  /** How often each is sent at most: datagrams get lost. */
  readonly attempts: number;
  /** How long each sending is waited for. */
  readonly attemptTimeoutMs: number;
}

export interface UdpProbeControls extends ConnectionOptions {
  /** Aborting ends the probe as `aborted`, or as unanswered when its reason is a TimeoutError. */
  readonly signal: AbortSignal;
  /** Limit for the whole probe, in milliseconds from now. */
  readonly timeoutMs: number;
}

/** An exchange that was begun. */
export interface UdpExchangeOutcome extends StepOutcome {
  readonly sentCount: number;
  /** From the datagram that was sent last to the answer, or to the end. */
  readonly waitMs: number;
}

/** What a probe found. */
export interface UdpProbeResult {
  /** Undefined when each exchange was answered. */
  readonly error: ProbeError | undefined;
  /** To the exchange that was answered last. */
  readonly answer: Buffer | undefined;
  readonly outcomes: readonly UdpExchangeOutcome[];
  /** How often anything was sent. */
  readonly sentCount: number;
  readonly dnsMs: number;
  /** The waits of all exchanges together. */
  readonly waitMs: number;
  readonly measurement: ProbeMeasurement;
  readonly address: string | null;
}

/**
 * Sends each datagram until an answer comes that is taken, and goes on with the next. The socket is connected: the kernel drops what does
 * not come from the target, and hands over what routers and the target say of the port. Never throws for what a peer
 * does; a rejection is a fault of ours.
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
 * Goes RESOLVING -> ASKING (sends, waits, sends again; the next exchange when one is answered) -> done, or straight to
 * done from either when something fails.
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
  /** When the first datagram of the present exchange was sent, and the last. */
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
      const error = classifyError(thrown, this.#exchanged.length > 0 ? 'firstByte' : 'dns', this.#where);
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
          // What had arrived by then is read first, as `withinLimits` does.
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
            // Nobody else would hear of it here.
            return reject(thrown);
          }
          this.#end(reading, true);
          this.#answer = bytes;
          next();
        });
        socket.connect(port, address, () => {
          const { port: localPort } = socket.address();
          onAttempt?.({
            ...{ protocol: 'udp', hostname, isSecure: false, address, port },
            localPort: () => localPort,
          });
          this.#times = this.#timekeeper.packets(socket);
          next();
        });
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
    // An answer to any datagram of the exchange would have been heard, and earlier answers took their time.
    const answeredMs = this.#exchanged.reduce((sum, exchanged) => sum + exchanged.waitMs, 0);
    const waitedMs = last ? answeredMs + this.#endedMs - this.#firstSentMs : 0;
    if (last) last.waitMs = this.#endedMs - this.#sentMs;
    const sentCount = last?.sentCount ?? 0;
    const count = sentCount > 1 ? `; the datagram was sent ${sentCount} times` : '';
    return noAnswer(this.#where, this.#endedMs - this.#startMs, waitedMs, count);
  }

  /** How often the datagram has been sent now. */
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

  /** When something came, in its very event: what the kernel knows of it, the next event changes. */
  #reading(): Reading {
    const nowMs = performance.now();
    const elapsedMs = nowMs - this.#sentMs;
    const waitMs = this.#times?.elapsedMs() ?? elapsedMs;
    return { nowMs, waitMs, lagMs: Math.max(0, elapsedMs - waitMs), doubtMs: this.#times?.doubtMs ?? 0 };
  }

  /** Ends the exchange that is under way. */
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
    // Without IPv6 there is no source address, which looks like having run out of ports.
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
