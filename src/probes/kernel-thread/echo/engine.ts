import { randomFillSync } from 'node:crypto';
import type { IpFamily } from '../../address.ts';
import { KernelClock, roundTripMs } from '../../sys/kernel-clock.ts';
import type { Libc } from '../../sys/libc.ts';
import { MessageReceiver } from '../../sys/message.ts';
import { firewallErrno } from './answers.ts';
import { Departures } from './departures.ts';
import { DueQueue } from './due-queue.ts';
import type { FamilyReport, FromEngine, ToEngine, TrainAnswers } from './messages.ts';
import { tokenBytes } from './packet.ts';
import { EchoSocket, type SocketAnswer, SocketsRefused } from './socket.ts';
import { EchoTrain, type OpenEcho } from './train.ts';

const sendAttempts = 3;
/** Requests sent between two receives: the answers must not overflow the socket's buffer. */
const sendsBetweenReceives = 64;
const neverOpened: FamilyReport = { mode: null, datagramErrno: 'ENOTSOCK', rawErrno: 'ENOTSOCK' };

/**
 * The echo engine: sends trains of requests at their pace and matches the answers, in the kernel thread, which never
 * runs other work for long. That thread waits at the engine's sockets and calls `receive` when one of them is readable,
 * and `advance` when something is due. A train is answered as a whole, not request by request.
 *
 * CLOSED: no sockets. → OPEN by the message `open`, which is answered with the state of the sockets; every further
 * `open` gets the same answer and adds a user. → CLOSED by the `close` of the last user; trains in progress then get no
 * answer.
 */
export class EchoEngine {
  readonly #libc: Libc;
  readonly #clock: KernelClock;
  readonly #receiver: MessageReceiver;
  readonly #post: (message: FromEngine) => void;
  readonly #watch: (family: IpFamily, descriptor: number) => void;
  readonly #sockets = new Map<IpFamily, EchoSocket>();
  readonly #departures = { 4: new Departures(), 6: new Departures() };
  #reports: { readonly 4: FamilyReport; readonly 6: FamilyReport } = { 4: neverOpened, 6: neverOpened };
  readonly #trains = new Map<number, EchoTrain>();
  /** The same, and some that are over. */
  readonly #queue = new DueQueue<EchoTrain>();
  /** By family and sequence number on the wire; all trains share the numbers. */
  readonly #open = new Map<number, OpenEcho>();
  readonly #tokens = new TokenSource();
  #userCount = 0;
  #wireSequence = 0;
  #finished: TrainAnswers[] = [];

  /** @param watch called with each opened socket; closing a socket removes it from the epoll set. */
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

  /** True while trains are in progress. */
  get isBusy(): boolean {
    return this.#trains.size > 0;
  }

  /** The deadline for the next call of `advance`, by `performance.now()`. */
  get nextDueMs(): number {
    while (this.#queue.first?.isOver) this.#queue.takeFirst();
    return this.#queue.first?.dueAtMs ?? Number.POSITIVE_INFINITY;
  }

  handle(message: ToEngine): void {
    switch (message.type) {
      case 'open':
        this.#userCount += 1;
        if (this.#sockets.size === 0) this.#reports = { 4: this.#openSocket(4), 6: this.#openSocket(6) };
        this.#post({ type: 'opened', families: this.#reports });
        break;
      case 'train': {
        // An idle engine does not read its sockets: a raw socket receives the replies of all processes, and a full one
        // drops ours.
        if (!this.isBusy) for (const socket of this.#sockets.values()) this.#receive(socket, true);
        const train = new EchoTrain(message.spec, performance.now());
        this.#trains.set(train.spec.id, train);
        this.#queue.add(train);
        break;
      }
      case 'stop': {
        const train = this.#trains.get(message.id);
        if (train) this.#finish(train);
        break;
      }
      case 'close':
        this.#userCount -= 1;
        if (this.#userCount === 0) this.close();
        break;
    }
  }

  /** Reads everything that has arrived at the socket of a family. */
  receive(family: IpFamily, has: { readonly errors: boolean }): void {
    const socket = this.#sockets.get(family);
    if (socket) this.#receive(socket, has.errors);
  }

  /** Sends the due requests, expires overdue ones, and reports the trains that are over. */
  advance(): void {
    const nowMs = performance.now();
    let sentCount = 0;
    while (this.nextDueMs <= nowMs) {
      const train = this.#queue.takeFirst();
      if (!train) break;
      while (train.isRequestDue(nowMs)) {
        this.#send(train);
        sentCount += 1;
        if (sentCount % sendsBetweenReceives === 0) this.receive(train.family, { errors: false });
      }
      // If this thread itself is late, replies that arrived in time are still queued and must not count as missing.
      if (train.expired(nowMs)) this.receive(train.family, { errors: true });
      for (let echo = train.expired(nowMs); echo; echo = train.expired(nowMs)) {
        this.#open.delete(keyOf(train.family, echo.wireSequence));
        train.settle(echo, { kind: 'silence', remark: echo.remark });
      }
      if (train.isAnswered) this.#finish(train);
      if (train.isOver) continue;
      train.plan();
      this.#queue.add(train);
    }
    for (const socket of this.#sockets.values()) {
      if (this.#departures[socket.family].areAwaited) this.#receiveErrors(socket);
    }
    this.#flush();
  }

  close(): void {
    for (const train of this.#trains.values()) train.isOver = true;
    this.#trains.clear();
    this.#queue.clear();
    this.#open.clear();
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

  /** Sends the next request of a train. */
  #send(train: EchoTrain): void {
    const { family, spec } = train;
    const socket = this.#sockets.get(family);
    if (!socket) {
      const report = this.#reports[family];
      train.addUnsent(report.mode === null ? report.datagramErrno : 'ENOTSOCK');
      return;
    }
    const wireSequence = this.#freeSequence(family);
    const token = this.#tokens.next();
    socket.setTtl(spec.ttl);
    socket.setDontFragment(spec.dontFragment);
    socket.prepare({ sequence: wireSequence, token, dataBytes: spec.dataBytes });
    let errno: string | undefined;
    for (let attempt = 0; attempt < sendAttempts; attempt += 1) {
      const sentAtMs = performance.now();
      const sentAt = this.#clock.realtime();
      errno = socket.send(train.socketAddress);
      if (errno === undefined) {
        const expiresAtMs = sentAtMs + spec.replyTimeoutMs;
        const sequence = train.sentCount;
        const echo: OpenEcho = { train, sequence, wireSequence, token, sentAt, sentAtMs, expiresAtMs };
        train.addOpen(echo);
        this.#open.set(keyOf(family, wireSequence), echo);
        this.#departures[family].add(echo);
        return;
      }
      if (errno === firewallErrno) break;
      // The send reported an error about another target's packet: read the error queue and retry.
      this.#receive(socket, true);
    }
    train.addUnsent(errno ?? '');
  }

  #freeSequence(family: IpFamily): number {
    do this.#wireSequence = (this.#wireSequence + 1) & 0xffff;
    while (this.#open.has(keyOf(family, this.#wireSequence)));
    return this.#wireSequence;
  }

  #receive(socket: EchoSocket, hasErrors: boolean): void {
    // Errors and departures first: the departure of a request must be known before its answer is processed.
    if (hasErrors || this.#departures[socket.family].areAwaited) this.#receiveErrors(socket);
    socket.receiveReplies(this.#receiver, (answer) => this.#acceptAnswer(socket.family, answer));
  }

  #receiveErrors(socket: EchoSocket): void {
    const departures = this.#departures[socket.family];
    socket.receiveErrors(
      this.#receiver,
      (answer) => this.#acceptAnswer(socket.family, answer),
      (at) => departures.stamp(at),
    );
    departures.end();
  }

  #acceptAnswer(family: IpFamily, answer: SocketAnswer): void {
    const key = keyOf(family, answer.sequence);
    const echo = this.#open.get(key);
    if (!echo) return;
    if (!isAnswerTo(echo, answer)) {
      echo.remark = remarkOn(echo, answer) ?? echo.remark;
      return;
    }
    const rttMs = this.#rttMs(echo, answer);
    // A late reply stays late even if this thread is later still; the request expires.
    if (rttMs > echo.train.spec.replyTimeoutMs) return;
    this.#open.delete(key);
    this.#settle(echo, answer, rttMs);
  }

  #rttMs({ sentAt, sentAtMs }: OpenEcho, { receivedAt }: SocketAnswer): number {
    const elapsedMs = performance.now() - sentAtMs;
    return receivedAt ? roundTripMs(sentAt, receivedAt, elapsedMs) : elapsedMs;
  }

  #settle(echo: OpenEcho, answer: SocketAnswer, rttMs: number): void {
    const { train } = echo;
    const { type, code, error, ttl = null } = answer;
    if (error) {
      const mtuBytes = error.info > 0 ? error.info : null;
      train.settle(echo, { kind: 'error', rttMs, type, code, from: error.offender ?? null, mtuBytes });
    } else {
      train.settle(echo, { kind: 'reply', rttMs, ttl, type, code });
    }
    if (train.isAnswered) this.#finish(train);
  }

  /** Ends a train, answered or stopped. */
  #finish(train: EchoTrain): void {
    if (train.isOver) return;
    train.isOver = true;
    for (const { wireSequence } of train.openEchoes) this.#open.delete(keyOf(train.family, wireSequence));
    this.#trains.delete(train.spec.id);
    this.#finished.push({ id: train.spec.id, answers: train.answers });
  }

  #flush(): void {
    if (this.#finished.length === 0) return;
    this.#post({ type: 'answers', trains: this.#finished });
    this.#finished = [];
  }
}

/** Random bytes, generated many at a time. */
class TokenSource {
  #bytes = Buffer.alloc(0);
  #offset = 0;

  /** Returns a unique token. */
  next(): Buffer {
    if (this.#offset + tokenBytes > this.#bytes.length) {
      // The buffer is never overwritten: issued tokens are slices of it.
      this.#bytes = randomFillSync(Buffer.alloc(512 * tokenBytes));
      this.#offset = 0;
    }
    this.#offset += tokenBytes;
    return this.#bytes.subarray(this.#offset - tokenBytes, this.#offset);
  }
}

const keyOf = (family: IpFamily, wireSequence: number) => (family === 6 ? 0x1_0000 : 0) + wireSequence;

/**
 * Returns whether a packet answers the request: it comes from the target (or concerns a packet to it) and carries the
 * token of the request. Errors may quote less than the token; the quoted part must match.
 */
function isAnswerTo({ train, token }: OpenEcho, answer: SocketAnswer): boolean {
  if (answer.target !== train.target) return false;
  const expectedBytes = Math.min(tokenBytes, train.spec.dataBytes);
  const returned = answer.token.subarray(0, expectedBytes);
  if (!answer.error && returned.length !== expectedBytes) return false;
  return returned.equals(token.subarray(0, returned.length));
}

/**
 * Describes a packet that looks like an answer but matches no request: anyone can forge one, so it does not count, but
 * it helps to explain a loss.
 */
function remarkOn(
  { train, token }: OpenEcho,
  { target, token: returned, error }: SocketAnswer,
): string | undefined {
  if (error) return undefined;
  if (target === train.target) return 'ignored a reply with different data';
  const isOwnToken = returned.length > 0 && returned.equals(token.subarray(0, returned.length));
  return isOwnToken ? `a reply came from ${target}, which is not the target` : undefined;
}
