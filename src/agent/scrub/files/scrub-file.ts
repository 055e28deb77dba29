import { createReadStream, createWriteStream } from 'node:fs';
import { open, readFile, stat, writeFile } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import {
  isZlibError,
  maxUnpackedBytes,
  type ScrubOptions,
  type ScrubReport,
  Unscrubbable,
} from '../scrub-report.ts';
import { contentKind, magicBytes } from './content-kind.ts';
import { scrubBytes } from './scrub-bytes.ts';
import { ScrubStream } from './scrub-stream.ts';

const readBytes = 1024 * 1024;
/** Screenshots have less; videos, which are searched piece by piece, may have more. */
const maxWholeBytes = 16 * 1024 * 1024;

/**
 * Writes a copy of a file without secrets, reading and writing it piece by piece. Archives and compressed
 * texts are unpacked and packed again. Media and captures are not changed (see docs/explanation/secrets.md);
 * one whose bytes spell a secret is refused.
 *
 * @throws Unscrubbable when the file must not be sent; the target is then incomplete.
 */
export async function scrubFile(source: string, target: string, options: ScrubOptions): Promise<ScrubReport> {
  const kind = contentKind(await firstBytes(source));
  const { signal } = options;
  if (kind === 'zip') {
    // What packs archives is large, and most agents meet none.
    const { scrubZip } = await import('./scrub-zip.ts');
    return await scrubZip(source, target, options);
  }
  if (kind === 'media' && (await stat(source)).size <= maxWholeBytes) {
    // Whole: an image may hold texts that are compressed.
    const { bytes } = scrubBytes(await readFile(source), options);
    await writeFile(target, bytes, { mode: 0o600, flush: true, signal });
    return { replacedCount: 0, memberCount: 1, withheldCount: 0 };
  }
  const scrub = new ScrubStream(options.finder, options.mask);
  const input = createReadStream(source, { highWaterMark: readBytes });
  const output = createWriteStream(target, { mode: 0o600, flush: true });
  if (kind === 'gzip') {
    try {
      await pipeline(input, createGunzip(), limited, scrub, createGzip({ level: 1 }), output, { signal });
    } catch (thrown) {
      if (signal?.aborted || thrown instanceof Unscrubbable || !isZlibError(thrown)) throw thrown;
      throw new Unscrubbable('the compressed file cannot be read', thrown);
    }
  } else {
    await pipeline(input, scrub, output, { signal });
  }
  if ((kind === 'media' || kind === 'capture') && scrub.replacedCount > 0) {
    throw new Unscrubbable('a secret stands in the bytes of a binary file');
  }
  return { replacedCount: scrub.replacedCount, memberCount: 1, withheldCount: 0 };
}

async function* limited(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of source) {
    bytes += chunk.length;
    if (bytes > maxUnpackedBytes) throw new Unscrubbable('the file is too large once it is unpacked');
    yield chunk;
  }
}

async function firstBytes(path: string): Promise<Buffer> {
  const file = await open(path, 'r');
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(magicBytes), 0, magicBytes, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
