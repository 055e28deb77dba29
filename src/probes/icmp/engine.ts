import { randomBytes } from 'node:crypto';
import type { IpFamily } from '../resolver.ts';
import { KernelClock, type KernelTime, msBetween, roundTripMs } from '../sys/kernel-clock.ts';
import type { Libc } from '../sys/libc.ts';
import { MessageReceiver } from '../sys/message.ts';
import { canonicalAddress, encodeSocketAddress } from '../sys/socket-address.ts';
import type { EchoAnswer } from './backend.ts';
import { tokenBytes } from './echo-packet.ts';
import { EchoSocket, type SocketAnswer, SocketsRefused } from './echo-socket.ts';
import type { EchoOrder, FamilyReport, FromEngine, ToEngine } from './engine-messages.ts';

/** A request that waits for its answer. */
interface OpenEcho {
  readonly order: EchoOrder;
  /** The target in its one way to write it. */
  readonly target: string;
  readonly token: Buffer;
  readonly sentAt: KernelTime;
  readonly sentAtMonotonic: KernelTime;
  readonly expiresAtMs: number;
}

const sendAttempts = 3;
const neverOpened: FamilyReport = { mode: null, datagramErrno: 'ENOTSOCK', rawErrno: 'ENOTSOCK' };

/**
 * The echo engine: sends requests and matches what comes back, in the kernel's thread, whose time is never anybody else's
 * for long. That thread waits at the engine's sockets and calls `receive` when one of them has something.
 *
 * CLOSED: no sockets. → OPEN by the message `open`, which is answered with what the sockets turned out to be. → CLOSED by
 * the message `close`; requests that are open then get no answer.
 */
export class EchoEngine {
  readonly #libc: Libc;
  readonly #clock: KernelClock;
  readonly #receiver: MessageReceiver;
  readonly #post: (message: FromEngine) => void;
  readonly #watch: (family: IpFamily, descriptor: number) => void;
  readonly #sockets = new Map<IpFamily, EchoSocket>();
  #reports: { readonly 4: FamilyReport; readonly 6: FamilyReport } = { 4: neverOpened, 6: neverOpened };
  /** By family and the sequence number on the wire, which all orders share. */
  readonly #open = new Map<string, OpenEcho>();
  #wireSequence = 0;
  #nextExpiryMs = Number.POSITIVE_INFINITY;
  #answers: { id: number; answer: EchoAnswer }[] = [];

  /** @param watch told of each socket that is opened; a closed one needs no word. */
  constructor(
    libc: Libc,
    post: (message: FromEngine) => void,
    watch: (family: IpFamily, descriptor: number) => void,
  ) {
    this.#libc = libc;
    this.#clock = new KernelClock(libc);
    this.#receiver = new MessageReceiver(libc);
    this.#post = post;
    this.#watch = watch;
  }

  /** Whether requests wait for their answers. */
  get isBusy(): boolean {
    return this.#open.size > 0;
  }

  /** When `advance` has something to do at the latest, by `performance.now()`. */
  get nextExpiryMs(): number {
    return this.#nextExpiryMs;
  }

  handle(message: ToEngine): void {
    switch (message.type) {
      case 'open':
        this.close();
        this.#reports = { 4: this.#openSocket(4), 6: this.#openSocket(6) };
        this.#post({ type: 'opened', families: this.#reports });
        break;
      case 'echo':
        this.#send(message.order);
        break;
      case 'forget':
        for (const [key, { order }] of this.#open) if (message.ids.includes(order.id)) this.#open.delete(key);
        break;
      case 'close':
        this.close();
        break;
    }
  }

  /** Takes in what has arrived at the socket of a family. */
  receive(family: IpFamily): void {
    const socket = this.#sockets.get(family);
    if (socket) this.#receive(socket);
  }

  /** Gives up what has waited for too long, and tells the answers there are. */
  advance(): void {
    this.#expire();
    this.#flush();
  }

  close(): void {
    this.#open.clear();
    this.#nextExpiryMs = Number.POSITIVE_INFINITY;
    for (const socket of this.#sockets.values()) socket.close();
    this.#sockets.clear();
  }

  #openSocket(family: IpFamily): FamilyReport {
    try {
      const socket = EchoSocket.open(this.#libc, family);
      this.#sockets.set(family, socket);
      this.#watch(family, socket.descriptor);
      return { mode: socket.mode };
    } catch (thrown) {
      if (!(thrown instanceof SocketsRefused)) throw thrown;
      return { mode: null, datagramErrno: thrown.datagramErrno, rawErrno: thrown.rawErrno };
    }
  }

  #send(order: EchoOrder): void {
    const family: IpFamily = order.address.includes(':') ? 6 : 4;
    const socket = this.#sockets.get(family);
    if (!socket) {
      const report = this.#reports[family];
      this.#answer(order, {
        kind: 'unsent',
        errno: report.mode === null ? report.datagramErrno : 'ENOTSOCK',
      });
      return;
    }
    const address = encodeSocketAddress(order.address, order.scopeId);
    const sequence = this.#freeSequence(family);
    const token = randomBytes(tokenBytes);
    socket.setTtl(order.ttl);
    // What arrived before belongs to others and is taken out, so that its errors do not fail this send.
    this.#receive(socket);
    let errno: string | undefined;
    for (let attempt = 0; attempt < sendAttempts; attempt += 1) {
      const sentAtMonotonic = this.#clock.monotonic();
      const sentAt = this.#clock.realtime();
      errno = socket.send(address, { sequence, token, dataBytes: order.dataBytes });
      if (errno === undefined) {
        const expiresAtMs = performance.now() + order.replyTimeoutMs;
        const target = canonicalAddress(order.address);
        this.#open.set(keyOf(family, sequence), {
          order,
          target,
          token,
          sentAt,
          sentAtMonotonic,
          expiresAtMs,
        });
        this.#nextExpiryMs = Math.min(this.#nextExpiryMs, expiresAtMs);
        return;
      }
      // An error about another target's packet is reported to whoever sends next.
      this.#receive(socket);
    }
    this.#answer(order, { kind: 'unsent', errno: errno ?? '' });
  }

  #freeSequence(family: IpFamily): number {
    do this.#wireSequence = (this.#wireSequence + 1) & 0xffff;
    while (this.#open.has(keyOf(family, this.#wireSequence)));
    return this.#wireSequence;
  }

  #receive(socket: EchoSocket): void {
    socket.receive(this.#receiver, (answer) => {
      const key = keyOf(socket.family, answer.sequence);
      const echo = this.#open.get(key);
      if (!echo || !isAnswerTo(echo, answer)) return;
      this.#open.delete(key);
      this.#settle(echo, answer);
    });
  }

  #settle({ order, sentAt, sentAtMonotonic }: OpenEcho, answer: SocketAnswer): void {
    const elapsedMs = msBetween(sentAtMonotonic, this.#clock.monotonic());
    const rttMs = answer.receivedAt ? roundTripMs(sentAt, answer.receivedAt, elapsedMs) : elapsedMs;
    const { type, code, error } = answer;
    if (!error) {
      this.#answer(order, { kind: 'reply', rttMs, ttl: answer.ttl ?? null, type, code });
      return;
    }
    const mtuBytes = error.info > 0 ? error.info : null;
    this.#answer(order, { kind: 'error', rttMs, type, code, from: error.offender ?? null, mtuBytes });
  }

  #expire(): void {
    const nowMs = performance.now();
    if (nowMs < this.#nextExpiryMs) return;
    this.#nextExpiryMs = Number.POSITIVE_INFINITY;
    for (const [key, { order, expiresAtMs }] of this.#open) {
      if (expiresAtMs > nowMs) {
        this.#nextExpiryMs = Math.min(this.#nextExpiryMs, expiresAtMs);
        continue;
      }
      this.#open.delete(key);
      this.#answer(order, { kind: 'silence' });
    }
  }

  #answer({ id, sequence }: EchoOrder, answer: Unnumbered<EchoAnswer>): void {
    this.#answers.push({ id, answer: { ...answer, sequence } });
  }

  #flush(): void {
    if (this.#answers.length === 0) return;
    this.#post({ type: 'answers', answers: this.#answers });
    this.#answers = [];
  }
}

type Unnumbered<Answer> = Answer extends unknown ? Omit<Answer, 'sequence'> : never;

const keyOf = (family: IpFamily, sequence: number) => `${family}:${sequence}`;

/**
 * Whether a packet is the answer to that request: from the target (or about a packet to it), with the token of the
 * request. Errors may quote less than the token; then what they quote has to fit.
 */
function isAnswerTo({ target, token, order }: OpenEcho, answer: SocketAnswer): boolean {
  if (answer.target !== target) return false;
  const expectedBytes = Math.min(tokenBytes, order.dataBytes);
  const returned = answer.token.subarray(0, expectedBytes);
  if (!answer.error && returned.length !== expectedBytes) return false;
  return returned.equals(token.subarray(0, returned.length));
}
