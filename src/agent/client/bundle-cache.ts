import { createHash, randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type BundleContent, codeBundleKey, readCodeBundleKey } from '@picket/checks/contract/code-bundle.ts';
import { errorCodeOf } from '@picket/lib/errors.ts';
import { agentBundleRoutes } from '@picket/protocol/agent/code-bundle.ts';
import { BundleMissing, type CodeBundles } from '@picket/sandbox/suites/suite-host.ts';
import type { ServiceConnection } from './service-connection.ts';

/** A transfer without progress for this long is aborted. */
const stallTimeoutMs = 30_000;

export interface BundleCacheOptions {
  /** Used by this agent alone. */
  readonly directory: string;
  /** Size limit of all bundles together, in bytes. The least recently used bundles are removed first. */
  readonly maxBytes: number;
  /** Fetches the bytes of a bundle; undefined if the service does not have it. */
  readonly fetch: (key: string, signal: AbortSignal) => Promise<Readable | undefined>;
}

/**
 * Code bundles of an agent: fetched when a run first needs them, cached by content. A bundle gets its final name only
 * after its bytes match its key. Concurrent runs that need the same bundle share one transfer.
 */
export class FetchedBundles implements CodeBundles {
  readonly #options: BundleCacheOptions;
  readonly #fetching = new Map<string, Promise<void>>();

  private constructor(options: BundleCacheOptions) {
    this.#options = options;
  }

  /** Opens the directory, creating it if missing, and removes partial transfers. */
  static async open(options: BundleCacheOptions): Promise<FetchedBundles> {
    const { directory } = options;
    await mkdir(directory, { recursive: true, mode: 0o700 });
    for (const name of await readdir(directory)) {
      if (!codeBundleKey.test(name)) await rm(join(directory, name), { force: true });
    }
    return new FetchedBundles(options);
  }

  async open(key: string, signal: AbortSignal): Promise<Readable> {
    const expected = readCodeBundleKey(key);
    const kept = await this.#find(key);
    if (kept) return kept;
    for (;;) {
      const others = this.#fetching.get(key);
      if (!others) break;
      // The other run's transfer may be cancelled; then this run starts its own.
      await Promise.race([others.catch(() => undefined), aborted(signal)]);
      const theirs = await this.#find(key);
      if (theirs) return theirs;
    }
    const fetching = this.#fetch(key, expected, signal);
    this.#fetching.set(key, fetching);
    try {
      await fetching;
    } finally {
      this.#fetching.delete(key);
    }
    const fetched = await this.#find(key);
    if (!fetched) throw new Error('the code bundle was removed in the meantime');
    return fetched;
  }

  async #find(key: string): Promise<Readable | undefined> {
    const path = join(this.#options.directory, key);
    try {
      const file = await open(path, 'r');
      const now = new Date();
      await utimes(path, now, now).catch(() => undefined); // only affects the order of removal
      return file.createReadStream();
    } catch (thrown) {
      if (errorCodeOf(thrown) === 'ENOENT') return undefined;
      throw thrown;
    }
  }

  async #fetch(key: string, expected: BundleContent, signal: AbortSignal): Promise<void> {
    const { directory } = this.#options;
    const content = await this.#options.fetch(key, signal);
    if (!content) throw new BundleMissing(key);
    const incoming = join(directory, `incoming-${randomUUID()}`);
    try {
      const file = createWriteStream(incoming, { flags: 'wx', mode: 0o600 });
      await pipeline(content, new ExpectedBytes(expected), file, { signal });
      await rename(incoming, join(directory, key));
    } catch (thrown) {
      await rm(incoming, { force: true });
      throw thrown;
    }
    await this.#makeRoom(key);
  }

  async #makeRoom(newest: string): Promise<void> {
    const { directory, maxBytes } = this.#options;
    const names = (await readdir(directory)).filter((name) => codeBundleKey.test(name));
    const kept = await Promise.all(
      names.map(async (name) => ({ name, ...(await stat(join(directory, name))) })),
    );
    let totalBytes = kept.reduce((sum, { size }) => sum + size, 0);
    for (const { name, size } of kept.sort((one, other) => one.mtimeMs - other.mtimeMs)) {
      if (totalBytes <= maxBytes) return;
      if (name === newest) continue;
      totalBytes -= size;
      // Current readers keep it open.
      await rm(join(directory, name), { force: true });
    }
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

/** Fetches the bytes of a code bundle as a stream; undefined if the service has no bundle with that key. */
export async function fetchBundle(
  connection: ServiceConnection,
  key: string,
  signal: AbortSignal,
): Promise<Readable | undefined> {
  const { method, path } = agentBundleRoutes.fetchCodeBundle;
  const { statusCode, body } = await connection.request({
    path: path.replace('{key}', key),
    method,
    headersTimeout: stallTimeoutMs,
    bodyTimeout: stallTimeoutMs,
    signal,
  });
  if (statusCode === 200) return body;
  await body.dump();
  if (statusCode === 404) return undefined;
  throw new Error(`the service answered ${statusCode}`);
}

/** Passes bytes through, and fails before the end of the stream unless they are the expected bytes. */
class ExpectedBytes extends Transform {
  readonly #expected: BundleContent;
  readonly #hash = createHash('sha256');
  #sizeBytes = 0;

  constructor(expected: BundleContent) {
    super();
    this.#expected = expected;
  }

  override _transform(
    chunk: Buffer,
    _encoding: BufferEncoding,
    done: (error: Error | null, chunk?: Buffer) => void,
  ) {
    this.#sizeBytes += chunk.length;
    this.#hash.update(chunk);
    const isTooLong = this.#sizeBytes > this.#expected.sizeBytes;
    done(isTooLong ? new Error('the service sent more bytes than the code bundle has') : null, chunk);
  }

  override _flush(done: (error?: Error | null) => void) {
    const isRight = this.#hash.digest('hex') === this.#expected.sha256;
    done(isRight ? null : new Error('the bytes sent by the service do not match the code bundle'));
  }
}
