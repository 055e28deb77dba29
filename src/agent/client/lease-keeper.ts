import type { Clock } from '@picket/lib/clock.ts';
import type { Logger } from '@picket/lib/log.ts';
import type { LeaseRef } from '@picket/protocol/agent/agent.ts';
import type { Answer, ServiceClient } from './service-client.ts';
import type { ServiceClock } from './service-clock.ts';
import { retryDelayMs, ServiceError } from './service-error.ts';

/** Why a lease ended before its result was settled. */
export type LeaseEnd = 'lost' | 'cancelled' | 'expired';

const expiryCheckMs = 500;
const minRenewalMs = 200;
/** Leases with more than this share of their time left wait for the next renewal: most runs end before it. */
const freshShare = 7 / 8;
const maxLeasesPerCall = 5000;
const defaultTtlMs = 15_000;
/** If two clocks of one host drift apart by more than this, one of them was set, or the host slept and one stopped. */
const clockGapMs = 1000;
/** How long a lease is still renewed after its result is in the spool. */
const spooledLeaseMs = 120_000;

interface Held extends LeaseRef {
  expiresAtMs: number;
  /** The lease is not renewed after this time. */
  stopRenewingAtMs: number;
  readonly onEnd: (end: LeaseEnd) => void;
}

/**
 * Keeps the agent's leases from the claim until the result is settled.
 *
 * IDLE: no lease is held; no timer, no call. → RENEWING with the first `hold`: every third of the TTL one call renews
 * all leases but those of the last moments. Leases that the response reports as lost or cancelled end at once. A failed call is repeated sooner, with
 * back-off; the leases are kept until they expire. → IDLE when the last lease is dropped or ended.
 *
 * Leases are timed on the monotonic clock, from the earliest instant at which the service can have granted them. Twice
 * a second, and before a run starts or a result is sent (`expireOverdue`), overdue leases end as `expired`: after a
 * pause of the whole process the agent learns which leases it lost before it acts on them. It stops the runs but still
 * sends their results, because the service fences them by token and keeps them as evidence.
 */
export class LeaseKeeper {
  readonly #client: ServiceClient;
  readonly #clock: Clock;
  readonly #serviceClock: ServiceClock;
  readonly #log: Logger;
  readonly #onFollowed: ((runIds: readonly string[]) => void) | undefined;
  readonly #held = new Map<string, Held>();
  /** No lease expires before this. Cached because it is read at the start of every run, and hundreds may be held. */
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
    /** Called with the runs whose log someone reads, as each renewal names them. */
    readonly onFollowed?: (runIds: readonly string[]) => void;
  }) {
    this.#onFollowed = options.onFollowed;
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
   * When the leases of a response expire, on the monotonic clock: their TTL after the response was made. That was at
   * the server time it carries, but never before sending the request or after receiving the response.
   */
  expiryOf(answer: Answer<{ readonly serverTime: number; readonly leaseTtlMs: number }>): number {
    const madeAtMs = this.#serviceClock.toMonotonicMs(answer.body.serverTime);
    return Math.min(Math.max(madeAtMs, answer.sentAtMs), answer.receivedAtMs) + answer.body.leaseTtlMs;
  }

  /** Keeps a lease renewed. `onEnd` is called at most once, and not after the lease is dropped. */
  hold(lease: LeaseRef, ttlMs: number, expiresAtMs: number, onEnd: (end: LeaseEnd) => void): void {
    this.#ttlMs = ttlMs;
    this.#firstExpiryMs = Math.min(this.#firstExpiryMs, expiresAtMs);
    this.#held.set(lease.runId, { ...lease, expiresAtMs, stopRenewingAtMs: Number.POSITIVE_INFINITY, onEnd });
    this.#expiryTimer ??= setInterval(() => void this.verify(), expiryCheckMs);
    if (!this.#renewalTimer && !this.#isRenewing) this.#scheduleRenewal(this.#ttlMs / 3);
  }

  /**
   * Drops a lease without a call: its result is settled, or it was given back. A lease with another fencing token
   * stays.
   */
  drop({ runId, leaseNumber }: LeaseRef): void {
    if (this.#held.get(runId)?.leaseNumber !== leaseNumber) return;
    this.#held.delete(runId);
    if (this.#held.size === 0) this.#rest();
  }

  /**
   * Called when the result of a run is safely on disk. The lease is renewed a while longer, so that no other agent
   * repeats the run while the result is in flight; not for ever, in case the service accepts no results.
   */
  stopRenewingSoon({ runId, leaseNumber }: LeaseRef): void {
    const held = this.#held.get(runId);
    if (held?.leaseNumber === leaseNumber) held.stopRenewingAtMs = this.#clock.monotonicMs() + spooledLeaseMs;
  }

  isHeld({ runId, leaseNumber }: LeaseRef): boolean {
    return this.#held.get(runId)?.leaseNumber === leaseNumber;
  }

  /** Drops all leases without a call. */
  dropAll(): void {
    this.#held.clear();
    this.#rest();
  }

  heldLeases(): LeaseRef[] {
    return [...this.#held.values()].map(({ runId, leaseNumber }) => ({ runId, leaseNumber }));
  }

  #ageingLeases(): LeaseRef[] {
    const freshUntilMs = this.#clock.monotonicMs() + this.#ttlMs * freshShare;
    return [...this.#held.values()]
      .filter(({ expiresAtMs }) => expiresAtMs <= freshUntilMs)
      .map(({ runId, leaseNumber }) => ({ runId, leaseNumber }));
  }

  /** Ends overdue leases. */
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
   * Await this before sending results: overdue leases have ended when it resolves. If the wall clock and the monotonic
   * clock have drifted apart, the agent cannot tell which leases are overdue, because the monotonic clock of a host
   * that slept may have slept as well. It then checks with the service first.
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
    if (!this.#isRenewing && this.#held.size > 0) await this.#renewHeld('all');
    this.#verifying = undefined;
  }

  /** Stops all timers. Leases still held expire at the service. */
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
    this.#renewalTimer = setTimeout(() => void this.#renewHeld('ageing'), Math.max(minRenewalMs, delayMs));
  }

  async #renewHeld(which: 'all' | 'ageing'): Promise<void> {
    this.#renewalTimer = undefined;
    this.#isRenewing = true;
    let nextDelayMs = this.#ttlMs / 3;
    this.expireOverdue();
    for (const lease of this.#held.values()) {
      if (lease.stopRenewingAtMs <= this.#clock.monotonicMs()) this.drop(lease);
    }
    try {
      const leases = which === 'all' ? this.heldLeases() : this.#ageingLeases();
      for (let start = 0; start < leases.length; start += maxLeasesPerCall) {
        await this.#renew(leases.slice(start, start + maxLeasesPerCall));
      }
      this.#failedAttempts = 0;
    } catch (thrown) {
      if (!(thrown instanceof ServiceError)) throw thrown;
      nextDelayMs = retryDelayMs(thrown, this.#failedAttempts++);
      // Keeping the leases matters more than a long back-off, unless the service requested one.
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
    const { lostRunIds, cancelledRunIds, followedRunIds, leaseTtlMs } = answer.body;
    this.#onFollowed?.(followedRunIds);
    this.#ttlMs = leaseTtlMs;
    const expiresAtMs = this.expiryOf(answer);
    const ended = new Map<string, LeaseEnd>();
    for (const runId of cancelledRunIds) ended.set(runId, 'cancelled');
    for (const runId of lostRunIds) ended.set(runId, 'lost');
    for (const { runId, leaseNumber } of leases) {
      const lease = this.#held.get(runId);
      // The lease may have been settled, or replaced by a newer one, during the call.
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
