import { setImmediate } from 'node:timers/promises';
import { type Clock, waitAtMost } from '@picket/lib/clock.ts';
import type { Logger } from '@picket/lib/log.ts';
import type { LeaseRef } from '@picket/protocol/agent/agent.ts';
import type { LeaseKeeper } from '../client/lease-keeper.ts';
import type { ServiceClient } from '../client/service-client.ts';
import { retryDelayMs, ServiceError } from '../client/service-error.ts';
import type { Delivery } from '../delivery/delivery.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { Poller } from './poller.ts';

/** Time limit for stopped runs to end. */
const stopRunsMs = 1000;
/** Time limit for results and leases to reach the service after the grace period, or after the second signal. */
const farewellMs = { patient: 5000, hurried: 1500 };
const releaseTimeoutMs = 1500;

/**
 * Shuts the agent down after the first signal.
 *
 * 1. NO MORE WORK: the pending claim is aborted, and the agent signs off; leases that have not started are given back
 *    at once.
 * 2. FINISHING: active runs continue, their results are sent and their leases renewed, up to the grace period.
 * 3. GIVING BACK (only after the grace period or a second signal): runs are stopped and their leases given back.
 * 4. LAST RESULTS: results are sent until each has its receipt, for at most five seconds after the grace period.
 * 5. LAST FILES: artifacts of stored results are sent until the grace period is over, for at least five seconds.
 *
 * The result says whether nothing was lost: no lease held, every result sent or safe in the spool.
 *
 * A second signal (`hurry`) skips to 3, shortens every wait, and drops the remaining artifacts.
 */
export class Drain {
  readonly #options: DrainOptions;
  readonly #hurry = new AbortController();
  readonly #hurried: Promise<void>;
  readonly #givingBack = new Set<Promise<void>>();
  #toGiveBack: LeaseRef[] = [];
  #isClean = true;

  constructor(options: DrainOptions) {
    this.#options = options;
    this.#hurried = new Promise((resolve) => {
      this.#hurry.signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }

  hurry(): void {
    this.#hurry.abort();
  }

  /** Starts giving leases back; `run` does not resolve before this has finished. */
  giveBack(leases: readonly LeaseRef[]): void {
    if (leases.length === 0) return;
    // Leases that return one by one in the same turn are sent in one call.
    if (this.#toGiveBack.length === 0) this.#givingBack.add(this.#giveBackGathered());
    this.#toGiveBack.push(...leases);
  }

  async #giveBackGathered(): Promise<void> {
    await setImmediate();
    const leases = this.#toGiveBack;
    this.#toGiveBack = [];
    await this.#giveBack(leases);
  }

  async #giveBack(leases: readonly LeaseRef[]): Promise<void> {
    const { client, clock, log } = this.#options;
    const untilMs = clock.monotonicMs() + this.#farewellMs();
    for (let attempt = 0; ; attempt++) {
      try {
        await client.release(leases, releaseTimeoutMs);
        log.info({ leases: leases.length }, 'unfinished leases released');
        return;
      } catch (thrown) {
        if (!(thrown instanceof ServiceError)) throw thrown;
        const delayMs = Math.min(retryDelayMs(thrown, attempt), 1000);
        const isHopeless =
          thrown.kind === 'refused' || (thrown.kind === 'rejected' && !thrown.isFromElsewhere);
        if (isHopeless || clock.monotonicMs() + delayMs + releaseTimeoutMs > untilMs) {
          log.error(
            { leases: leases.length, reason: thrown.message },
            'failed to release leases; they will expire',
          );
          this.#isClean = false;
          return;
        }
        await this.#wait(clock.sleep(delayMs, this.#hurry.signal), delayMs);
      }
    }
  }

  /**
   * Sent after the last claim, which would report the agent as present. If it is lost, the service notices the silence.
   */
  async #sayGoodbye(): Promise<void> {
    const { poller, client, log } = this.#options;
    await poller.tellLost(releaseTimeoutMs);
    try {
      await client.release([], releaseTimeoutMs, { isLeaving: true });
    } catch (thrown) {
      if (!(thrown instanceof ServiceError)) throw thrown;
      log.debug({ reason: thrown.message }, 'failed to sign off from the service');
    }
  }

  /** Runs all steps. Resolves with true if nothing was left behind and there was no second signal. */
  async run(): Promise<boolean> {
    const { poller, dispatcher, judged, delivery, leaseKeeper, clock, graceMs, log } = this.#options;
    const { reporter, spool, uploader } = delivery;
    const graceEndMs = clock.monotonicMs() + graceMs;
    await poller.stop();
    this.#givingBack.add(this.#sayGoodbye());
    this.giveBack(dispatcher.dropUnstarted());
    const idle = dispatcher.idle();
    await this.#wait(idle, graceMs);
    const stopped = dispatcher.dropAll();
    if (stopped.length > 0) {
      log.warn({ runs: stopped.length }, 'shutdown grace exceeded; stopping runs and releasing their leases');
      await this.#wait(idle, stopRunsMs, { isHurryEnough: false });
    }
    this.giveBack(stopped);
    await this.#wait(judged(), stopRunsMs, { isHurryEnough: false });
    await Promise.all([
      ...this.#givingBack,
      this.#wait(reporter.emptied(), this.#farewellMs(), { isHurryEnough: false }),
    ]);
    await this.#wait(uploader.emptied(), Math.max(this.#farewellMs(), graceEndMs - clock.monotonicMs()));
    await reporter.stop();
    await spool.stored();
    const results = reporter.waitingCount;
    const isKept = spool.undurableCount === 0;
    // Results in the spool need no lease: the service recognizes them by id, whichever agent sends them.
    if (isKept) leaseKeeper.dropAll();
    leaseKeeper.stop();
    const left = { results, leases: leaseKeeper.heldCount, artifacts: uploader.count };
    await uploader.stop();
    if (isKept && results + left.artifacts > 0) {
      log.warn(left, 'results or artifacts stay in the spool; the next agent that uses it sends them');
    } else if (!isKept) {
      log.error(left, 'shutting down with undelivered in-memory results or open leases');
    }
    return this.#isClean && isKept && !this.#hurry.signal.aborted;
  }

  #farewellMs(): number {
    return this.#hurry.signal.aborted ? farewellMs.hurried : farewellMs.patient;
  }

  /** Waits for a promise, up to a time limit or the second signal. */
  async #wait(awaited: Promise<void>, atMostMs: number, options = { isHurryEnough: true }): Promise<void> {
    const either = options.isHurryEnough ? Promise.race([awaited, this.#hurried]) : awaited;
    await waitAtMost(this.#options.clock, either, atMostMs);
  }
}

export interface DrainOptions {
  readonly poller: Poller;
  readonly dispatcher: Dispatcher;
  readonly delivery: Delivery;
  readonly leaseKeeper: LeaseKeeper;
  /** Resolves when no finished run waits for its judgement. */
  readonly judged: () => Promise<void>;
  readonly client: ServiceClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly graceMs: number;
}
