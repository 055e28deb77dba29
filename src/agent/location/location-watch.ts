import { type FailureCode, failureCatalogue } from '@picket/checks/contract/failure.ts';
import type { Clock } from '@picket/lib/clock.ts';
import type { Logger } from '@picket/lib/log.ts';
import {
  maxLocationEventsPerCall,
  type ReportedLocationEvent,
  type UnhealthyKind,
} from '@picket/protocol/locations/location-event.ts';
import type { ServiceClock } from '../client/service-clock.ts';
import { retryDelayMs, ServiceError } from '../client/service-error.ts';
import type { SelfCheck } from './host-checks.ts';

const calmMs = 10_000;
/** Interval while a part is unhealthy. */
const alertMs = 2000;
/** An ongoing event is reported again, so that the service knows that its agent is alive. */
const repeatMs = 60_000;
/** Limit of events that wait for the service; the oldest that have ended are dropped first. */
const maxEvents = 100;
const evidenceLimit = 900;

/** A part of the location that is unhealthy now. */
export interface UnhealthyPart {
  readonly kind: UnhealthyKind;
  readonly evidence: string;
  readonly sinceMs: number;
}

interface Event {
  reported: ReportedLocationEvent;
  /** Whether it has changes that are not reported yet. */
  isNews: boolean;
  reportedAtMs: number;
}

/**
 * Watches the health of the agent's location. Problems of the location are reported as location events, never as
 * failures of targets.
 *
 * HEALTHY: each part is checked every ten seconds. → UNHEALTHY, for each part, when its self-check fails: an event
 * begins, and all parts are checked every two seconds. → HEALTHY when a self-check finds the part healthy again
 * (`unknown` is not enough): the event ends. Events are reported to the service at once, every minute while they last,
 * and until it has them.
 *
 * `explain` judges runs whose failure an unhealthy part would explain: if no part is known to be unhealthy it checks
 * again, so that the state of the location is never older than the failure.
 */
export class LocationWatch {
  readonly #options: LocationWatchOptions;
  readonly #unhealthy = new Map<UnhealthyKind, Event>();
  readonly #events = new Map<string, Event>();
  readonly #stop = new AbortController();
  #looking: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #reporting: Promise<void> | undefined;

  constructor(options: LocationWatchOptions) {
    this.#options = options;
  }

  /** Parts that are unhealthy now. */
  get unhealthyParts(): UnhealthyPart[] {
    return [...this.#unhealthy.values()].map(({ reported }) => ({
      kind: reported.kind as UnhealthyKind,
      evidence: reported.evidence,
      sinceMs: reported.startedAt,
    }));
  }

  start(): void {
    void this.#watch();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all([this.#looking, this.#reporting]);
    for (const check of this.#options.selfChecks) check.stop?.();
  }

  /** Whether a part of the location that can be checked here might explain a failure. */
  canExplain(code: FailureCode): boolean {
    return failureCatalogue[code].fromLocation !== undefined;
  }

  /**
   * Returns the unhealthy part that explains a failure; undefined if no such part is known to be unhealthy. Counts the
   * run as affected.
   */
  async explain(code: FailureCode): Promise<UnhealthyPart | undefined> {
    const { fromLocation } = failureCatalogue[code];
    if (fromLocation === undefined || this.#stop.signal.aborted) return undefined;
    // A resolver is reached through the network.
    const kinds: readonly UnhealthyKind[] =
      fromLocation === 'network' ? ['network'] : ['network', 'resolver'];
    const find = () => kinds.map((kind) => this.#unhealthy.get(kind)).find((found) => found !== undefined);
    let event = find();
    if (!event) {
      await this.#lookAnew();
      event = find();
    }
    if (!event) return undefined;
    this.#change(event, { affectedRuns: event.reported.affectedRuns + 1 });
    const { kind, evidence, startedAt } = event.reported;
    return { kind: kind as UnhealthyKind, evidence, sinceMs: startedAt };
  }

  async #watch(): Promise<void> {
    const { clock } = this.#options;
    while (!this.#stop.signal.aborted) {
      await this.#lookAnew();
      this.#repeatLasting();
      await clock.sleep(this.#unhealthy.size > 0 ? alertMs : calmMs, this.#stop.signal);
    }
  }

  /** Starts a check of all parts, after the current one if necessary; concurrent callers share it. */
  #lookAnew(): Promise<void> {
    if (!this.#looking) {
      this.#looking = this.#look().finally(() => {
        this.#looking = undefined;
      });
      return this.#looking;
    }
    this.#next ??= this.#looking.then(() => {
      this.#next = undefined;
      return this.#lookAnew();
    });
    return this.#next;
  }

  async #look(): Promise<void> {
    await Promise.all(
      this.#options.selfChecks.map(async (check) => {
        const found = await check.look();
        if (this.#stop.signal.aborted) return;
        if (found.state === 'unhealthy')
          this.#becomeUnhealthy(check.kind, found.evidence.slice(0, evidenceLimit));
        else if (found.state === 'healthy') this.#recover(check.kind);
      }),
    );
  }

  #becomeUnhealthy(kind: UnhealthyKind, evidence: string): void {
    const lasting = this.#unhealthy.get(kind);
    if (lasting) {
      if (lasting.reported.evidence !== evidence) lasting.reported = { ...lasting.reported, evidence };
      return;
    }
    this.#options.log.error(
      { kind, reason: evidence },
      'location unhealthy; failures it explains are attributed to the location',
    );
    const event: Event = {
      reported: {
        eventId: crypto.randomUUID(),
        kind,
        evidence,
        affectedRuns: 0,
        startedAt: this.#nowMs(),
        endedAt: null,
      },
      isNews: true,
      reportedAtMs: 0,
    };
    this.#unhealthy.set(kind, event);
    this.#events.set(event.reported.eventId, event);
    this.#makeRoom();
    this.#report();
  }

  #recover(kind: UnhealthyKind): void {
    const event = this.#unhealthy.get(kind);
    if (!event) return;
    this.#unhealthy.delete(kind);
    this.#options.log.info({ kind, affectedRuns: event.reported.affectedRuns }, 'location healthy again');
    this.#change(event, { endedAt: this.#nowMs() });
    this.#report();
  }

  #change(event: Event, change: Partial<ReportedLocationEvent>): void {
    event.reported = { ...event.reported, ...change };
    event.isNews = true;
  }

  #repeatLasting(): void {
    const nowMs = this.#options.clock.monotonicMs();
    for (const event of this.#unhealthy.values())
      if (nowMs - event.reportedAtMs >= repeatMs) event.isNews = true;
    this.#report();
  }

  #makeRoom(): void {
    for (const [id, event] of this.#events) {
      if (this.#events.size <= maxEvents) return;
      if (event.reported.endedAt !== null) this.#events.delete(id);
    }
  }

  #report(): void {
    if ([...this.#events.values()].some(({ isNews }) => isNews)) this.#reporting ??= this.#reportAll();
  }

  /** Sends unreported changes until the service has them. */
  async #reportAll(): Promise<void> {
    const { clock, report } = this.#options;
    for (let attempt = 0; !this.#stop.signal.aborted; ) {
      const news = [...this.#events.values()]
        .filter(({ isNews }) => isNews)
        .slice(0, maxLocationEventsPerCall);
      if (news.length === 0) break;
      for (const event of news) event.isNews = false;
      try {
        await report(
          news.map(({ reported }) => reported),
          this.#stop.signal,
        );
        attempt = 0;
        this.#reported(news);
      } catch (thrown) {
        if (!(thrown instanceof ServiceError)) throw thrown;
        // A service that does not know the call will not learn it.
        if (thrown.kind === 'rejected' && !thrown.isFromElsewhere) this.#reported(news);
        else for (const event of news) event.isNews = true;
        await clock.sleep(retryDelayMs(thrown, attempt++), this.#stop.signal);
      }
    }
    this.#reporting = undefined;
  }

  #reported(news: readonly Event[]): void {
    for (const event of news) {
      event.reportedAtMs = this.#options.clock.monotonicMs();
      if (event.reported.endedAt !== null && !event.isNews) this.#events.delete(event.reported.eventId);
    }
  }

  #nowMs(): number {
    return Math.max(0, Math.round(this.#options.serviceClock.nowMs()));
  }
}

export interface LocationWatchOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly selfChecks: readonly SelfCheck[];
  readonly serviceClock: ServiceClock;
  /** Sends events to the service; rejects with a ServiceError. */
  readonly report: (events: readonly ReportedLocationEvent[], signal: AbortSignal) => Promise<unknown>;
}
