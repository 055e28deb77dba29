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

/** Few at a time: results, renewals and claims share the line with them. */
const maxConcurrent = 2;
/** Bytes may be spoiled on the way once; spoiled again and again they are not those of the result. */
const maxMismatches = 3;

/**
 * What became of an artifact: `stored`; `given-up` after errors; `dropped` to make room or because the agent
 * stops.
 */
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
 * Sends artifacts from the disk, concurrently with everything else.
 *
 * HELD with the report of their run, which is on its way. → RELEASED when the service has stored the result:
 * their files are sent, two at a time over all runs. A file whose upload breaks is sent again from its start,
 * after a back-off, until the service has it whole, says that it waits no longer, or the hour is over for which it waits. →
 * gone, with their folder, when no file is left, or by `discard`, or when the room for all is used up and
 * they are the oldest.
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

  /** Files that wait or are being sent, of held runs too. */
  get count(): number {
    return [...this.#waiting.values()].reduce((sum, { left, sending }) => sum + left.length + sending, 0);
  }

  get sizeBytes(): number {
    return this.#waitingBytes;
  }

  /** Takes the artifacts of a finished run into care. */
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

  /** Drops the oldest artifacts while there are more than may wait. */
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

  /** Whether artifacts of that run wait. */
  has(lease: LeaseRef): boolean {
    return this.#waiting.has(attemptKey(lease));
  }

  /** The result is stored: its artifacts may be sent. */
  release(lease: LeaseRef): void {
    const waiting = this.#waiting.get(attemptKey(lease));
    if (!waiting) return;
    waiting.isReleased = true;
    this.#pump();
  }

  /** The result did not count: nobody wants its artifacts. */
  discard(lease: LeaseRef): void {
    const waiting = this.#waiting.get(attemptKey(lease));
    if (waiting) this.#drop(waiting);
  }

  /** Resolves when nothing waits that may be sent, or when the uploader is stopped. */
  async emptied(): Promise<void> {
    if (this.#isEmpty || this.#stop.signal.aborted) return;
    this.#idle ??= Promise.withResolvers();
    await this.#idle.promise;
  }

  /** Ends uploads under way. What is left stays in the spool, with its result. */
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
    // An upload under way reads on from the file it has open, and finds nothing to repeat.
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
  /** What may wait on the disk, of all runs together. */
  readonly maxWaitingBytes: () => number;
  /** Called once for each file. */
  readonly onEnd: (end: ArtifactEnd) => void;
  /** Called when nothing waits any more of a run. */
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
