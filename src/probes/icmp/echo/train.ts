import type { IpFamily } from '../../address.ts';
import { encodeSocketAddress } from '../../sys/socket-address.ts';
import type { EchoAnswer } from './answers.ts';

/** Echo requests to one address, for the engine to send at a steady pace. */
export interface TrainSpec {
  readonly address: string;
  /** The interface index of a link-local address, 0 otherwise. */
  readonly scopeId: number;
  readonly count: number;
  readonly intervalMs: number;
  readonly dataBytes: number;
  readonly ttl?: number | undefined;
  readonly dontFragment?: boolean | undefined;
  readonly replyTimeoutMs: number;
  /** The train ends after this time, answered or not; without a limit when absent. */
  readonly timeoutMs?: number | undefined;
}

/** A request without an answer yet. */
export interface OpenEcho {
  readonly train: EchoTrain;
  /** Sequence number in its train, from 0. */
  readonly sequence: number;
  readonly wireSequence: number;
  /** Random bytes, and where those of this request begin. */
  readonly tokens: Buffer;
  readonly tokenAt: number;
  /** When its send began, or, once the kernel has reported it, when it left; see `kernelMs`. */
  leftMs: number;
  /** When its send began, by `performance.now()`. */
  readonly sentMs: number;
  /** Describes a packet that looked like its answer but did not match. */
  remark: string | undefined;
}

/** A train in progress: its sent requests, the open ones, and the answers to the others. */
export class EchoTrain {
  readonly spec: TrainSpec;
  readonly family: IpFamily;
  /** The target as a `struct sockaddr`. */
  readonly socketAddress: Buffer;
  /** Called with the answers when the train is over. */
  readonly resolve: (answers: readonly EchoAnswer[]) => void;
  readonly reject: (error: Error) => void;
  /** When a request is due next, or an open one expires. Constant while the train is in the wheel. */
  dueAtMs: number;
  /** Its place in the wheel. */
  slot = -1;
  /** Stopped or fully answered. */
  isOver = false;
  readonly #startMs: number;
  readonly #endMs: number;
  readonly #answers: (EchoAnswer | undefined)[] = [];
  readonly #echoes: (OpenEcho | undefined)[] = [];
  #openCount = 0;
  /** All requests before this one are answered. */
  #firstOpen = 0;

  /** @param nowMs the first request is due immediately. */
  constructor(spec: TrainSpec, nowMs: number, { resolve, reject }: Pick<EchoTrain, 'resolve' | 'reject'>) {
    this.spec = spec;
    this.family = spec.address.includes(':') ? 6 : 4;
    this.socketAddress = encodeSocketAddress(spec.address, spec.scopeId);
    this.resolve = resolve;
    this.reject = reject;
    this.#startMs = nowMs;
    this.#endMs = nowMs + (spec.timeoutMs ?? Number.POSITIVE_INFINITY);
    this.dueAtMs = nowMs;
  }

  get sentCount(): number {
    return this.#echoes.length;
  }

  get isAnswered(): boolean {
    return this.sentCount >= this.spec.count && this.#openCount === 0;
  }

  isTimeOver(nowMs: number): boolean {
    return nowMs >= this.#endMs;
  }

  /** Due times count from the start, so that one late request does not delay the rest. */
  isRequestDue(nowMs: number): boolean {
    return this.sentCount < this.spec.count && this.#nextRequestMs <= nowMs;
  }

  /** The answers so far. */
  get answers(): EchoAnswer[] {
    return this.#answers.filter((answer) => answer !== undefined);
  }

  get openEchoes(): OpenEcho[] {
    return this.#echoes.filter((echo) => echo !== undefined);
  }

  /** Adds a request that was sent. */
  addOpen(echo: OpenEcho): void {
    this.#echoes.push(echo);
    this.#openCount += 1;
  }

  /** Adds a request that was not sent. */
  addUnsent(errno: string): void {
    const sequence = this.#echoes.push(undefined) - 1;
    this.#answers[sequence] = { kind: 'unsent', sequence, errno };
  }

  /** Ends an open request. */
  settle(answer: EchoAnswer): void {
    const { sequence } = answer;
    this.#echoes[sequence] = undefined;
    this.#openCount -= 1;
    this.#answers[sequence] = answer;
  }

  /** Returns the oldest open request if it has expired. All have the same timeout, so the oldest expires first. */
  expired(nowMs: number): OpenEcho | undefined {
    const echo = this.#oldestOpen();
    return echo && this.#expiresMs(echo) <= nowMs ? echo : undefined;
  }

  /** Computes the next due time. Not allowed while the train is in the wheel. */
  plan(): void {
    const requestMs = this.sentCount < this.spec.count ? this.#nextRequestMs : Number.POSITIVE_INFINITY;
    const oldest = this.#oldestOpen();
    const expiryMs = oldest ? this.#expiresMs(oldest) : Number.POSITIVE_INFINITY;
    this.dueAtMs = Math.min(requestMs, expiryMs, this.#endMs);
  }

  #expiresMs({ sentMs }: OpenEcho): number {
    return sentMs + this.spec.replyTimeoutMs;
  }

  #oldestOpen(): OpenEcho | undefined {
    while (this.#firstOpen < this.sentCount && this.#echoes[this.#firstOpen] === undefined)
      this.#firstOpen += 1;
    return this.#echoes[this.#firstOpen];
  }

  get #nextRequestMs(): number {
    return this.#startMs + this.sentCount * this.spec.intervalMs;
  }
}
