import { canonicalAddress } from '@picket/lib/wire/canonical-address.ts';
import type { IpFamily } from '../../address.ts';
import type { KernelTime } from '../../sys/kernel-clock.ts';
import { encodeSocketAddress } from '../../sys/socket-address.ts';
import type { EchoAnswer } from './answers.ts';
import type { TrainSpec } from './messages.ts';

/** A request that waits for its answer. */
export interface OpenEcho {
  readonly train: EchoTrain;
  /** Counts from 0 in its train. */
  readonly sequence: number;
  readonly wireSequence: number;
  readonly token: Buffer;
  /** When its sending began, and once the kernel has said so, when it left. */
  sentAt: KernelTime;
  /** When its sending began, by `performance.now()`. */
  readonly sentAtMs: number;
  readonly expiresAtMs: number;
  /** What came that looked like its answer and is none. */
  remark?: string;
}

type Unnumbered<Answer> = Answer extends unknown ? Omit<Answer, 'sequence'> : never;

/** A train under way: which requests are sent, which of them are open, what became of the others. */
export class EchoTrain {
  readonly spec: TrainSpec;
  readonly family: IpFamily;
  /** The target as a `struct sockaddr`, and in its one way to write it. */
  readonly socketAddress: Buffer;
  readonly target: string;
  /** When something is to be done: a request is due, or may have waited for too long. */
  dueAtMs: number;
  /** Stopped, or answered to the end. */
  isOver = false;
  readonly #startMs: number;
  readonly #answers: (EchoAnswer | undefined)[] = [];
  readonly #echoes: (OpenEcho | undefined)[] = [];
  #openCount = 0;
  /** All requests before this one are answered. */
  #firstOpen = 0;

  /** @param nowMs the first request is due at once. */
  constructor(spec: TrainSpec, nowMs: number) {
    this.spec = spec;
    this.family = spec.address.includes(':') ? 6 : 4;
    this.socketAddress = encodeSocketAddress(spec.address, spec.scopeId);
    this.target = canonicalAddress(spec.address);
    this.#startMs = nowMs;
    this.dueAtMs = nowMs;
  }

  get sentCount(): number {
    return this.#echoes.length;
  }

  get isAnswered(): boolean {
    return this.sentCount >= this.spec.count && this.#openCount === 0;
  }

  /** Counted from the start, so that one late request does not delay all others. */
  isRequestDue(nowMs: number): boolean {
    return this.sentCount < this.spec.count && this.#nextRequestMs <= nowMs;
  }

  /** What was answered so far. */
  get answers(): EchoAnswer[] {
    return this.#answers.filter((answer) => answer !== undefined);
  }

  get openEchoes(): OpenEcho[] {
    return this.#echoes.filter((echo) => echo !== undefined);
  }

  /** Notes a request that went out. */
  addOpen(echo: OpenEcho): void {
    this.#echoes.push(echo);
    this.#openCount += 1;
  }

  /** Notes a request that did not go out. */
  addUnsent(errno: string): void {
    const sequence = this.#echoes.push(undefined) - 1;
    this.#answers[sequence] = { kind: 'unsent', sequence, errno };
  }

  settle({ sequence }: OpenEcho, answer: Unnumbered<EchoAnswer>): void {
    if (this.#echoes[sequence] === undefined) return;
    this.#echoes[sequence] = undefined;
    this.#openCount -= 1;
    this.#answers[sequence] = { ...answer, sequence };
  }

  /**
   * The oldest request that waits, if it has waited for too long. All wait equally long, so the oldest is the
   * first.
   */
  expired(nowMs: number): OpenEcho | undefined {
    const echo = this.#oldestOpen();
    return echo && echo.expiresAtMs <= nowMs ? echo : undefined;
  }

  /** Finds out when something is to be done next. Not while the train is queued. */
  plan(): void {
    const requestMs = this.sentCount < this.spec.count ? this.#nextRequestMs : Number.POSITIVE_INFINITY;
    this.dueAtMs = Math.min(requestMs, this.#oldestOpen()?.expiresAtMs ?? Number.POSITIVE_INFINITY);
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
