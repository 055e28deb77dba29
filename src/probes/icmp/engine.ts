import { randomBytes } from 'node:crypto';
import type { IpFamily } from '../resolver.ts';
import { KernelClock, type KernelTime, msBetween, roundTripMs } from '../sys/kernel-clock.ts';
import type { Libc } from '../sys/libc.ts';
import { POLLIN } from '../sys/linux.ts';
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

/** No longer, because a thread that blocks in a system call cannot be ended. */
const maxPollMs = 100;
const pollEntryBytes = 8;
const sendAttempts = 3;

/**
 * The echo engine: sends requests and matches what comes back, in a thread of its own whose time is never anybody
 * else's.
 *
 * IDLE: no request is open; the thread waits for messages in its event loop, as any thread does. → SERVING when a
 * message orders a request: the thread blocks in `poll` on its sockets and the wake-up, and reads orders itself.
 * → IDLE when the last open request is answered, expired or forgotten. → CLOSED by the message `close`, from both.
 */
export class EchoEngine {
  readonly #libc: Libc;
  readonly #clock: KernelClock;
  readonly #receiver: MessageReceiver;
  readonly #wakeUpDescriptor: number;
  readonly #post: (message: FromEngine) => void;
  readonly #sockets = new Map<IpFamily, EchoSocket>();
  readonly #reports: { 4: FamilyReport; 6: FamilyReport };
  readonly #pollEntries: Buffer;
  /** By family and the sequence number on the wire, which all orders share. */
  readonly #open = new Map<string, OpenEcho>();
  #wireSequence = 0;
  #nextExpiryMs = Number.POSITIVE_INFINITY;
  #answers: { id: number; answer: EchoAnswer }[] = [];
  #isClosed = false;

  constructor(libc: Libc, wakeUpDescriptor: number, post: (message: FromEngine) => void) {
    this.#libc = libc;
    this.#clock = new KernelClock(libc);
    this.#receiver = new MessageReceiver(libc);
    this.#wakeUpDescriptor = wakeUpDescriptor;
    this.#post = post;
    this.#reports = { 4: this.#openSocket(4), 6: this.#openSocket(6) };
    const descriptors = [
      wakeUpDescriptor,
      ...[...this.#sockets.values()].map(({ descriptor }) => descriptor),
    ];
    this.#pollEntries = Buffer.alloc(descriptors.length * pollEntryBytes);
    for (const [index, descriptor] of descriptors.entries()) {
      this.#pollEntries.writeInt32LE(descriptor, index * pollEntryBytes);
      this.#pollEntries.writeInt16LE(POLLIN, index * pollEntryBytes + 4);
    }
  }

  /** What the sockets turned out to be. */
  get families(): { readonly 4: FamilyReport; readonly 6: FamilyReport } {
    return this.#reports;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /**
   * Does what a message says and everything that follows from it; returns when no request is open any more.
   *
   * @param nextMessage the next message that has arrived meanwhile, or undefined.
   */
  serve(message: ToEngine, nextMessage: () => ToEngine | undefined): void {
    let next: ToEngine | undefined = message;
    for (;;) {
      for (; next; next = nextMessage()) this.#handle(next);
      this.#expire();
      this.#flush();
      if (this.#open.size === 0 || this.#isClosed) return;
      this.#wait();
      for (const socket of this.#sockets.values()) this.#receive(socket);
      this.#flush();
      next = nextMessage();
    }
  }

  #openSocket(family: IpFamily): FamilyReport {
    try {
      const socket = EchoSocket.open(this.#libc, family);
      this.#sockets.set(family, socket);
      return { mode: socket.mode };
    } catch (thrown) {
      if (!(thrown instanceof SocketsRefused)) throw thrown;
      return { mode: null, datagramErrno: thrown.datagramErrno, rawErrno: thrown.rawErrno };
    }
  }

  #handle(message: ToEngine): void {
    if (this.#isClosed) return;
    switch (message.type) {
      case 'echo':
        this.#send(message.order);
        break;
      case 'forget':
        for (const [key, { order }] of this.#open) if (message.ids.includes(order.id)) this.#open.delete(key);
        break;
      case 'close':
        this.#isClosed = true;
        this.#open.clear();
        for (const socket of this.#sockets.values()) socket.close();
        break;
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

  #wait(): void {
    const waitMs = Math.min(maxPollMs, Math.max(0, Math.ceil(this.#nextExpiryMs - performance.now())));
    this.#libc.poll(this.#pollEntries, this.#pollEntries.length / pollEntryBytes, waitMs);
    const isWoken = this.#pollEntries.readInt16LE(6) !== 0;
    if (isWoken) this.#libc.read(this.#wakeUpDescriptor, Buffer.alloc(8), 8);
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
