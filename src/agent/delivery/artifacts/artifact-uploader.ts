import { lstat, rm } from 'node:fs/promises';
import type { Clock } from '@picket/lib/clock.ts';
import { errorCodeOf } from '@picket/lib/errors.ts';
import type { Logger } from '@picket/lib/log.ts';
import type { LeaseRef } from '@picket/protocol/agent/agent.ts';
import { artifactWindowMs } from '@picket/protocol/results/artifact.ts';
import type { ServiceClient } from '../../client/service-client.ts';
import { retryDelayMs, ServiceError } from '../../client/service-error.ts';
import type { SealedArtifact, SealedArtifacts } from '../../run/contracts.ts';
import { attemptKey } from './run-folder.ts';

/** Low, because results, renewals and claims share the connection. */
const maxConcurrent = 2;
/** One upload may be corrupted in transit; after this many mismatches the file differs from the result. */
const maxMismatches = 3;

/** Outcome of an artifact: `stored`; `given-up` after errors; `dropped` to make room or because the agent stops. */
export type ArtifactEnd = 'stored' | 'given-up' | 'dropped';

interface Waiting {
  readonly lease: LeaseRef;
  readonly artifacts: SealedArtifacts;
  readonly sizeBytes: number;
  readonly left: SealedArtifact[];
  isReleased: boolean;
  sending: number;
}

/**
 * Uploads artifacts from disk, concurrently with all other calls.
 *
 * HELD while the report of their run is in flight. → RELEASED when the service has stored the result: their files are
 * uploaded, two at a time over all runs. A failed upload starts over after a back-off, until the service has the whole
 * file, reports that it no longer waits for it, or its hour of waiting is over. → Removed with their folder when no
 * file is left, by `discard`, or as the oldest when the total limit is exceeded.
 */
export class ArtifactUploader {
  readonly #options: ArtifactUploaderOptions;
  readonly #waiting = new Map<string, Waiting>();
  readonly #stop = new AbortController();
  readonly #removals = new Set<Promise<void>>();
  #activeCount = 0;
  #waitingBytes = 0;
  #idle: PromiseWithResolvers<void> | undefined;

  constructor(options: ArtifactUploaderOptions) {
    this.#options = options;
  }

  /** Files that wait or are being uploaded, including those of held runs. */
  get count(): number {
    return [...this.#waiting.values()].reduce((sum, { left, sending }) => sum + left.length + sending, 0);
  }

  get sizeBytes(): number {
    return this.#waitingBytes;
  }

  /** Takes over the artifacts of a finished run. */
  hold(lease: LeaseRef, artifacts: SealedArtifacts | undefined): void {
    if (!artifacts || artifacts.files.length === 0 || this.has(lease)) return;
    const sizeBytes = artifacts.files.reduce((sum, file) => sum + file.sizeBytes, 0);
    const left = [...artifacts.files];
    this.#waiting.set(attemptKey(lease), {
      lease,
      artifacts,
      sizeBytes,
      left,
      isReleased: false,
      sending: 0,
    });
    this.#waitingBytes += sizeBytes;
    this.makeRoom();
  }

  /** Drops the oldest artifacts while the total exceeds the limit. */
  makeRoom(): void {
    for (const oldest of this.#waiting.values()) {
      if (this.#waitingBytes <= this.#options.maxWaitingBytes()) break;
      this.#options.log.error(
        { runId: oldest.lease.runId, sizeBytes: oldest.sizeBytes },
        'no room for waiting artifacts; the oldest were dropped',
      );
      this.#drop(oldest);
    }
  }

  /** Whether artifacts of that run are waiting. */
  has(lease: LeaseRef): boolean {
    return this.#waiting.has(attemptKey(lease));
  }

  /** The result is stored: its artifacts may be uploaded. */
  release(lease: LeaseRef): void {
    const waiting = this.#waiting.get(attemptKey(lease));
    if (!waiting) return;
    waiting.isReleased = true;
    this.#pump();
  }

  /** The result does not count, so its artifacts are not needed. */
  discard(lease: LeaseRef): void {
    const waiting = this.#waiting.get(attemptKey(lease));
    if (waiting) this.#drop(waiting);
  }

  /** Resolves when no released artifact waits, or when the uploader is stopped. */
  async emptied(): Promise<void> {
    if (this.#isEmpty || this.#stop.signal.aborted) return;
    this.#idle ??= Promise.withResolvers();
    await this.#idle.promise;
  }

  /** Aborts uploads in progress. Remaining files stay in the spool, with their result. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#idle?.resolve();
    await Promise.all(this.#removals);
  }

  get #isEmpty(): boolean {
    return this.#activeCount === 0 && ![...this.#waiting.values()].some((one) => one.isReleased);
  }

  #pump(): void {
    if (this.#stop.signal.aborted) return;
    for (const waiting of this.#waiting.values()) {
      while (waiting.isReleased && this.#activeCount < maxConcurrent) {
        const file = waiting.left.shift();
        if (!file) break;
        void this.#sendOne(waiting, file);
      }
    }
    if (this.#isEmpty) {
      this.#idle?.resolve();
      this.#idle = undefined;
    }
  }

  async #sendOne(waiting: Waiting, file: SealedArtifact): Promise<void> {
    this.#activeCount++;
    waiting.sending++;
    const end = await this.#send(waiting, file);
    this.#activeCount--;
    waiting.sending--;
    if (this.#stop.signal.aborted) return;
    this.#options.onEnd(end);
    if (waiting.left.length === 0 && waiting.sending === 0) this.#remove(waiting);
    this.#pump();
  }

  async #send(waiting: Waiting, file: SealedArtifact): Promise<ArtifactEnd> {
    const { client, clock, log } = this.#options;
    const { runId } = waiting.lease;
    const untilMs = clock.monotonicMs() + artifactWindowMs;
    let mismatches = 0;
    for (let attempt = 0; ; attempt++) {
      if (!(await isThere(file.path))) return 'dropped';
      try {
        await client.putArtifact(waiting.lease, file, this.#stop.signal);
        return 'stored';
      } catch (thrown) {
        if (!(thrown instanceof ServiceError)) throw thrown;
        if (thrown.kind === 'stopped') return 'dropped';
        if (thrown.httpStatus === 422) mismatches++;
        const isHopeless =
          thrown.kind === 'rejected' &&
          !thrown.isFromElsewhere &&
          (thrown.httpStatus !== 422 || mismatches >= maxMismatches);
        const delayMs = retryDelayMs(thrown, attempt);
        if (isHopeless || clock.monotonicMs() + delayMs > untilMs) {
          log.error(
            { runId, artifact: file.name, code: thrown.code, reason: thrown.message },
            'failed to send artifact; giving up',
          );
          return 'given-up';
        }
        log[attempt === 0 ? 'warn' : 'debug'](
          { runId, code: thrown.code, reason: thrown.message, retryMs: Math.round(delayMs) },
          'failed to send artifact; retrying',
        );
        await clock.sleep(delayMs, this.#stop.signal);
        if (this.#stop.signal.aborted) return 'dropped';
      }
    }
  }

  #drop(waiting: Waiting): void {
    for (let count = waiting.left.length; count > 0; count--) this.#options.onEnd('dropped');
    waiting.left.length = 0;
    this.#remove(waiting);
    // An upload in progress continues from its open file, and has nothing to retry.
    this.#pump();
  }

  #remove(waiting: Waiting): void {
    if (!this.#waiting.delete(attemptKey(waiting.lease))) return;
    this.#waitingBytes -= waiting.sizeBytes;
    this.removeFolder(waiting.artifacts.folder);
    this.#options.onGone(waiting.lease);
  }

  /** Removes the folder of a run in the background. */
  removeFolder(path: string): void {
    const removal = rm(path, { recursive: true, force: true }).catch((thrown: unknown) => {
      this.#options.log.warn({ reason: errorCodeOf(thrown) }, 'failed to remove artifact folder');
    });
    this.#removals.add(removal);
    void removal.then(() => this.#removals.delete(removal));
  }
}

export interface ArtifactUploaderOptions {
  readonly client: ServiceClient;
  readonly clock: Clock;
  readonly log: Logger;
  /** Size limit of all waiting artifacts on disk, in bytes. */
  readonly maxWaitingBytes: () => number;
  /** Called once for each file. */
  readonly onEnd: (end: ArtifactEnd) => void;
  /** Called when a run has no more waiting artifacts. */
  readonly onGone: (lease: LeaseRef) => void;
}

async function isThere(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isFile();
  } catch (thrown) {
    if (errorCodeOf(thrown) === 'ENOENT') return false;
    throw thrown;
  }
}
