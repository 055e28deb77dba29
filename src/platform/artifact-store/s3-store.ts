import type { Readable } from 'node:stream';
import {
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  NoSuchKey,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { AppError, toError } from '@picket/lib/errors.ts';
import type { ArtifactStore, ByteRange } from './artifact-store.ts';
import { type ExpectedContent, VerifiedContent } from './verified-content.ts';

/** Each upload buffers its parts in memory until they are sent: 8 MB, two at a time. */
const partBytes = 8 * 2 ** 20;
const partsAtOnce = 2;
const connectionTimeoutMs = 5000;
const requestTimeoutMs = 60_000;

export interface S3StoreOptions {
  readonly bucket: string;
  /** Prefix of every key; empty, or without leading and trailing slashes. */
  readonly prefix: string;
  /** Endpoint of a non-Amazon service that speaks the same protocol. */
  readonly endpoint?: string | undefined;
  readonly region: string;
  /** Fixed credentials; by default those of the environment, the profile or the machine's role. */
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string } | undefined;
}

/**
 * Artifacts in a bucket, through Amazon's own client. Larger ones are sent in parts, and an object becomes visible when
 * its upload is completed, which happens only after all bytes are verified; a failed upload is aborted. Incomplete
 * uploads of a killed process are invisible but take up space: a lifecycle rule of the bucket should remove them.
 */
export class S3Store implements ArtifactStore {
  readonly description: string;
  readonly #client: S3Client;
  readonly #bucket: string;
  readonly #prefix: string;

  constructor(options: S3StoreOptions) {
    const { bucket, prefix, endpoint, region, credentials } = options;
    this.description = `bucket ${bucket}${endpoint === undefined ? '' : ` at ${endpoint}`}`;
    this.#bucket = bucket;
    this.#prefix = prefix === '' ? '' : `${prefix}/`;
    this.#client = new S3Client({
      region,
      ...(endpoint === undefined ? {} : { endpoint, forcePathStyle: true }),
      ...(credentials ? { credentials } : {}),
      // Non-Amazon servers store the framing of the newer trailing checksums as content.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      requestHandler: { connectionTimeout: connectionTimeoutMs, requestTimeout: requestTimeoutMs },
    });
  }

  async put(key: string, content: Readable, expected: ExpectedContent): Promise<void> {
    const verified = new VerifiedContent(expected);
    // Destroyed along with its source: the client would wait forever for bytes of a broken stream.
    content.once('error', (error) => verified.destroy(error));
    content.once('close', () => {
      if (!content.readableEnded) verified.destroy(new Error('the upload was interrupted'));
    });
    const failed = Promise.withResolvers<never>();
    verified.once('error', failed.reject);
    const upload = new Upload({
      client: this.#client,
      params: { Bucket: this.#bucket, Key: this.#prefix + key, Body: content.pipe(verified) },
      partSize: partBytes,
      queueSize: partsAtOnce,
    });
    const done = upload.done();
    try {
      await Promise.race([done, failed.promise]);
    } catch (thrown) {
      await upload.abort();
      // The upload has ended, whatever its outcome; no request is in flight now.
      await done.catch(() => undefined);
      content.destroy();
      // Reports the sender's errors unchanged; all other errors occurred between the service and the bucket.
      throw verified.errored ?? asStoreFault(thrown);
    } finally {
      failed.promise.catch(() => undefined);
    }
  }

  async open(key: string, range?: ByteRange): Promise<Readable | undefined> {
    try {
      const answer = await this.#client.send(
        new GetObjectCommand({
          Bucket: this.#bucket,
          Key: this.#prefix + key,
          ...(range ? { Range: `bytes=${range.first}-${range.last}` } : {}),
        }),
      );
      return answer.Body as Readable | undefined;
    } catch (thrown) {
      if (thrown instanceof NoSuchKey) return undefined;
      throw asStoreFault(thrown);
    }
  }

  async remove(key: string): Promise<void> {
    try {
      await this.#client.send(new DeleteObjectCommand({ Bucket: this.#bucket, Key: this.#prefix + key }));
    } catch (thrown) {
      throw asStoreFault(thrown);
    }
  }

  async removeFolder(folder: string): Promise<void> {
    try {
      for (;;) {
        const { Contents: objects = [], IsTruncated: hasMore = false } = await this.#client.send(
          new ListObjectsV2Command({ Bucket: this.#bucket, Prefix: `${this.#prefix}${folder}/` }),
        );
        if (objects.length > 0) {
          const { Errors: errors = [] } = await this.#client.send(
            new DeleteObjectsCommand({
              Bucket: this.#bucket,
              Delete: { Objects: objects.map(({ Key }) => ({ Key })), Quiet: true },
            }),
          );
          if (errors.length > 0)
            throw new Error(`${errors.length} objects were not removed: ${errors[0]?.Code}`);
        }
        if (!hasMore) return;
      }
    } catch (thrown) {
      throw asStoreFault(thrown);
    }
  }

  async close(): Promise<void> {
    this.#client.destroy();
  }
}

function asStoreFault(thrown: unknown): Error {
  const error = toError(thrown);
  if (error instanceof S3ServiceException && /quota|storagefull|insufficient/i.test(error.name)) {
    return new AppError('ARTIFACT_STORE_FULL', 'The artifact store is full.', { cause: error });
  }
  return new AppError('STORE_UNAVAILABLE', 'The artifact store failed to respond.', {
    cause: error,
  });
}
