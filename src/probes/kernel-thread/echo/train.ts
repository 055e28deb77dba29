import { canonicalAddress } from '@picket/lib/wire/canonical-address.ts';
import type { IpFamily } from '../../address.ts';
import type { KernelTime } from '../../sys/kernel-clock.ts';
import { encodeSocketAddress } from '../../sys/socket-address.ts';
import type { EchoAnswer } from './answers.ts';
import type { TrainSpec } from './messages.ts';

/** A request without an answer yet. */
export interface OpenEcho {
  readonly train: EchoTrain;
  /** Sequence number in its train, from 0. */
  readonly sequence: number;
  readonly wireSequence: number;
  readonly token: Buffer;
  /** When its send began, or, once the kernel has reported it, when it left. */
  sentAt: KernelTime;
  /** When its send began, by `performance.now()`. */
  readonly sentAtMs: number;
  readonly expiresAtMs: number;
  /** Describes a packet that looked like its answer but did not match. */
  remark?: string;
}

type Unnumbered<Answer> = Answer extends unknown ? Omit<Answer, 'sequence'> : never;

/** A train in progress: its sent requests, the open ones, and the answers to the others. */
export class EchoTrain {
  readonly spec: TrainSpec;
  readonly family: IpFamily;
  /** The target as a `struct sockaddr`, and in canonical notation. */
  readonly socketAddress: Buffer;
  readonly target: string;
  /** When a request is due next, or an open one expires. */
  dueAtMs: number;
  /** Stopped or fully answered. */
  isOver = false;
  readonly #startMs: number;
  readonly #answers: (EchoAnswer | undefined)[] = [];
  readonly #echoes: (OpenEcho | undefined)[] = [];
  #openCount = 0;
  /** All requests before this one are answered. */
  #firstOpen = 0;

  /** @param nowMs the first request is due immediately. */
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

  settle({ sequence }: OpenEcho, answer: Unnumbered<EchoAnswer>): void {
    if (this.#echoes[sequence] === undefined) return;
    this.#echoes[sequence] = undefined;
    this.#openCount -= 1;
    this.#answers[sequence] = { ...answer, sequence };
  }

  /** Returns the oldest open request if it has expired. All have the same timeout, so the oldest expires first. */
  expired(nowMs: number): OpenEcho | undefined {
    const echo = this.#oldestOpen();
    return echo && echo.expiresAtMs <= nowMs ? echo : undefined;
  }

  /** Computes the next due time. Not allowed while the train is queued. */
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
