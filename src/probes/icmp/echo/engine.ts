import { randomFillSync } from 'node:crypto';
import type { IpFamily } from '../../address.ts';
import { KernelClock } from '../../sys/kernel-clock.ts';
import type { Libc } from '../../sys/libc.ts';
import { MessageReceiver, type ReceivedMessage } from '../../sys/message.ts';
import { type EchoAnswer, firewallErrno } from './answers.ts';
import { Departures } from './departures.ts';
import { DueWheel } from './due-wheel.ts';
import { echoHeaderBytes, tokenBytes } from './packet.ts';
import { EchoSocket, type FamilyReport, SocketsRefused } from './socket.ts';
import { EchoTrain, type OpenEcho, type TrainSpec } from './train.ts';

const sendAttempts = 3;
/** Time between two turns: what is due or arrives meanwhile waits for the next one. */
const quietTurnMs = 10;
/** The same with more than a few trains, whose turns would otherwise do little each. */
const crowdedTurnMs = 25;
const fewTrains = 20;
/** Of a request that has been open for long, the reply is looked for after this share of that time. */
const patience = 0.25;
const longestTurnMs = 100;
const shortestTurnMs = 1;
/** Memory of the kernel for a packet, in addition to its data. */
const packetBytes = 1024;
/**
 * A socket that was not read for this long is read before it is used: a raw one gets the replies of all processes if the
 * system refused its filter.
 */
const staleMs = 1000;

/** Of each family, whether it has a socket. */
export type FamilyReports = { readonly 4: FamilyReport; readonly 6: FamilyReport };

interface Family {
  readonly socket: EchoSocket;
  readonly departures: Departures;
  openCount: number;
  /** Of the open requests, with `packetBytes` each. */
  openBytes: number;
  /** Sent since the last read. */
  unreadBytes: number;
  readMs: number;
}

/**
 * The echo engine: sends trains of requests at their pace and matches the answers. It works in the thread that uses it:
 * the kernel notes when a request leaves and when its reply arrives, so nothing is gained by reading a reply at once. A
 * first request is sent at once. Everything else happens in turns, 10 or 25 ms apart: each reads what has arrived for
 * all trains, sends what is due, and ends the trains that are over. A reply that arrived in time counts, however late
 * the turn that reads it. The more requests are open, the sooner is the next turn, before their replies fill a socket.
 *
 * Without the kernel's times (`isStamped`) there is a turn each millisecond, and times are those of its reads.
 */
export class EchoEngine {
  readonly families: FamilyReports;
  readonly #libc: Libc;
  readonly #clock: KernelClock;
  readonly #receiver: MessageReceiver;
  readonly #families = new Map<IpFamily, Family>();
  readonly #trains = new Set<EchoTrain>();
  readonly #wheel = new DueWheel<EchoTrain>();
  /** By family and sequence number on the wire; all trains share the numbers. */
  readonly #open = new Map<number, OpenEcho>();
  #tokens = Buffer.alloc(0);
  #tokenAt = 0;
  #wireSequence = 0;
  #lastSentMs = 0;
  #timer: NodeJS.Timeout | undefined;
  #turnAtMs = Number.POSITIVE_INFINITY;
  #isStamped = true;
  #isClosed = false;

  constructor(libc: Libc) {
    this.#libc = libc;
    this.#clock = new KernelClock(libc);
    this.#receiver = new MessageReceiver(libc);
    try {
      this.families = { 4: this.#openSocket(4), 6: this.#openSocket(6) };
    } catch (thrown) {
      this.close();
      throw thrown;
    }
  }

  /** Whether all replies so far had a timestamp of the kernel. */
  get isStamped(): boolean {
    return this.#isStamped;
  }

  /**
   * Sends a train of requests. The process stays alive until it is over.
   *
   * @returns their answers, ordered by sequence number; if the signal aborts or the time is over, those received so far.
   * @throws if the engine is closed meanwhile.
   */
  ping(spec: TrainSpec, signal: AbortSignal): Promise<readonly EchoAnswer[]> {
    if (signal.aborted) return Promise.resolve([]);
    return new Promise((resolve, reject) => {
      if (this.#isClosed) throw closedError();
      const nowMs = performance.now();
      const stop = () => this.#stop(train);
      const free = () => signal.removeEventListener('abort', stop);
      const train = new EchoTrain(spec, nowMs, {
        resolve: (answers) => {
          free();
          resolve(answers);
        },
        reject: (error) => {
          free();
          reject(error);
        },
      });
      this.#advance(train, nowMs);
      if (train.isOver) return;
      this.#trains.add(train);
      signal.addEventListener('abort', stop, { once: true });
      this.#plan(nowMs);
    });
  }

  /** Closes the sockets; trains in progress reject. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    for (const { socket } of this.#families.values()) socket.close();
    this.#families.clear();
    this.#open.clear();
    for (const train of this.#trains) {
      train.isOver = true;
      train.reject(closedError());
    }
    this.#trains.clear();
  }

  #openSocket(family: IpFamily): FamilyReport {
    try {
      const socket = EchoSocket.open(this.#libc, family);
      const counts = { openCount: 0, openBytes: 0, unreadBytes: 0, readMs: Number.NEGATIVE_INFINITY };
      this.#families.set(family, { socket, departures: new Departures(), ...counts });
      return { mode: socket.mode };
    } catch (thrown) {
      if (!(thrown instanceof SocketsRefused)) throw thrown;
      return { mode: null, datagramErrno: thrown.datagramErrno, rawErrno: thrown.rawErrno };
    }
  }

  #turn(): void {
    this.#timer = undefined;
    this.#turnAtMs = Number.POSITIVE_INFINITY;
    // Replies that arrived before this time are read first: only then are others missing.
    const nowMs = performance.now();
    for (const family of this.#families.values()) if (family.openCount > 0) this.#receive(family, nowMs);
    for (let due = this.#wheel.take(nowMs); due; due = this.#wheel.take(nowMs)) {
      for (const train of due) if (!train.isOver) this.#advance(train, nowMs);
    }
    if (this.#trains.size > 0) this.#plan(performance.now());
  }

  /** Sends the due requests of a train that is not in the wheel, and expires overdue ones. */
  #advance(train: EchoTrain, nowMs: number): void {
    const isTimeOver = train.isTimeOver(nowMs);
    while (!isTimeOver && train.isRequestDue(nowMs)) this.#send(train);
    for (let echo = train.expired(nowMs); echo; echo = train.expired(nowMs)) {
      const { sequence, remark } = echo;
      this.#settle(echo, { kind: 'silence', sequence, ...(remark !== undefined && { remark }) });
    }
    if (train.isAnswered || isTimeOver) this.#finish(train);
    if (train.isOver) return;
    train.plan();
    this.#wheel.add(train, nowMs);
  }

  /** Sets the time of the next turn. */
  #plan(nowMs: number): void {
    const turnMs = this.#trains.size > fewTrains ? crowdedTurnMs : quietTurnMs;
    let atMs = Math.max(this.#wheel.nextDueMs, nowMs + turnMs);
    if (this.#open.size > 0) atMs = Math.min(atMs, nowMs + this.#readAfterMs(nowMs, turnMs));
    if (this.#timer && this.#turnAtMs <= atMs) return;
    clearTimeout(this.#timer);
    this.#turnAtMs = atMs;
    this.#timer = setTimeout(() => this.#turn(), Math.max(shortestTurnMs, Math.ceil(atMs - nowMs)));
  }

  #readAfterMs(nowMs: number, turnMs: number): number {
    if (!this.#isStamped) return shortestTurnMs;
    let afterMs = Math.max(turnMs, (nowMs - this.#lastSentMs) * patience);
    for (const { socket, openBytes } of this.#families.values()) {
      afterMs = Math.min(afterMs, (turnMs * socket.roomBytes) / Math.max(1, openBytes), longestTurnMs);
    }
    return afterMs;
  }

  /** Sends the next request of a train. */
  #send(train: EchoTrain): void {
    const { spec } = train;
    const family = this.#families.get(train.family);
    if (!family) {
      const report = this.families[train.family];
      train.addUnsent(report.mode === null ? report.datagramErrno : 'ENOTSOCK');
      return;
    }
    const { socket } = family;
    const wireSequence = this.#freeSequence(train.family);
    this.#nextToken();
    const tokens = this.#tokens;
    const tokenAt = this.#tokenAt;
    socket.setTtl(spec.ttl);
    socket.setDontFragment(spec.dontFragment);
    socket.prepare(wireSequence, spec.dataBytes, tokens, tokenAt);
    let errno: string | undefined;
    for (let attempt = 0; attempt < sendAttempts; attempt += 1) {
      const sentMs = performance.now();
      const isStale = family.openCount === 0 && sentMs - family.readMs > staleMs;
      if (isStale || family.unreadBytes > socket.roomBytes) this.#receive(family, sentMs);
      const leftMs = this.#clock.realtimeMs();
      errno = socket.send(train.socketAddress);
      if (errno === undefined) {
        const sequence = train.sentCount;
        const echo = { train, sequence, wireSequence, tokens, tokenAt, leftMs, sentMs, remark: undefined };
        train.addOpen(echo);
        this.#open.set(keyOf(train.family, wireSequence), echo);
        family.departures.add(echo);
        family.openCount += 1;
        family.openBytes += spec.dataBytes + packetBytes;
        family.unreadBytes += spec.dataBytes + packetBytes;
        this.#lastSentMs = sentMs;
        return;
      }
      if (errno === firewallErrno) break;
      // The send reported an error about another target's packet: read the error queue and retry.
      this.#receive(family, sentMs);
    }
    train.addUnsent(errno ?? '');
  }

  #freeSequence(family: IpFamily): number {
    do this.#wireSequence = (this.#wireSequence + 1) & 0xffff;
    while (this.#open.has(keyOf(family, this.#wireSequence)));
    return this.#wireSequence;
  }

  /** Makes the next random bytes the current token. Issued ones are not overwritten. */
  #nextToken(): void {
    this.#tokenAt += tokenBytes;
    if (this.#tokenAt < this.#tokens.length) return;
    this.#tokens = randomFillSync(Buffer.alloc(512 * tokenBytes));
    this.#tokenAt = 0;
  }

  #receive(family: Family, nowMs: number): void {
    const { socket, departures } = family;
    const onAnswer = (message: ReceivedMessage, at: number) => this.#accept(socket.family, message, at);
    // Errors and departures first: the departure of a request must be known before its answer is processed.
    socket.receiveErrors(this.#receiver, onAnswer, (atMs) => departures.stamp(atMs));
    departures.end();
    socket.receiveReplies(this.#receiver, onAnswer);
    family.unreadBytes = 0;
    family.readMs = nowMs;
  }

  #accept(family: IpFamily, message: ReceivedMessage, at: number): void {
    const echo = this.#open.get(keyOf(family, message.bytes.readUInt16BE(at + 6)));
    if (!echo) return;
    const { error } = message;
    const isOfTarget = message.isOf(echo.train.socketAddress);
    if (!isOfTarget || !hasToken(echo, message, at + echoHeaderBytes, error !== undefined)) {
      if (!error) echo.remark = remarkOn(echo, message, at, isOfTarget) ?? echo.remark;
      return;
    }
    const rttMs = this.#rttMs(echo, message);
    const { sequence, train } = echo;
    // A late reply stays late, whenever it is read; the request expires.
    if (rttMs > train.spec.replyTimeoutMs) return;
    if (error) {
      const { type, code, offender: from = null, info } = error;
      const mtuBytes = info > 0 ? info : null;
      this.#settle(echo, { kind: 'error', sequence, rttMs, type, code, from, mtuBytes });
    } else {
      const type = message.bytes.readUInt8(at);
      const code = message.bytes.readUInt8(at + 1);
      this.#settle(echo, { kind: 'reply', sequence, rttMs, ttl: message.ttl ?? null, type, code });
    }
    if (train.isAnswered) this.#finish(train);
  }

  /**
   * Returns the time from a request's departure to the kernel's timestamp of its answer. If the clock of timestamps was
   * set meanwhile, the difference exceeds the bounds of the monotonic clock, and the time is that of this clock, without
   * the time that the answer waited for us.
   */
  #rttMs({ leftMs, sentMs }: OpenEcho, { stampedMs }: ReceivedMessage): number {
    const elapsedMs = performance.now() - sentMs;
    if (stampedMs === undefined) {
      this.#isStamped = false;
      return elapsedMs;
    }
    const rttMs = stampedMs - leftMs;
    if (rttMs >= 0 && rttMs <= elapsedMs) return rttMs;
    const waitedMs = this.#clock.realtimeMs() - stampedMs;
    return waitedMs >= 0 && waitedMs <= elapsedMs ? elapsedMs - waitedMs : elapsedMs;
  }

  #settle(echo: OpenEcho, answer: EchoAnswer): void {
    this.#forget(echo);
    echo.train.settle(answer);
  }

  #forget({ train, wireSequence }: OpenEcho): void {
    this.#open.delete(keyOf(train.family, wireSequence));
    const family = this.#families.get(train.family);
    if (!family) return;
    family.openCount -= 1;
    family.openBytes -= train.spec.dataBytes + packetBytes;
  }

  /** Ends a train early, with what has arrived by now. */
  #stop(train: EchoTrain): void {
    const family = this.#families.get(train.family);
    if (family) this.#receive(family, performance.now());
    this.#finish(train);
  }

  #finish(train: EchoTrain): void {
    if (train.isOver) return;
    train.isOver = true;
    for (const echo of train.openEchoes) this.#forget(echo);
    this.#trains.delete(train);
    this.#wheel.remove(train);
    train.resolve(train.answers);
    if (this.#trains.size > 0) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#turnAtMs = Number.POSITIVE_INFINITY;
  }
}

const keyOf = (family: IpFamily, wireSequence: number) => (family === 6 ? 0x1_0000 : 0) + wireSequence;

const closedError = () => new Error('the ICMP engine was closed');

/**
 * Returns whether the data that begin at `at` carry the token of a request. Errors may quote less than the token; the
 * quoted part must match.
 */
function hasToken(
  { tokens, tokenAt, train }: OpenEcho,
  { bytes, sizeBytes }: ReceivedMessage,
  at: number,
  isQuote: boolean,
): boolean {
  const expectedBytes = Math.min(tokenBytes, train.spec.dataBytes);
  const returnedBytes = Math.min(expectedBytes, sizeBytes - at);
  if (!isQuote && returnedBytes !== expectedBytes) return false;
  for (let index = 0; index < returnedBytes; index += 1) {
    if (bytes[at + index] !== tokens[tokenAt + index]) return false;
  }
  return true;
}

/**
 * Describes a reply that looks like an answer but matches no request: anyone can forge one, so it does not count, but
 * it helps to explain a loss.
 */
function remarkOn(
  echo: OpenEcho,
  message: ReceivedMessage,
  at: number,
  isOfTarget: boolean,
): string | undefined {
  if (isOfTarget) return 'ignored a reply with different data';
  const dataAt = at + echoHeaderBytes;
  const isOwnToken = message.sizeBytes > dataAt && hasToken(echo, message, dataAt, true);
  return isOwnToken ? `a reply came from ${message.address}, which is not the target` : undefined;
}
