import { join } from 'node:path';
import { waitAtMost } from '@picket/lib/clock.ts';
import type { Report } from '../../run/contracts.ts';
import { type ReportTiming, sizeOf, type WaitingReport } from '../outbox.ts';
import { logFolder } from './log-folder.ts';
import type { SpoolKind } from './segment.ts';
import type { SpoolItem } from './spool-message.ts';
import type { SpoolOptions, SpoolState } from './spool-options.ts';
import { SpoolProblem, SpoolThread } from './spool-thread.ts';
import { reportOf, spooledText } from './spooled-report.ts';

/** Limits of one append, so that the first of many results does not wait for the last. */
const appendLimits = { maxCount: 500, maxSize: 4 * 1024 * 1024 };
/**
 * How long a result waits for others, and for the service: most have their receipt by then and are never written. If
 * the agent is killed meanwhile, another agent repeats the run once its lease expires.
 */
const gatherMs = 100;
/** The same for a result whose report waits for others for a second. */
const patientGatherMs = 1_200;
/** How long a broken disk is left alone, and how long a write may take before its results count as not kept. */
const retryMs = 5000;
const slowMs = 5000;
const closeMs = 2000;

/**
 * Keeps results until the service has them, on disk if possible.
 *
 * A new result is `sending`. If it is not settled after 100 ms, or 1.2 s if its report may wait, it is written to disk,
 * together with all others that wait (one sync for all). A result with artifacts is written at once, because they stay after its receipt. `onDurable`
 * is called once it is on disk. The reporter either settles it or releases it to the backlog: then it is written at
 * once, memory drops it, and `take` returns it later, oldest first, together with results of earlier agents.
 *
 * DISK: appends succeed. → MEMORY if an append fails or is too slow, the folder cannot be locked, or its thread ended.
 * Results then wait in memory, up to `maxMemorySize`; beyond that the oldest attempts are dropped, then the oldest
 * finals. The disk is retried every five seconds, with a new thread if necessary. → DISK when the folder opens again.
 */
export class Spool {
  readonly #options: SpoolOptions;
  /** Results not on disk, in order of arrival; settled ones are skipped when their turn comes. */
  #unstored = new Set<WaitingReport>();
  #unstoredSize = 0;
  #thread: SpoolThread | undefined;
  /** Number of threads so far: places on disk that one thread assigned are meaningless to the next. */
  #epoch = 0;
  #openedEpoch = 0;
  #problem: string | undefined = 'the spool is not open yet';
  /** Whether the log says that results are kept in memory. */
  #isProblemLogged = false;
  #isStoring = false;
  #gathering: { readonly timer: NodeJS.Timeout; readonly atMs: number } | undefined;
  /** Waiting results are to be written as soon as the disk is free. */
  #isUrgent = false;
  #isStopping = false;
  #retryTimer: NodeJS.Timeout | undefined;
  #releasesUnderWay = 0;
  /** Places on disk whose results are settled; sent to the thread once per receipt. */
  #settledRefs: number[] = [];
  #droppedCount = 0;
  #stored: PromiseWithResolvers<void> | undefined;

  constructor(options: SpoolOptions) {
    this.#options = options;
  }

  get state(): SpoolState {
    const silentMs = this.#thread?.silentMs ?? 0;
    const problem = this.#problem ?? (silentMs > slowMs ? 'the disk does not respond' : undefined);
    const facts = this.#thread?.facts;
    const { attempts = 0, finals = 0, expired = 0 } = facts?.losses ?? {};
    return {
      mode: problem === undefined ? 'disk' : 'memory',
      problem,
      facts,
      memoryCount: this.#unstored.size,
      dropped: { attempts, finals, expired, other: this.#droppedCount },
    };
  }

  /** The folder for artifacts of runs; undefined while no spool folder is open. */
  get artifactFolder(): string | undefined {
    const folder = this.#thread?.facts?.folder;
    return folder === undefined ? undefined : join(folder, 'artifacts');
  }

  get sizeBytes(): number {
    return this.#thread?.facts?.sizeBytes ?? 0;
  }

  /** Results that wait for their turn, on disk and in memory. */
  get backlogCount(): number {
    let count = this.#releasesUnderWay + (this.#thread?.facts?.pendingCount ?? 0);
    for (const { state } of this.#unstored) if (state === 'backlog') count++;
    return count;
  }

  /** Results that would be lost with this process. */
  get undurableCount(): number {
    return this.#unstored.size;
  }

  /** Opens the folder. Resolves after the attempt, within a few seconds; the state has the outcome. */
  async open(): Promise<void> {
    await waitAtMost(this.#options.clock, this.#open(), slowMs);
  }

  /** Adds a result that is about to be sent. */
  add(report: Report, kind: SpoolKind, options: ReportTiming): WaitingReport {
    const { clock, serviceClock } = this.#options;
    const atMs = Math.round(serviceClock.nowMs());
    const nowMs = clock.monotonicMs();
    const writeAtMs = options.mayWait ? (options.endedAtMs ?? nowMs) + patientGatherMs : nowMs + gatherMs;
    const waiting: WaitingReport = { report, kind, atMs, writeAtMs, place: undefined, state: 'sending' };
    this.#unstored.add(waiting);
    this.#unstoredSize += sizeOf(waiting);
    if (this.#gathering && writeAtMs < this.#gathering.atMs) {
      clearTimeout(this.#gathering.timer);
      this.#gathering = undefined;
    }
    // It stays after its receipt: otherwise the next agent would discard the files.
    if (report.artifacts) this.#isUrgent = true;
    this.#store();
    this.#makeRoom();
    return waiting;
  }

  /** Settles a result: the service has it, or will never take it. */
  settle(waiting: WaitingReport): void {
    waiting.state = 'settled';
    this.#forget(waiting);
    const { place } = waiting;
    if (place?.epoch === this.#epoch) this.#settleOnDisk([place.ref]);
  }

  /** Releases results that are not sent now; they wait for their turn. */
  release(reports: readonly WaitingReport[]): void {
    const refs: number[] = [];
    for (const waiting of reports) {
      if (waiting.state !== 'sending') continue;
      waiting.state = 'backlog';
      // A result being stored follows once it is stored; one of an earlier thread is already on disk.
      if (waiting.place?.epoch === this.#epoch) refs.push(waiting.place.ref);
      if (this.#unstored.has(waiting)) this.#isUrgent = true;
    }
    if (this.#isUrgent) this.#store();
    void this.#releaseRefs(refs);
  }

  /** Takes the oldest results of the backlog, for the reporter to send. Those that are not on disk come first. */
  async take(limits: { readonly maxCount: number; readonly maxSize: number }): Promise<WaitingReport[]> {
    const inMemory = this.#drainUnstored(limits);
    if (inMemory.length > 0) return inMemory;
    const thread = this.#thread;
    const epoch = this.#epoch;
    const folder = this.artifactFolder;
    if (!thread || folder === undefined) return [];
    let records: readonly { readonly ref: number; readonly text: string }[];
    try {
      records = await thread.ask<'take'>({
        op: 'take',
        limits: { maxCount: limits.maxCount, maxBytes: limits.maxSize },
        notBeforeMs: this.#options.notBeforeMs(),
      });
    } catch (thrown) {
      this.#failed(thrown);
      return [];
    }
    return records.flatMap(({ ref, text }) => {
      const report = reportOf(text, folder);
      const place = { ref, epoch };
      if (report) return { report, kind: 'final', atMs: 0, place, state: 'sending' };
      this.#options.log.error('unreadable spooled result skipped');
      this.#settleOnDisk([ref]);
      return [];
    });
  }

  /** Writes waiting results if possible and closes the folder. Results not on disk by then are lost. */
  async close(): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#retryTimer);
    const thread = this.#thread;
    if (!thread) return;
    this.#storeNow();
    this.#sendSettled();
    const closed = thread.ask<'close'>({ op: 'close' }).catch((thrown: unknown) => this.#failed(thrown));
    await waitAtMost(this.#options.clock, closed, closeMs);
    await thread.terminate();
  }

  /** Resolves when no result waits to be written, the disk does not work, or the time limit is over. */
  async stored(): Promise<void> {
    if (this.#unstored.size === 0 || this.#problem !== undefined) return;
    this.#stored ??= Promise.withResolvers();
    this.#storeNow();
    await waitAtMost(this.#options.clock, this.#stored.promise, closeMs);
  }

  async #open(): Promise<void> {
    const { clock, directory, tag, maxBytes, log } = this.#options;
    if (!this.#thread || this.#thread.hasEnded) {
      this.#epoch++;
      this.#thread = new SpoolThread({ directory, tag, maxBytes }, () => clock.monotonicMs());
    }
    try {
      await this.#thread.ask<'open'>({ op: 'open' });
    } catch (thrown) {
      this.#failed(thrown);
      return;
    }
    const { facts } = this.#thread;
    if (facts && this.#openedEpoch !== this.#epoch) logFolder(facts, log);
    this.#openedEpoch = this.#epoch;
    this.#problem = undefined;
    if (this.#isProblemLogged) log.info('results are on disk again');
    this.#isProblemLogged = false;
    this.#store();
    this.#options.onBacklog();
  }

  /** Writes the results that wait for the disk, one append at a time. */
  #store(): void {
    if (this.#isStoring || this.#problem !== undefined || !this.#thread) return;
    if (this.#unstored.size === 0) {
      this.#isUrgent = false;
      this.#stored?.resolve();
      this.#stored = undefined;
      return;
    }
    const isUrgent = this.#isUrgent || this.#stored || this.#unstored.size >= appendLimits.maxCount;
    if (!isUrgent) {
      this.#gathering ??= this.#gather();
      return;
    }
    this.#isUrgent = false;
    this.#isStoring = true;
    void this.#append(this.#thread, this.#nextBatch());
  }

  /** Waits until the first result is to be written; most are settled by then. */
  #gather() {
    const atMs = this.#earliestMs();
    const waitMs = Math.max(0, Math.ceil(atMs - this.#options.clock.monotonicMs()));
    const timer = setTimeout(() => {
      this.#gathering = undefined;
      if (this.#earliestMs() <= atMs) this.#isUrgent = true;
      this.#store();
    }, waitMs);
    return { timer, atMs };
  }

  #earliestMs(): number {
    return Math.min(...[...this.#unstored].map(({ writeAtMs = 0 }) => writeAtMs));
  }

  #storeNow(): void {
    clearTimeout(this.#gathering?.timer);
    this.#gathering = undefined;
    this.#isUrgent = true;
    this.#store();
  }

  async #append(thread: SpoolThread, batch: readonly WaitingReport[]): Promise<void> {
    const epoch = this.#epoch;
    const items = batch.map(
      ({ report, kind, atMs }): SpoolItem => ({ kind, atMs, text: spooledText(report) }),
    );
    try {
      const refs = await thread.ask<'append'>({ op: 'append', items });
      this.#recordStored(batch, refs, epoch);
    } catch (thrown) {
      this.#failed(thrown);
    }
    this.#isStoring = false;
    this.#store();
  }

  #recordStored(batch: readonly WaitingReport[], refs: readonly number[], epoch: number): void {
    const settled: number[] = [];
    const released: number[] = [];
    this.#options.log.debug(
      { results: batch.map(({ report }) => report.resultId) },
      'results written to disk',
    );
    batch.forEach((waiting, index) => {
      const ref = refs[index] ?? 0;
      waiting.place = { ref, epoch };
      this.#forget(waiting);
      if (waiting.state === 'settled') settled.push(ref);
      else this.#options.onDurable(waiting);
      if (waiting.state === 'backlog') released.push(ref);
    });
    this.#settleOnDisk(settled);
    void this.#releaseRefs(released);
  }

  #nextBatch(): WaitingReport[] {
    const batch: WaitingReport[] = [];
    let size = 0;
    for (const waiting of this.#unstored) {
      if (batch.length >= appendLimits.maxCount || (batch.length > 0 && size > appendLimits.maxSize)) break;
      batch.push(waiting);
      size += sizeOf(waiting);
    }
    return batch;
  }

  async #releaseRefs(refs: readonly number[]): Promise<void> {
    if (refs.length === 0) {
      this.#options.onBacklog();
      return;
    }
    this.#releasesUnderWay += refs.length;
    try {
      const goneCount = (await this.#thread?.ask<'release'>({ op: 'release', refs })) ?? 0;
      if (goneCount > 0) this.#dropped(goneCount);
    } catch (thrown) {
      // They are on disk, where the next thread or agent finds them.
      this.#failed(thrown);
    } finally {
      this.#releasesUnderWay -= refs.length;
    }
    this.#options.onBacklog();
  }

  #drainUnstored(limits: { readonly maxCount: number; readonly maxSize: number }): WaitingReport[] {
    const taken: WaitingReport[] = [];
    let size = 0;
    for (const waiting of this.#unstored) {
      if (waiting.state !== 'backlog') continue;
      size += sizeOf(waiting);
      if (taken.length >= limits.maxCount || (taken.length > 0 && size > limits.maxSize)) break;
      waiting.state = 'sending';
      taken.push(waiting);
    }
    return taken;
  }

  #makeRoom(): void {
    for (const kind of ['attempt', 'final'] as const) {
      for (const waiting of this.#unstored) {
        if (this.#unstoredSize <= this.#options.maxMemorySize) return;
        if (waiting.kind !== kind) continue;
        waiting.state = 'settled';
        this.#forget(waiting);
        this.#dropped(1);
        this.#options.onDropped(waiting);
      }
    }
  }

  #dropped(count: number): void {
    this.#droppedCount += count;
    this.#options.log.error({ results: count }, 'spool full; oldest results dropped');
  }

  #forget(waiting: WaitingReport): void {
    if (this.#unstored.delete(waiting)) this.#unstoredSize -= sizeOf(waiting);
  }

  #settleOnDisk(refs: readonly number[]): void {
    if (refs.length > 0 && this.#settledRefs.length === 0) queueMicrotask(() => this.#sendSettled());
    this.#settledRefs.push(...refs);
  }

  #sendSettled(): void {
    const refs = this.#settledRefs;
    this.#settledRefs = [];
    if (refs.length === 0) return;
    this.#thread?.ask<'settle'>({ op: 'settle', refs }).then(
      () => this.#options.onBacklog(),
      (thrown: unknown) => this.#failed(thrown),
    );
  }

  #failed(thrown: unknown): void {
    if (!(thrown instanceof SpoolProblem)) throw thrown;
    if (this.#isStopping) return;
    if (!this.#isProblemLogged) {
      this.#isProblemLogged = true;
      this.#options.log.error(
        { reason: thrown.message, directory: this.#options.directory },
        'SPOOL_DIR cannot be used; keeping results in memory',
      );
    }
    this.#problem = thrown.message;
    this.#stored?.resolve();
    this.#stored = undefined;
    if (this.#retryTimer) return;
    this.#retryTimer = setTimeout(() => {
      this.#retryTimer = undefined;
      void this.#open();
    }, retryMs);
    this.#retryTimer.unref();
  }
}
