import type { IncomingMessage } from 'node:http';
import type { Clock } from '@picket/lib/clock.ts';
import { AppError, isStoreFailure, toError } from '@picket/lib/errors.ts';
import type { ArtifactStore } from '@picket/platform/artifact-store/artifact-store.ts';
import { linger, receiveUpload } from '@picket/platform/artifact-store/upload.ts';
import { ContentMismatch, type ExpectedContent } from '@picket/platform/artifact-store/verified-content.ts';
import type { LocationCaller } from '@picket/platform/ids/callers.ts';
import type { Store } from '@picket/platform/store/store.ts';
import { type ArtifactReceipt, maxArtifactBytes } from '@picket/protocol/results/artifact.ts';
import { resultIdOf } from '../../runs/lease-store.ts';
import type { ArtifactRow } from '../tables.ts';

export interface ArtifactUpload {
  readonly runId: string;
  readonly leaseNumber: number;
  readonly name: string;
}

/**
 * Receives the bytes of artifacts. The row holds the state of each:
 *
 * AWAITED from when a result names it, also while the artifact store fails to accept it. → STORED once its bytes are
 * completely in the artifact store; it is visible from then on. → LOST if it did not arrive in time. REFUSED and
 * WITHHELD artifacts were never going to arrive; the agent reports both states.
 *
 * The permission to send derives from the result: its id is made of run and fencing token, and results are stored only
 * under a valid lease. A sender that lost its lease therefore has no row to fill, whatever it still holds.
 */
export class ArtifactIntake {
  readonly #store: Store;
  readonly #artifactStore: ArtifactStore;
  readonly #clock: Clock;

  constructor(options: {
    readonly store: Store;
    readonly artifactStore: ArtifactStore;
    readonly clock: Clock;
  }) {
    this.#store = options.store;
    this.#artifactStore = options.artifactStore;
    this.#clock = options.clock;
  }

  /**
   * @throws AppError CONFLICT if it is not awaited, PAYLOAD_TOO_LARGE, DIGEST_MISMATCH,
   *   ARTIFACT_STORE_FULL, STORE_UNAVAILABLE, or MALFORMED_BODY if the sender aborted.
   */
  async take(
    location: LocationCaller,
    upload: ArtifactUpload,
    request: IncomingMessage,
  ): Promise<ArtifactReceipt> {
    try {
      return await this.#take(location, upload, request);
    } finally {
      linger(request);
    }
  }

  async #take(
    location: LocationCaller,
    upload: ArtifactUpload,
    request: IncomingMessage,
  ): Promise<ArtifactReceipt> {
    refuseTooLarge(request.headers['content-length']);
    const row = await this.#store.artifacts.find(
      resultIdOf(upload.runId.toLowerCase(), upload.leaseNumber),
      upload.name,
    );
    if (row?.location_id !== location.id) throw notAwaited(upload);
    const expected = expectedOf(row);
    const receipt = { sizeBytes: expected.sizeBytes, sha256: expected.sha256 };
    if (row.state === 'stored') return { status: 'duplicate', ...receipt };
    if (row.state !== 'awaited') throw notAwaited(upload);
    refuseOther(request, expected);
    const key = artifactKey(row);
    await this.#put(key, request, expected).catch(async (thrown: unknown) => {
      await this.#recordTrouble(row, toError(thrown));
      throw thrown;
    });
    const isFirst = await this.#store.artifacts.markStored(row.result_id, row.position, this.#clock.wallMs());
    if (isFirst) return { status: 'stored', ...receipt };
    // Another upload of the same bytes was faster, or meanwhile the check was deleted or the time ran out.
    const now = await this.#store.artifacts.find(row.result_id, row.name);
    if (now?.state === 'stored') return { status: 'duplicate', ...receipt };
    await this.#artifactStore.remove(key);
    throw notAwaited(upload);
  }

  /** Records failures of the store for users who miss the file; errors of a sender concern only the sender. */
  async #recordTrouble(row: ArtifactRow, error: Error): Promise<void> {
    const isOfStore =
      error instanceof AppError && (error.code === 'ARTIFACT_STORE_FULL' || isStoreFailure(error));
    if (isOfStore && row.trouble !== error.message)
      await this.#store.artifacts.recordTrouble(row, error.message);
  }

  async #put(key: string, request: IncomingMessage, expected: ExpectedContent): Promise<void> {
    try {
      await receiveUpload(request, (content) => this.#artifactStore.put(key, content, expected));
    } catch (thrown) {
      throw thrown instanceof ContentMismatch ? mismatch(thrown) : thrown;
    }
  }
}

/** Key of an artifact in the artifact store. It starts with the check, because checks are deleted as a whole. */
export function artifactKey(row: ArtifactRow): string {
  return `${row.check_id}/${row.result_id}/${row.position}`;
}

function expectedOf(row: ArtifactRow): ExpectedContent {
  // Both are set unless the state is refused or withheld, which `find` excludes.
  return { sizeBytes: row.size_bytes ?? 0, sha256: row.sha256 ?? '' };
}

/** Checks the headers before any byte is read; if they lie, the size of the body itself is checked later. */
function refuseTooLarge(contentLength: string | undefined): void {
  if (Number(contentLength ?? 0) > maxArtifactBytes) throw tooLarge(`${contentLength} bytes`);
}

function refuseOther(request: IncomingMessage, expected: ExpectedContent): void {
  const { 'content-length': length, 'content-digest': digest } = request.headers;
  if (length !== undefined && Number(length) !== expected.sizeBytes) {
    throw mismatch({ message: `${length} bytes are to come, not the ${expected.sizeBytes} announced` });
  }
  const sha256 = Buffer.from(expected.sha256, 'hex').toString('base64');
  if (digest !== undefined && !String(digest).includes(`sha-256=:${sha256}:`)) {
    throw mismatch({ message: 'the Content-Digest is not that of the result' });
  }
}

function mismatch(problem: { readonly message: string; readonly receivedBytes?: number }): AppError {
  if ((problem.receivedBytes ?? 0) > maxArtifactBytes) throw tooLarge('more');
  return new AppError(
    'DIGEST_MISMATCH',
    `The bytes are not those of the artifact that the result names: ${problem.message}.`,
  );
}

function tooLarge(size: string): AppError {
  return new AppError(
    'PAYLOAD_TOO_LARGE',
    `An artifact has at most ${maxArtifactBytes} bytes (150 MB), not ${size}.`,
  );
}

function notAwaited({ name, leaseNumber }: ArtifactUpload): AppError {
  return new AppError(
    'CONFLICT',
    `No stored result of lease ${leaseNumber} of this run waits for an artifact "${name}".`,
  );
}
