import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { createGzip, gzipSync } from 'node:zlib';
import tar, { type Header } from 'tar-stream';
import { codeBundleKeyOf } from '../../../src/checks/contract/code-bundle.ts';
import { BundleMissing, type CodeBundles } from '../../../src/sandbox/suites/suite-host.ts';

/** A raw entry of an archive, valid or not. */
export type BundleEntry = Omit<Partial<Header>, 'name'> & {
  readonly name: string;
  readonly content?: string | Buffer;
};

/** Packs files by path into a tar.gz. */
export function packFiles(files: Readonly<Record<string, string | Buffer>>): Promise<Buffer> {
  return packEntries(Object.entries(files).map(([name, content]) => ({ name, content })));
}

export async function packEntries(entries: readonly BundleEntry[]): Promise<Buffer> {
  const pack = tar.pack();
  for (const { content, ...header } of entries) pack.entry(header, content ?? '');
  pack.finalize();
  return await buffer(pack.pipe(createGzip()));
}

const pieceBytes = 2 ** 24;

/** A bundle with one file of zeros: `pieces` times 16 MiB, compressed once. */
export async function packZeros(pieces: number): Promise<Buffer> {
  const pack = tar.pack();
  pack.entry({ name: 'zeros', size: pieces * pieceBytes });
  const [header] = await once(pack, 'data');
  const zeros = gzipSync(Buffer.alloc(pieceBytes));
  // A gzip file may consist of many members.
  return Buffer.concat([gzipSync(header), ...Array.from({ length: pieces }, () => zeros)]);
}

/** The agent's code bundles, in memory. */
export class MemoryBundles implements CodeBundles {
  readonly #bundles = new Map<string, Buffer>();

  /** Returns the key. */
  add(bytes: Buffer): string {
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const key = codeBundleKeyOf({ sha256, sizeBytes: bytes.length });
    this.#bundles.set(key, bytes);
    return key;
  }

  async open(key: string): Promise<Readable> {
    const bytes = this.#bundles.get(key);
    if (!bytes) throw new BundleMissing(key);
    return Readable.from([bytes]);
  }
}
