import { createSocket, type Socket } from 'node:dgram';
import { errorCodeOf } from '../../lib/errors.ts';
import { hostAndPort, isIpv6Enabled, type ResolvedAddress, type WantedFamily } from '../address.ts';
import { classifyError, networkAnswer, ProbeError } from '../connection/errors.ts';
import type { ConnectionMeans } from '../connection/target.ts';
import { noAnswer, withinLimits } from '../dns/limits.ts';
import type { PacketTimes, ProbeMeasurement } from '../kernel-thread/socket-watch.ts';
import { type Timekeeper, threadTimekeeper } from '../kernel-thread/timekeeper.ts';
import { type LookupTimes, resolveWanted } from '../resolver.ts';

/** A datagram to send, and how long its answer is waited for. */
export interface UdpProbeRequest {
  /** A name, or an address without brackets. */
  readonly hostname: string;
  readonly port: number;
  readonly family: WantedFamily;
  readonly data: Buffer;
  /** How often it is sent at most: datagrams get lost. */
  readonly attempts: number;
  /** How long each of them is waited for. */
  readonly attemptTimeoutMs: number;
}

export interface UdpProbeControls extends ConnectionMeans {
  /** Aborting ends the probe as `aborted`, or as unanswered when its reason is a TimeoutError. */
  readonly signal: AbortSignal;
  /** Limit for the whole probe, in milliseconds from now. */
  readonly timeoutMs: number;
}

/** What a probe found. Either `error` is there or `answer` is. */
export interface UdpProbeResult {
  readonly error: ProbeError | undefined;
  readonly answer: Buffer | undefined;
  /** How often the datagram was sent. */
  readonly sentCount: number;
  readonly dnsMs: number;
  /** From the datagram that was sent last to the answer. */
  readonly waitMs: number;
  readonly measurement: ProbeMeasurement;
  readonly address: string | null;
}

/**
 * Sends a datagram until something comes back, and takes the first that does. The socket is connected: the kernel drops what does
 * not come from the target, and hands over what routers and the target say of the port. Never throws for what a peer
 * does; a rejection is a fault of ours.
 */
export async function probeUdp(
  request: UdpProbeRequest,
  controls: UdpProbeControls,
): Promise<UdpProbeResult> {
  return await new Asking(request, controls).run();
}

/** Goes RESOLVING -> ASKING (sends, waits, sends again) -> done, or straight to done from either when something fails. */
class Asking {
  readonly #request: UdpProbeRequest;
  readonly #controls: UdpProbeControls;
  readonly #timekeeper: Timekeeper;
  readonly #startMs = performance.now();
  #lookup: LookupTimes | undefined;
  #dnsMs = 0;
  #address: string | null = null;
  #sentCount = 0;
  #sentMs = 0;
  #times: PacketTimes | undefined;
  #waitMs = 0;
  #lagMs = 0;
  #answeredMs = 0;

  constructor(request: UdpProbeRequest, controls: UdpProbeControls) {
    this.#request = request;
    this.#controls = controls;
    this.#timekeeper = controls.timekeeper ?? threadTimekeeper();
  }

  async run(): Promise<UdpProbeResult> {
    try {
      const target = await this.#resolved();
      return this.#result({ answer: await this.#ask(target) });
    } catch (thrown) {
      const error = classifyError(thrown, this.#sentCount > 0 ? 'firstByte' : 'dns', this.#where);
      if (!(error instanceof ProbeError)) throw error;
      return this.#result({ error });
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
    if (!first) throw new Error('the resolver answered with no address and no error');
    const refusal = egress.refusal({ hostname, address: first.address, port });
    if (refusal !== undefined) throw new ProbeError('egress-denied', 'dns', refusal);
    this.#address = first.address;
    return first;
  }

  #ask({ address, family }: ResolvedAddress): Promise<Buffer> {
    const { hostname, port, attempts, attemptTimeoutMs } = this.#request;
    const { signal, timeoutMs, onAttempt } = this.#controls;
    const leftMs = timeoutMs - (performance.now() - this.#startMs);
    return withinLimits<Buffer>(
      { signal, timeoutMs: Math.min(leftMs, attempts * attemptTimeoutMs) },
      this.#where,
      ({ resolve, reject }) => {
        const socket = createSocket(family === 6 ? 'udp6' : 'udp4');
        let timer: NodeJS.Timeout | undefined;
        socket.on('error', (error) => {
          this.#note();
          reject(this.#socketError(error, family));
        });
        socket.on('message', (bytes) => {
          this.#note();
          resolve(bytes);
        });
        socket.connect(port, address, () => {
          const { port: localPort } = socket.address();
          onAttempt?.({
            ...{ protocol: 'udp', hostname, isSecure: false, address, port },
            localPort: () => localPort,
          });
          this.#times = this.#timekeeper.packets(socket);
          const send = () => {
            this.#send(socket);
            if (this.#sentCount < attempts) timer = setTimeout(send, attemptTimeoutMs);
          };
          send();
        });
        return () => {
          clearTimeout(timer);
          socket.close();
        };
      },
      () => {
        this.#waitMs = this.#sentMs > 0 ? performance.now() - this.#sentMs : 0;
        const count = this.#sentCount === 1 ? '' : `; the datagram was sent ${this.#sentCount} times`;
        return noAnswer(this.#where, performance.now() - this.#startMs, this.#waitMs, count);
      },
    );
  }

  #send(socket: Socket): void {
    this.#times?.beforeSending();
    socket.send(this.#request.data);
    this.#times?.afterSending();
    this.#sentMs = performance.now();
    this.#sentCount += 1;
  }

  /** Something has come in this very event. */
  #note(): void {
    if (this.#answeredMs > 0) return;
    this.#answeredMs = performance.now();
    const elapsedMs = this.#answeredMs - this.#sentMs;
    this.#waitMs = this.#times?.elapsedMs() ?? elapsedMs;
    this.#lagMs = Math.max(0, elapsedMs - this.#waitMs);
  }

  #socketError(error: Error, family: 4 | 6): Error {
    // Without IPv6 there is no source address, which looks like having run out of ports.
    if (errorCodeOf(error) === 'EADDRNOTAVAIL' && family === 6 && !isIpv6Enabled()) {
      return new ProbeError('network-unavailable', 'firstByte', `${error.message}: IPv6 is off here`);
    }
    if (errorCodeOf(error) === 'EMSGSIZE') {
      const message = `${this.#request.data.length} bytes are more than one datagram can carry (${this.#where})`;
      return new ProbeError('request-invalid', 'firstByte', message, 'EMSGSIZE', { cause: error });
    }
    const isAnswer = 'syscall' in error && String(error.syscall).startsWith('recv');
    return isAnswer ? networkAnswer(error, 'firstByte', this.#where) : error;
  }

  #result({ error, answer }: { readonly error?: ProbeError; readonly answer?: Buffer }): UdpProbeResult {
    const wireMs = this.#dnsMs + this.#waitMs;
    const clock = this.#times?.clock === 'event' ? 'event' : (this.#lookup?.clock ?? 'event');
    return {
      error,
      answer,
      sentCount: this.#sentCount,
      dnsMs: this.#dnsMs,
      waitMs: this.#waitMs,
      measurement: {
        clock,
        overheadMs: Math.max(0, (this.#answeredMs || performance.now()) - this.#startMs - wireMs),
        lagMs: Math.max(this.#lagMs, this.#lookup?.lagMs ?? 0),
        doubtMs: this.#times?.doubtMs ?? 0,
        ...(error && { waitedMs: error.waitedMs ?? wireMs }),
      },
      address: this.#address,
    };
  }
}
