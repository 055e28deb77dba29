import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { lstat, mkdtemp, readdir, readlink, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { codeBundleKeyOf, maxCodeBundleBytes } from '@picket/checks/contract/code-bundle.ts';
import { AppError, toError } from '@picket/lib/errors.ts';
import tar, { type Pack } from 'tar-stream';

/** The archive of a suite on disk, with the key of its content. */
export interface LocalBundle {
  readonly key: string;
  readonly path: string;
}

/** Folders that every run creates, or that are not code. */
const leftOut: ReadonlySet<string> = new Set(['node_modules', '.git', 'test-results', 'playwright-report']);

/**
 * Returns the archive of a suite: a tar.gz unchanged, or a folder, which is packed without installed packages and
 * reports.
 *
 * @throws AppError CHECK_FILE_INVALID if the path contains nothing to run, or too much.
 */
export async function openLocalBundle(
  source: string,
): Promise<LocalBundle & { readonly remove: () => Promise<void> }> {
  const found = await stat(source).catch((thrown: unknown) => {
    throw new AppError('CHECK_FILE_INVALID', `codeBundlePath: ${toError(thrown).message}`);
  });
  if (!found.isDirectory()) return { ...(await measured(source)), remove: async () => undefined };
  const folder = await mkdtemp(join(tmpdir(), 'picket-suite-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    const path = join(folder, 'suite.tar.gz');
    const pack = tar.pack();
    const written = pipeline(pack, createGzip({ level: 1 }), createWriteStream(path, { mode: 0o600 }));
    await Promise.all([written, addFolder(pack, source, '').then(() => pack.finalize())]);
    return { ...(await measured(path)), remove };
  } catch (thrown) {
    await remove();
    throw thrown;
  }
}

async function addFolder(pack: Pack, source: string, below: string): Promise<void> {
  for (const name of (await readdir(join(source, below))).sort()) {
    if (leftOut.has(name)) continue;
    const path = join(below, name);
    const found = await lstat(join(source, path));
    if (found.isDirectory()) await addFolder(pack, source, path);
    else if (found.isSymbolicLink()) {
      pack.entry({ name: path, type: 'symlink', linkname: await readlink(join(source, path)) });
    } else if (found.isFile()) {
      const mode = found.mode & 0o111 ? 0o755 : 0o644;
      await addFile(pack, join(source, path), { name: path, size: found.size, mode });
    }
  }
}

async function addFile(
  pack: Pack,
  path: string,
  header: { readonly name: string; readonly size: number; readonly mode: number },
): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const entry = pack.entry(header, (error) => (error ? reject(error) : resolve()));
    createReadStream(path).on('error', reject).pipe(entry);
  });
}

async function measured(path: string): Promise<LocalBundle> {
  const hash = createHash('sha256');
  let sizeBytes = 0;
  const count = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      sizeBytes += chunk.length;
      done(null, chunk);
    },
  });
  await pipeline(createReadStream(path), count, hash);
  if (sizeBytes > maxCodeBundleBytes) {
    throw new AppError(
      'CHECK_FILE_INVALID',
      `codeBundlePath: the limit of a packed suite is 150 MB; it has ${sizeBytes} bytes`,
    );
  }
  return { key: codeBundleKeyOf({ sha256: hash.digest('hex'), sizeBytes }), path };
}
