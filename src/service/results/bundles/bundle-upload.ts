import { createHash, randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  codeBundleKeyOf,
  maxCodeBundleBytes,
  maxSnapshotBytes,
} from '@picket/checks/contract/code-bundle.ts';
import { AppError } from '@picket/lib/errors.ts';
import type { ArtifactStore } from '@picket/platform/artifact-store/artifact-store.ts';
import { receiveUpload } from '@picket/platform/artifact-store/upload.ts';
import type { CodeBundle } from '@picket/protocol/agent/code-bundle.ts';

/** Key of a bundle in the artifact store; bundles are separate per account. */
const placeOf = (accountId: string, key: string) => `bundles/${accountId}/${key}`;

/** Storage quota of an account for bundles. */
export interface BundleRoom {
  /**
   * @returns whether space was reserved: an existing bundle already has its own.
   * @throws AppError ARTIFACT_STORE_FULL if there is not enough.
   */
  take(bundle: { readonly key: string; readonly size_bytes: number }): Promise<boolean>;
  /** Releases the space of a bundle that was not stored. */
  giveBack(key: string): Promise<void>;
}

/** A bundle, or a reference picture for screenshot comparison. */
export type UploadKind = 'bundle' | 'picture';

const kinds = {
  bundle: {
    name: 'A code bundle',
    maxBytes: maxCodeBundleBytes,
    head: Buffer.from([0x1f, 0x8b]),
    problem: 'A code bundle is a tar.gz: these bytes are not gzip.',
  },
  picture: {
    name: 'A snapshot',
    maxBytes: maxSnapshotBytes,
    head: Buffer.from([0x89, 0x50, 0x4e, 0x47]),
    problem: 'A snapshot must be a PNG file.',
  },
} as const;

/** Header in which an uploader announces the checksum. */
export const checksumHeader = 'x-bundle-checksum-sha256';

/**
 * Stores a code bundle. Its key is known only once all bytes have arrived, so until then it is in a temporary file.
 * Uploading the same bytes again gives the same key.
 *
 * @throws AppError PAYLOAD_TOO_LARGE, VALIDATION_FAILED if the bytes differ from those announced,
 *   ARTIFACT_STORE_FULL, STORE_UNAVAILABLE, or MALFORMED_BODY if it is not gzip or the sender aborted.
 */
export async function storeCodeBundle(
  store: ArtifactStore,
  accountId: string,
  request: IncomingMessage,
  room: BundleRoom,
  kind: UploadKind = 'bundle',
): Promise<CodeBundle> {
  const file = join(tmpdir(), `picket-bundle-${randomUUID()}`);
  try {
    const content = new MeasuredUpload(kind);
    await receiveUpload(request, async (upload) => {
      refuseTooLarge(kind, Number(request.headers['content-length'] ?? 0));
      await pipeline(upload, content, createWriteStream(file, { flags: 'wx', mode: 0o600 }));
    });
    const measured = content.measured();
    refuseOther(request.headers[checksumHeader], measured.sha256);
    const key = codeBundleKeyOf(measured);
    const isNew = await room.take({ key, size_bytes: measured.sizeBytes });
    try {
      await store.put(placeOf(accountId, key), createReadStream(file), measured);
    } catch (thrown) {
      if (isNew) await room.giveBack(key);
      throw thrown;
    }
    return { key, contentLength: measured.sizeBytes, checksumSha256: measured.sha256 };
  } finally {
    await rm(file, { force: true });
  }
}

/** @throws AppError NOT_FOUND, STORE_UNAVAILABLE. */
export async function removeCodeBundle(store: ArtifactStore, accountId: string, key: string): Promise<void> {
  const content = await openCodeBundle(store, accountId, key);
  content.destroy();
  await store.remove(placeOf(accountId, key));
}

/** @throws AppError NOT_FOUND, STORE_UNAVAILABLE. */
export async function openCodeBundle(
  store: ArtifactStore,
  accountId: string,
  key: string,
): Promise<Readable> {
  const content = await store.open(placeOf(accountId, key));
  if (!content) throw new AppError('NOT_FOUND', `There is no code bundle ${key} in this account.`);
  return content;
}

/** Passes through the bytes of an upload up to the limit, and measures them. */
class MeasuredUpload extends Transform {
  readonly #kind: UploadKind;
  readonly #hash = createHash('sha256');
  #head = Buffer.alloc(0);
  #sizeBytes = 0;
  #sha256 = '';

  constructor(kind: UploadKind) {
    super();
    this.#kind = kind;
  }

  override _transform(
    chunk: Buffer,
    _encoding: BufferEncoding,
    done: (error: Error | null, chunk?: Buffer) => void,
  ) {
    if (this.#head.length < 4) this.#head = Buffer.concat([this.#head, chunk.subarray(0, 4)]);
    this.#sizeBytes += chunk.length;
    try {
      refuseTooLarge(this.#kind, this.#sizeBytes);
    } catch (thrown) {
      done(thrown as AppError);
      return;
    }
    this.#hash.update(chunk);
    done(null, chunk);
  }

  override _flush(done: (error?: Error | null) => void) {
    this.#sha256 = this.#hash.digest('hex');
    const { head, problem } = kinds[this.#kind];
    const isRight = this.#head.subarray(0, head.length).equals(head);
    done(isRight ? null : new AppError('MALFORMED_BODY', problem));
  }

  measured() {
    return { sha256: this.#sha256, sizeBytes: this.#sizeBytes };
  }
}

function refuseTooLarge(kind: UploadKind, sizeBytes: number): void {
  const { maxBytes, name } = kinds[kind];
  if (sizeBytes <= maxBytes) return;
  throw new AppError(
    'PAYLOAD_TOO_LARGE',
    `${name} has at most ${maxBytes} bytes (${maxBytes / 2 ** 20} MB).`,
  );
}

function refuseOther(announced: string | string[] | undefined, sha256: string): void {
  if (announced === undefined) return;
  const wanted = String(announced);
  const isSame = wanted.toLowerCase() === sha256 || wanted === Buffer.from(sha256, 'hex').toString('base64');
  if (isSame) return;
  throw new AppError(
    'VALIDATION_FAILED',
    `The SHA-256 of the bytes is ${sha256}, not ${wanted.slice(0, 100)} as "${checksumHeader}" says.`,
    { validation: { source: 'payload', keys: [checksumHeader] } },
  );
}
