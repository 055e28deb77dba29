import type { Clock } from '@picket/lib/clock.ts';
import type { Logger } from '@picket/lib/log.ts';
import type { LeaseRef } from '@picket/protocol/agent/agent.ts';
import type { Answer, ServiceClient } from './service-client.ts';
import type { ServiceClock } from './service-clock.ts';
import { retryDelayMs, ServiceError } from './service-error.ts';

/** Why lease ended before its result was settled. */
export type LeaseEnd = 'lost' | 'cancelled' | 'expired';

const expiryCheckMs = 500;
const minRenewalMs = 200;
const maxLeasesPerCall = 5000;
const defaultTtlMs = 15_000;
/**
 * Two clocks of one host that part by more than this: one was set, or the host was asleep and one stood
 * still.
 */
const clockGapMs = 1000;
/** How long a lease is renewed whose result lies in the spool. */
const spooledLeaseMs = 120_000;

interface Held extends LeaseRef {
  expiresAtMs: number;
  /** From then on it is not renewed. */
  stopRenewingAtMs: number;
  readonly onEnd: (end: LeaseEnd) => void;
}

/**
 * Keeps the agent's right to its runs, from the claim until the result is settled.
 *
 * IDLE: no lease is held; no timer, no call. → RENEWING with the first `hold`: every third of the TTL one
 * call renews all leases. What the answer names as lost or cancelled ends at once. A failed call is repeated
 * sooner, with back-off; the leases stay as they are until their time is up. → IDLE when the last lease is
 * dropped or ended.
 *
 * A lease's time is counted on the monotonic clock from the earliest instant the service can have meant.
 * Twice a second, and before anything is started or sent (`expireOverdue`), leases whose time is up end as
 * `expired`: after a stop of the whole process the agent so learns what it lost before it acts on it. It then
 * stops the runs; what was already found out is still sent, because the service fences it by its token and
 * keeps it as evidence.
 */
export class LeaseKeeper {
  readonly #client: ServiceClient;
  readonly #clock: Clock;
  readonly #serviceClock: ServiceClock;
  readonly #log: Logger;
  readonly #held = new Map<string, Held>();
  /** No lease ends before that. It is asked with each run that begins, and hundreds may be held. */
  #firstExpiryMs = Number.POSITIVE_INFINITY;
  #ttlMs = defaultTtlMs;
  #renewalTimer: NodeJS.Timeout | undefined;
  #expiryTimer: NodeJS.Timeout | undefined;
  #isRenewing = false;
  #isStopped = false;
  #wallAheadMs: number;
  #verifying: Promise<void> | undefined;
  #failedAttempts = 0;

  constructor(options: {
    readonly client: ServiceClient;
    readonly clock: Clock;
    readonly serviceClock: ServiceClock;
    readonly log: Logger;
  }) {
    this.#client = options.client;
    this.#clock = options.clock;
    this.#serviceClock = options.serviceClock;
    this.#log = options.log;
    this.#wallAheadMs = options.clock.wallMs() - options.clock.monotonicMs();
  }

  get heldCount(): number {
    return this.#held.size;
  }

  /**
   * When, on the monotonic clock, the leases of an answer end: their TTL after the answer was made, which was
   * at the service's time it carries, but surely between sending and receiving.
   */
  expiryOf(answer: Answer<{ readonly serverTime: number; readonly leaseTtlMs: number }>): number {
    const madeAtMs = this.#serviceClock.toMonotonicMs(answer.body.serverTime);
    return Math.min(Math.max(madeAtMs, answer.sentAtMs), answer.receivedAtMs) + answer.body.leaseTtlMs;
  }

  /** Takes a lease into care. `onEnd` is called at most once, unless the lease is dropped first. */
  hold(lease: LeaseRef, ttlMs: number, expiresAtMs: number, onEnd: (end: LeaseEnd) => void): void {
    this.#ttlMs = ttlMs;
    this.#firstExpiryMs = Math.min(this.#firstExpiryMs, expiresAtMs);
    this.#held.set(lease.runId, { ...lease, expiresAtMs, stopRenewingAtMs: Number.POSITIVE_INFINITY, onEnd });
    this.#expiryTimer ??= setInterval(() => void this.verify(), expiryCheckMs);
    if (!this.#renewalTimer && !this.#isRenewing) this.#scheduleRenewal(this.#ttlMs / 3);
  }

  /**
   * Lets a lease go without a call: its result is settled, or it was given back. Leases with another fencing
   * token stay.
   */
  drop({ runId, leaseNumber }: LeaseRef): void {
    if (this.#held.get(runId)?.leaseNumber !== leaseNumber) return;
    this.#held.delete(runId);
    if (this.#held.size === 0) this.#rest();
  }

  /**
   * The result of a run is safe on disk. Its lease is kept for some time more, so that no other agent does
   * the work again while the result is on its way; not for ever, should the service take no results.
   */
  stopRenewingSoon({ runId, leaseNumber }: LeaseRef): void {
    const held = this.#held.get(runId);
    if (held?.leaseNumber === leaseNumber) held.stopRenewingAtMs = this.#clock.monotonicMs() + spooledLeaseMs;
  }

  isHeld({ runId, leaseNumber }: LeaseRef): boolean {
    return this.#held.get(runId)?.leaseNumber === leaseNumber;
  }

  /** Lets all leases go without a call. */
  dropAll(): void {
    this.#held.clear();
    this.#rest();
  }

  /** Every lease that is held now. */
  heldLeases(): LeaseRef[] {
    return [...this.#held.values()].map(({ runId, leaseNumber }) => ({ runId, leaseNumber }));
  }

  /** Ends the leases whose time is up. */
  expireOverdue(): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs < this.#firstExpiryMs) return;
    for (const lease of this.#held.values()) if (lease.expiresAtMs <= nowMs) this.#end(lease, 'expired');
    this.#firstExpiryMs = Number.POSITIVE_INFINITY;
    for (const { expiresAtMs } of this.#held.values()) {
      this.#firstExpiryMs = Math.min(this.#firstExpiryMs, expiresAtMs);
    }
  }

  /**
   * To be awaited before results are sent. Leases whose time is up have ended when it resolves. Where the
   * wall clock and the monotonic one have parted, the agent cannot know whose time is up: a host that slept
   * may have a monotonic clock that slept as well. Then the service is asked first.
   */
  async verify(): Promise<void> {
    this.expireOverdue();
    const wallAheadMs = this.#clock.wallMs() - this.#clock.monotonicMs();
    const gapMs = wallAheadMs - this.#wallAheadMs;
    this.#wallAheadMs = wallAheadMs;
    if (Math.abs(gapMs) > clockGapMs) {
      this.#log.warn(
        { gapMs: Math.round(gapMs), leases: this.#held.size },
        'clock jump detected (suspend or clock change); verifying leases before sending results',
      );
      this.#serviceClock.distrust();
      this.#verifying ??= this.#renewNow();
    }
    await this.#verifying;
  }

  async #renewNow(): Promise<void> {
    clearTimeout(this.#renewalTimer);
    if (!this.#isRenewing && this.#held.size > 0) await this.#renewAll();
    this.#verifying = undefined;
  }

  /** Stops all timers. Leases still held run out at the service. */
  stop(): void {
    this.#isStopped = true;
    this.#rest();
  }

  #rest(): void {
    clearTimeout(this.#renewalTimer);
    clearInterval(this.#expiryTimer);
    this.#renewalTimer = undefined;
    this.#expiryTimer = undefined;
  }

  #scheduleRenewal(delayMs: number): void {
    this.#renewalTimer = setTimeout(() => void this.#renewAll(), Math.max(minRenewalMs, delayMs));
  }

  async #renewAll(): Promise<void> {
    this.#renewalTimer = undefined;
    this.#isRenewing = true;
    let nextDelayMs = this.#ttlMs / 3;
    this.expireOverdue();
    for (const lease of this.#held.values()) {
      if (lease.stopRenewingAtMs <= this.#clock.monotonicMs()) this.drop(lease);
    }
    try {
      const leases = this.heldLeases();
      for (let start = 0; start < leases.length; start += maxLeasesPerCall) {
        await this.#renew(leases.slice(start, start + maxLeasesPerCall));
      }
      this.#failedAttempts = 0;
    } catch (thrown) {
      if (!(thrown instanceof ServiceError)) throw thrown;
      nextDelayMs = retryDelayMs(thrown, this.#failedAttempts++);
      // A lease is worth more than politeness as long as nobody asked us to wait.
      if (thrown.kind === 'unreachable') nextDelayMs = Math.min(nextDelayMs, this.#ttlMs / 6);
      this.#log.warn(
        { code: thrown.code, reason: thrown.message, leases: this.#held.size },
        'failed to renew leases',
      );
    } finally {
      this.#isRenewing = false;
    }
    if (this.#held.size > 0 && !this.#isStopped) this.#scheduleRenewal(nextDelayMs);
  }

  async #renew(leases: readonly LeaseRef[]): Promise<void> {
    const answer = await this.#client.renew(leases, Math.max(1000, this.#ttlMs / 3));
    const { lostRunIds, cancelledRunIds, leaseTtlMs } = answer.body;
    this.#ttlMs = leaseTtlMs;
    const expiresAtMs = this.expiryOf(answer);
    const ended = new Map<string, LeaseEnd>();
    for (const runId of cancelledRunIds) ended.set(runId, 'cancelled');
    for (const runId of lostRunIds) ended.set(runId, 'lost');
    for (const { runId, leaseNumber } of leases) {
      const lease = this.#held.get(runId);
      // It may have been settled, or replaced by a newer lease, while the call was under way.
      if (lease?.leaseNumber !== leaseNumber) continue;
      const end = ended.get(runId);
      if (end) this.#end(lease, end);
      else lease.expiresAtMs = expiresAtMs;
    }
  }

  #end(lease: Held, end: LeaseEnd): void {
    this.drop(lease);
    this.#log.warn(
      { runId: lease.runId, fencingToken: lease.leaseNumber, reason: end },
      'lease ended before its result',
    );
    lease.onEnd(end);
  }
}
