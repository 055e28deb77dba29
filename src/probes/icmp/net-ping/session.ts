import { randomBytes, randomInt } from 'node:crypto';
import { canonicalAddress } from '@picket/lib/wire/canonical-address.ts';
import type { IpFamily } from '../../address.ts';
import { errnoOfWords } from '../../sys/errno.ts';
import * as linux from '../../sys/linux.ts';
import type { PingTrain } from '../backend.ts';
import type { EchoAnswer } from '../echo/answers.ts';
import { echoRequest, tokenBytes } from '../echo/packet.ts';
import { pathMtuDiscovery } from '../echo/socket.ts';
import type { NetPingLibrary, NetPingRequest, NetPingSession } from './library.ts';
import { type RawMessage, readRawMessage, wantedTypes } from './packet.ts';

interface EchoRequest extends NetPingRequest {
  readonly sequence: number;
  readonly token: Buffer;
  readonly dataBytes: number;
  readonly ttl: number | undefined;
  readonly dontFragment: boolean | undefined;
  readonly settle: (answer: EchoAnswer | undefined) => void;
  sentAtMs: number;
}

const receiveBufferBytes = 1 << 20;
const maxPacketBytes = 1 << 16;
/** net-ping takes a session id modulo this, and treats 0 as absent. */
const sessionIds = 65_535;

/**
 * A net-ping session of one family, with corrections. Its id is random instead of the process id, which is 1 in every
 * container; it does not retry; an answer counts only from the target (or about a packet to it) and with the random
 * token of the request, which old and foreign replies lack; times come from the monotonic clock right before the send
 * and at the receipt; IPv6 errors are parsed at their own offsets; IPv6 uses its own hop limit option.
 */
export class NetPingEcho {
  readonly family: IpFamily;
  readonly #library: NetPingLibrary;
  readonly #session: NetPingSession<EchoRequest>;
  readonly #open = new Map<number, EchoRequest>();
  #ttl: number | undefined;
  #dontFragment: boolean | undefined;

  /**
   * @param onError called when the socket has failed and is no longer usable.
   * @throws with the text of the C library if the system refuses the socket.
   */
  constructor(library: NetPingLibrary, family: IpFamily, onError: (error: Error) => void) {
    this.family = family;
    this.#library = library;
    const session: NetPingSession<EchoRequest> = library.createSession({
      networkProtocol: family === 4 ? library.NetworkProtocol.IPv4 : library.NetworkProtocol.IPv6,
      sessionId: randomInt(1, sessionIds),
      retries: 0,
    });
    this.#session = session;
    session.on('error', onError);
    session.on('close', () => onError(new Error('the raw socket was closed')));
    session.toBuffer = ({ id, token, dataBytes }) =>
      echoRequest({ family, identifier: session.sessionId, sequence: id, token, dataBytes });
    session.onBeforeSocketSend = (request) => {
      this.#setTtl(request.ttl);
      this.#setDontFragment(request.dontFragment);
      // Before the send, not after it: a nearby host replies before the send returns.
      request.sentAtMs = performance.now();
    };
    const { socket } = session;
    socket.removeAllListeners('message');
    socket.on('message', (packet, source) => this.#receive(packet, source, performance.now()));
    socket.buffer = Buffer.alloc(maxPacketBytes);
    socket.setOption(linux.SOL_SOCKET, linux.SO_RCVBUF, receiveBufferBytes);
    this.#receiveOnlyWanted();
    this.#applyTtl();
  }

  /** Sends one request. @returns its answer; undefined if the signal aborted first. */
  echo(train: PingTrain, sequence: number, signal: AbortSignal): Promise<EchoAnswer | undefined> {
    const { promise, resolve } = Promise.withResolvers<EchoAnswer | undefined>();
    const id = this.#session._generateId();
    if (id === undefined) return Promise.resolve({ kind: 'unsent', sequence, errno: 'EAGAIN' });
    const settle = (answer: EchoAnswer | undefined) => {
      // net-ping still sends and times out requests queued before their signal aborted.
      if (this.#open.get(id) !== request) return;
      signal.removeEventListener('abort', forget);
      this.#open.delete(id);
      this.#session.reqRemove(id);
      resolve(answer);
    };
    const forget = () => settle(undefined);
    signal.addEventListener('abort', forget, { once: true });
    const request: EchoRequest = {
      id,
      retries: 0,
      timeout: Math.max(1, train.replyTimeoutMs),
      target: train.address,
      callback: (error) => settle(this.#failure(error, sequence)),
      sequence,
      token: randomBytes(tokenBytes),
      dataBytes: train.dataBytes,
      ttl: train.ttl,
      dontFragment: train.dontFragment,
      settle,
      sentAtMs: performance.now(),
    };
    this.#open.set(id, request);
    this.#session.reqQueue(request);
    return promise;
  }

  /** Converts net-ping's own result of a request: a timeout, or a send failure. */
  #failure(error: Error | null, sequence: number): EchoAnswer {
    if (error === null || error instanceof this.#library.RequestTimedOutError) {
      return { kind: 'silence', sequence };
    }
    return { kind: 'unsent', sequence, errno: errnoOfWords(error.message) };
  }

  #receive(packet: Buffer, source: string, receivedAtMs: number): void {
    const message = readRawMessage(this.family, packet);
    if (!message || message.identifier !== this.#session.sessionId) return;
    const request = this.#open.get(message.sequence);
    if (!request || !isAnswerTo(request, message, source)) return;
    const { sequence, settle, sentAtMs } = request;
    const rttMs = Math.max(0, receivedAtMs - sentAtMs);
    const { type, code } = message;
    if (message.kind === 'reply') {
      settle({ kind: 'reply', sequence, rttMs, ttl: message.ttl, type, code });
      return;
    }
    const from = canonicalAddress(source);
    settle({ kind: 'error', sequence, rttMs, type, code, from, mtuBytes: message.mtuBytes });
  }

  #setTtl(ttl: number | undefined): void {
    if (ttl === this.#ttl) return;
    this.#ttl = ttl;
    this.#applyTtl();
  }

  #setDontFragment(dontFragment: boolean | undefined): void {
    if (dontFragment === this.#dontFragment) return;
    this.#dontFragment = dontFragment;
    const { socket } = this.#session;
    const value = pathMtuDiscovery(dontFragment);
    if (this.family === 4) socket.setOption(linux.SOL_IP, linux.IP_MTU_DISCOVER, value);
    else socket.setOption(linux.SOL_IPV6, linux.IPV6_MTU_DISCOVER, value);
  }

  /** net-ping sets 128 for IPv4, and an unrelated option for IPv6. All ones select the system's default. */
  #applyTtl(): void {
    const value = this.#ttl ?? 0xffff_ffff;
    const { socket } = this.#session;
    if (this.family === 4) socket.setOption(linux.SOL_IP, linux.IP_TTL, value);
    else socket.setOption(linux.SOL_IPV6, linux.IPV6_UNICAST_HOPS, value);
  }

  /** A raw socket receives every ICMP packet of the network namespace unless filtered; set bits are blocked. */
  #receiveOnlyWanted(): void {
    const { socket } = this.#session;
    if (this.family === 4) {
      let blocked = 0xffff_ffff;
      for (const type of wantedTypes(4)) blocked &= ~(1 << type);
      socket.setOption(linux.SOL_RAW, linux.ICMP_FILTER, blocked >>> 0);
      return;
    }
    const filter = Buffer.alloc(32, 0xff);
    for (const type of wantedTypes(6)) {
      const word = (type >> 5) * 4;
      filter.writeInt32LE(filter.readInt32LE(word) & ~(1 << (type & 31)), word);
    }
    socket.setOption(linux.SOL_ICMPV6, linux.ICMPV6_FILTER, filter, filter.length);
  }
}

/** Matches sender (or quoted destination) and token; errors may quote less than the token. */
function isAnswerTo({ target, token, dataBytes }: EchoRequest, message: RawMessage, source: string): boolean {
  const sender = message.kind === 'reply' ? canonicalAddress(source) : message.target;
  const [address = ''] = target.split('%', 1);
  if (sender !== canonicalAddress(address)) return false;
  const expectedBytes = Math.min(tokenBytes, dataBytes);
  const returned = message.token.subarray(0, expectedBytes);
  if (message.kind === 'reply' && returned.length !== expectedBytes) return false;
  return returned.equals(token.subarray(0, returned.length));
}
