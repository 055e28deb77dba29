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

/** How long stopped runs may take to end. */
const stopRunsMs = 1000;
/** How long results and leases may take to reach the service after the grace, or after the second signal. */
const farewellMs = { patient: 5000, hurried: 1500 };
const releaseTimeoutMs = 1500;

/**
 * The way out, after the first signal.
 *
 * 1. NO MORE WORK: the claim under way is given up, and the agent says goodbye; leases that have not
 * started are given back at once.
 * 2. FINISHING: runs under way go on, their results are sent and their leases renewed, for the grace at most.
 * 3. GIVING BACK (only when the grace is over or a second signal came): runs are stopped and their leases
 * given back.
 * 4. FAREWELL: the last results are sent until each has its receipt, for five seconds at most beyond the
 * grace.
 * 5. LAST FILES: artifacts of stored results are sent, until the grace is over, for five seconds at least.
 * The result says whether nothing was lost: no lease held, every result sent or safe in the spool.
 *
 * A second signal (`hurry`) skips to 3, makes every wait short, and gives artifacts up.
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

  /** Begins to give leases back; `run` does not resolve before that has come to an end. */
  giveBack(leases: readonly LeaseRef[]): void {
    if (leases.length === 0) return;
    // What comes back one by one in the same turn goes in one call.
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

  /** Behind the last claim, which would say that the agent is there. A service that misses it notices the silence. */
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

  /** Goes the whole way. Resolves with true when nothing was left behind and nobody hurried. */
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
    // What lies in the spool needs no lease any more: the service recognises it by its id, whichever agent
    // sends it.
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

  /** Waits for a promise, for some time at most, or until somebody hurries. */
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
