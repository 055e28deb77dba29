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
 * Takes the bytes of artifacts. A row says where each is:
 *
 * AWAITED with the result that names it, and with the trouble of an artifact store that does not take it. → STORED
 * when its bytes are in the artifact store in whole; it is visible from then on. → LOST when it did not come in time. REFUSED and WITHHELD ones were never to come;
 * both are the agent's word.
 *
 * The right to send comes from the result: its id is made of run and fencing token, and only results whose
 * lease stood are stored. So a sender whose lease was lost has no row to fill, whatever it still holds.
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
   * @throws AppError CONFLICT when nobody waits for it, PAYLOAD_TOO_LARGE, DIGEST_MISMATCH,
   *   ARTIFACT_STORE_FULL, STORE_UNAVAILABLE, or MALFORMED_BODY when the sender broke off.
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
    // Another upload of the same bytes was faster; or the check was deleted, or the time was over, meanwhile.
    const now = await this.#store.artifacts.find(row.result_id, row.name);
    if (now?.state === 'stored') return { status: 'duplicate', ...receipt };
    await this.#artifactStore.remove(key);
    throw notAwaited(upload);
  }

  /** What keeps the store from taking it is for people who miss the file; what a sender does wrong is its own. */
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

/**
 * Where the bytes of an artifact are in the artifact store. By check first, because checks are deleted as a
 * whole.
 */
export function artifactKey(row: ArtifactRow): string {
  return `${row.check_id}/${row.result_id}/${row.position}`;
}

function expectedOf(row: ArtifactRow): ExpectedContent {
  // Both are there unless the state is refused or withheld, which `find` leaves out.
  return { sizeBytes: row.size_bytes ?? 0, sha256: row.sha256 ?? '' };
}

/** The headers say so before a byte is read; a sender that lies in them is found out by the bytes. */
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
