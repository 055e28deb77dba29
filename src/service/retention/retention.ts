import type { Clock } from '@picket/lib/clock.ts';
import type { Logger } from '@picket/lib/log.ts';
import type { ArtifactStore } from '@picket/platform/artifact-store/artifact-store.ts';
import { keptMs } from '@picket/platform/http/idempotency/idempotency.ts';
import type { Days, Part } from '@picket/platform/store/days/days.ts';
import type { Store } from '@picket/platform/store/store.ts';
import { sealedTogether } from '../coverage/slot-days.ts';
import { confirmableMs } from '../pages/subscriptions/subscribing.ts';
import { artifactKey } from '../results/artifacts/intake.ts';
import { isLockTimeout } from './day-keeper.ts';
import { RemovalPace } from './removal-pace.ts';
import { TrustedTime } from './trusted-time.ts';

/** Retention periods, in milliseconds. */
export interface RetentionTimes {
  /** Results with their details, fenced results, heartbeat events, and the records of runs, sessions and alerts. */
  readonly resultsMs: number;
  /** Files of runs. */
  readonly artifactsMs: number;
  /** Numbers used by analytics, without the rest of a result. */
  readonly analyticsMs: number;
  /** The audit log. */
  readonly auditMs: number;
}

export interface RetentionOptions {
  readonly store: Store;
  readonly artifactStore: ArtifactStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly retention: RetentionTimes;
}

const checksPerTurn = 100;
const chunksPerTurn = 500;
/** How long a turn deletes rows of one kind. */
const turnMs = 500;
const artifactsPerTurn = 50;
/** Pause between two rounds over all checks. */
const restMs = 60_000;
/** Number of results deleted in a round from which the next one begins at once. */
const busyRound = 5_000;
/** Queue lengths are kept as long as they can be queried (spec.md, Limits), plus one day. */
const locationMinutesMs = 16 * 86_400_000;
const minuteMs = 60_000;

/**
 * Background work of the leader: seals results into columns (result-columns.ts), deletes old data, and records queue
 * lengths once a minute. It covers all checks, a few on each turn, in statements that take milliseconds, so that claims
 * and results are never held up; it pauses between two rounds.
 *
 * Results are deleted only once they are sealed, as are ledger records (slot-days.ts): the data for analytics outlives
 * them. The age of data is based on the time that is known to have passed (trusted-time.ts), not on a clock alone.
 *
 * If results and runs are partitioned by day, a day is dropped as a whole once its last row is due; only rows from
 * before partitioning, or outside of partitions, are deleted individually.
 */
export class Retention {
  readonly #store: Store;
  readonly #artifactStore: ArtifactStore;
  readonly #clock: Clock;
  readonly #retention: RetentionTimes;
  /** The next turn starts after this check. */
  #cursor = '';
  #recordedMinute = 0;
  #restsUntilMs = 0;
  readonly #trusted: TrustedTime;
  readonly #logger: Logger;
  readonly #resultPace: RemovalPace;
  readonly #runPace: RemovalPace;
  /** Latest day found to be no longer needed. */
  #unneeded: string | undefined;
  #removedResults = 0;
  #removedFiles = 0;

  constructor(options: RetentionOptions) {
    this.#store = options.store;
    this.#artifactStore = options.artifactStore;
    this.#clock = options.clock;
    this.#retention = options.retention;
    this.#logger = options.logger;
    this.#trusted = new TrustedTime(options);
    const { removal, rowsPerRemoval } = options.store.retired;
    this.#resultPace = new RemovalPace(options.clock, removal, rowsPerRemoval);
    this.#runPace = new RemovalPace(options.clock, removal, rowsPerRemoval);
  }

  async turn(): Promise<number | null> {
    const clockMs = this.#clock.wallMs();
    await this.#recordQueues(clockMs);
    const nextMinute = (Math.floor(clockMs / minuteMs) + 1) * minuteMs;
    if (this.#clock.monotonicMs() < this.#restsUntilMs) return nextMinute;
    const now = await this.#trusted.now();
    const isMore = await this.#lookAtChecks(now);
    if (isMore) return this.#clock.wallMs();
    const isOldLeft = await this.#removeOld(now);
    if (isOldLeft || (await this.#dropDays(now)) || (await this.#store.retired.giveBackSpace()))
      return this.#clock.wallMs();
    this.#cursor = '';
    // If much was deleted, much more is already due: no pause.
    const isBusy = this.#removedResults >= busyRound;
    this.#logRemoved();
    if (isBusy) return this.#clock.wallMs();
    this.#restsUntilMs = this.#clock.monotonicMs() + restMs;
    return nextMinute;
  }

  async #recordQueues(now: number): Promise<void> {
    const minute = Math.floor(now / minuteMs) * minuteMs;
    if (minute === this.#recordedMinute) return;
    await this.#store.locationMinutes.record(minute, now);
    this.#recordedMinute = minute;
  }

  /** Seals and deletes results of the next few checks. Returns false if no more checks are left in this round. */
  async #lookAtChecks(now: number): Promise<boolean> {
    const ids = await this.#store.retired.checkIdsAfter(this.#cursor, checksPerTurn);
    let isLeft = false;
    isLeft = (await this.#sealSome(ids, now)) || isLeft;
    isLeft = (await this.#removeResults(ids, now)) || isLeft;
    isLeft = (await this.#prune(ids, now)) || isLeft;
    // Checks with much work left are continued on the next turn.
    if (isLeft) return true;
    this.#cursor = ids.at(-1) ?? this.#cursor;
    return ids.length === checksPerTurn;
  }

  /** Seals one chunk of results and one of slots of each check; returns whether there may be more. */
  async #sealSome(checkIds: readonly string[], now: number): Promise<boolean> {
    const { resultColumns, slotDays } = this.#store;
    const oldest = await resultColumns.oldestUnsealed(checkIds, now);
    let isLeft = false;
    for (const id of await resultColumns.sealable(oldest, now)) {
      const isSealed = await this.#store.transaction((on) => on.resultColumns.sealNext(id, now));
      isLeft = isLeft || isSealed;
    }
    for (const ids of sealedTogether(await slotDays.nextSeals(checkIds, now))) {
      const isSealed = await this.#store.transaction((on) => on.slotDays.sealTogether(ids, now));
      isLeft = isLeft || isSealed;
    }
    return isLeft;
  }

  /** Deletes old sealed results, and heartbeat events; returns whether there may be more. */
  async #removeResults(checkIds: readonly string[], now: number): Promise<boolean> {
    const { retired, resultColumns } = this.#store;
    const keptSince = now - this.#retention.resultsMs;
    const sealed = await resultColumns.sealedUntilOf(checkIds);
    const due = [...sealed].map(([id, until]) => [id, Math.min(keptSince, until)] as const);
    const withFiles = await retired.withArtifacts(due.map(([id]) => id));
    const bare = due.filter(([id]) => !withFiles.has(id));
    const filed = due.filter(([id]) => withFiles.has(id));
    let areLeft = false;
    for (const table of await this.#store.resultDays.tablesByRow()) {
      const untilMs = this.#clock.monotonicMs() + turnMs;
      const areBareLeft =
        bare.length > 0 &&
        (await this.#resultPace.run(async (limit) => {
          const removed = await retired.removeDue(bare, limit, table);
          this.#removedResults += removed;
          return removed;
        }, untilMs));
      const areFiledLeft =
        filed.length > 0 &&
        (await this.#resultPace.run(async (limit) => {
          const ids = await retired.dueResults(filed, limit, table);
          await this.#removeWithArtifacts(table, ids);
          return ids.length;
        }, untilMs));
      areLeft = areLeft || areBareLeft || areFiledLeft;
    }
    const events = await retired.removeHeartbeatEvents(checkIds, keptSince, retired.rowsPerRemoval);
    return areLeft || events === retired.rowsPerRemoval;
  }

  /** Drops days whose last row exceeds the retention period; returns whether there may be more. */
  async #dropDays(now: number): Promise<boolean> {
    const { resultDays, runDays } = this.#store;
    const keptSince = now - this.#retention.resultsMs;
    for (const part of await runDays.due(keptSince)) await this.#drop(part, 'runDays');
    const due = (await resultDays.parts()).filter((part) => !part.isOutside && part.to <= keptSince);
    for (const part of due) {
      if (this.#unneeded !== part.name && (await resultDays.isNeeded(part))) continue;
      // This stays true, because nothing more is stored there.
      this.#unneeded = part.name;
      const withArtifacts = await resultDays.withArtifacts(part, artifactsPerTurn);
      await this.#removeWithArtifacts(part.name, withArtifacts);
      if (withArtifacts.length > 0) return true;
      await this.#drop(part, 'resultDays');
    }
    return false;
  }

  async #drop(part: Part, kind: 'resultDays' | 'runDays'): Promise<void> {
    try {
      await this.#store.transaction(({ [kind]: days }) => (days as Days).drop(part));
    } catch (thrown) {
      if (!isLockTimeout(thrown)) throw thrown;
      this.#logger.info({ table: part.name }, 'table is locked; dropping the expired day later');
      return;
    }
    this.#logger.info({ table: part.name }, 'dropped an expired day');
  }

  /** Deletes old analytics and coverage data; returns whether there may be more. */
  async #prune(checkIds: readonly string[], now: number): Promise<boolean> {
    const before = now - this.#retention.analyticsMs;
    const chunks = await this.#store.resultColumns.chunksBefore(checkIds, before, chunksPerTurn);
    if (chunks.length > 0) {
      await this.#store.transaction((repositories) => repositories.resultColumns.remove(chunks));
    }
    const days = await this.#store.slotDays.prune(checkIds, before, chunksPerTurn);
    return Math.max(chunks.length, days) === chunksPerTurn;
  }

  async #removeWithArtifacts(table: string, ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    // The bytes first, because the rows refer to them.
    const artifacts = await this.#store.artifacts.ofResults(ids);
    for (const row of [...artifacts.values()].flat()) {
      if (row.state === 'stored' || row.state === 'awaited')
        await this.#artifactStore.remove(artifactKey(row));
    }
    await this.#store.transaction((repositories) => repositories.retired.removeResults(table, ids));
    this.#removedResults += ids.length;
  }

  #logRemoved(): void {
    const [results, files] = [this.#removedResults, this.#removedFiles];
    this.#removedResults = 0;
    this.#removedFiles = 0;
    if (results + files > 0) this.#logger.info({ results, files }, 'removed expired data');
  }

  /** Deletes old data that belongs to no particular check; returns whether there may be more. */
  async #removeOld(now: number): Promise<boolean> {
    const { retired, locationMinutes, audit, subscriptions, runDays, storedAnswers, spentLimits } =
      this.#store;
    const { rowsPerRemoval } = retired;
    await locationMinutes.prune(now - locationMinutesMs);
    await subscriptions.deleteUnconfirmed(now - confirmableMs);
    const isAuditLeft = await audit.prune(now - this.#retention.auditMs, rowsPerRemoval);
    await storedAnswers.prune(now - keptMs, rowsPerRemoval);
    const areLimitsLeft = await spentLimits.prune(now, rowsPerRemoval);
    const before = now - this.#retention.resultsMs;
    let areRunsLeft = false;
    for (const table of await runDays.tablesByRow()) {
      const areLeft = await this.#runPace.run(
        (limit) => retired.removeRuns(before, limit, table),
        this.#clock.monotonicMs() + turnMs,
      );
      areRunsLeft = areRunsLeft || areLeft;
    }
    const areRecordsLeft = await retired.removeRecords(before, rowsPerRemoval);
    const { resultIds, emptyIds } = await retired.testSessions(before, rowsPerRemoval);
    await this.#removeWithArtifacts('test_results', resultIds);
    await retired.removeTestSessions(emptyIds);
    const files = await this.#removeArtifacts(now - this.#retention.artifactsMs);
    // Sessions that had results are deleted on the next turn, when those are gone.
    return (
      areRunsLeft ||
      areRecordsLeft ||
      isAuditLeft ||
      areLimitsLeft ||
      resultIds.length > 0 ||
      emptyIds.length === rowsPerRemoval ||
      files === artifactsPerTurn
    );
  }

  async #removeArtifacts(before: number): Promise<number> {
    const rows = await this.#store.retired.artifacts(before, artifactsPerTurn);
    const days = Math.round(this.#retention.artifactsMs / 86_400_000);
    for (const row of rows) {
      await this.#artifactStore.remove(artifactKey(row));
      await this.#store.retired.forgetArtifact(row, `files are kept for ${days} days`);
    }
    this.#removedFiles += rows.length;
    return rows.length;
  }
}
