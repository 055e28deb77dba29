import type { Clock } from '@picket/lib/clock.ts';
import type { Signal, Signals } from '@picket/platform/store/engine/signals.ts';

/** How long a run counts as followed after a request for its log: several renewals of its lease. */
const followedMs = 20_000;
/** Other processes are notified again when less than this is left. */
const renewedBelowMs = 12_000;
/** Followed runs of one account at a time. */
export const followedRunsOfAccount = 20;

/** A run to follow, and the session of the agent that has it. */
export interface FollowableRun {
  readonly id: string;
  readonly holder?: { readonly locationId: string; readonly sessionId: string } | undefined;
}

interface Followed {
  readonly accountId: string;
  readonly untilMs: number;
  /** The session of the agent that was notified; undefined if none had the run. */
  readonly sessionId: string | undefined;
}

/**
 * Runs whose log someone reads at present. Each process keeps them in memory and hears of those of the others by signal,
 * so that the renewals of agents, which may call any process, cost no query. A lost signal is sent again while the
 * reader keeps asking.
 */
export class FollowedRuns {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #signals: Signals;
  readonly #unsubscribe: () => void;
  readonly #followed = new Map<string, Followed>();

  constructor({ clock, signals }: { readonly clock: Pick<Clock, 'monotonicMs'>; readonly signals: Signals }) {
    this.#clock = clock;
    this.#signals = signals;
    this.#unsubscribe = signals.subscribe((signal) => {
      if (signal.kind === 'followed') this.#heard(signal);
    });
  }

  /** Follows runs of an account for the next seconds; returns those that it may follow at once. */
  follow(accountId: string, runs: readonly FollowableRun[]): ReadonlySet<string> {
    const nowMs = this.#clock.monotonicMs();
    const mine = this.#ofAccount(accountId, nowMs);
    const known = runs.filter(({ id }) => mine.has(id));
    const room = Math.max(0, followedRunsOfAccount - mine.size);
    const added = runs.filter(({ id }) => !mine.has(id)).slice(0, room);
    // A waiting poll of the agent delivers the news at once, its next renewal in seconds.
    const isNews = ({ id, holder }: FollowableRun) => mine.get(id)?.sessionId !== holder?.sessionId;
    const isEnding = ({ id }: FollowableRun) => (mine.get(id)?.untilMs ?? 0) - nowMs < renewedBelowMs;
    // This process hears them, too.
    this.#signals.send(
      [...known.filter((run) => isNews(run) || isEnding(run)), ...added].map((run) => ({
        ...{ kind: 'followed', accountId, runId: run.id },
        ...(isNews(run) ? { holder: run.holder } : {}),
      })),
    );
    return new Set([...known, ...added].map(({ id }) => id));
  }

  /** Those of the runs that someone follows. */
  among(runIds: readonly string[]): string[] {
    if (this.#followed.size === 0) return [];
    const nowMs = this.#clock.monotonicMs();
    return runIds.filter((id) => (this.#followed.get(id)?.untilMs ?? 0) > nowMs);
  }

  close(): void {
    this.#unsubscribe();
  }

  #heard({ accountId, runId, holder }: Signal & { readonly kind: 'followed' }): void {
    const nowMs = this.#clock.monotonicMs();
    for (const [id, { untilMs }] of this.#followed) if (untilMs <= nowMs) this.#followed.delete(id);
    const sessionId = holder?.sessionId ?? this.#followed.get(runId)?.sessionId;
    this.#followed.set(runId, { accountId, untilMs: nowMs + followedMs, sessionId });
  }

  #ofAccount(accountId: string, nowMs: number): ReadonlyMap<string, Followed> {
    return new Map(
      [...this.#followed].filter(([, one]) => one.accountId === accountId && one.untilMs > nowMs),
    );
  }
}
