import { createReadStream, createWriteStream } from 'node:fs';
import { open, readFile, stat, writeFile } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip, createZstdCompress, createZstdDecompress } from 'node:zlib';
import { HiddenPartWatch } from '@picket/checks/secrets/packed/hidden-parts.ts';
import { ZstdFrames } from '@picket/lib/wire/zstd-frames.ts';
import {
  isZlibError,
  maxUnpackedBytes,
  type ScrubOptions,
  type ScrubReport,
  Unscrubbable,
} from '../scrub-report.ts';
import { type ContentKind, contentKind, opaqueFormat } from './content-kind.ts';
import { isText, scrubBytes } from './scrub-bytes.ts';
import { EmbeddedFiles, EmbeddedStream, type RepackZip } from './scrub-embedded.ts';
import { ScrubStream } from './scrub-stream.ts';

const readBytes = 1024 * 1024;
/** Screenshots are smaller; videos, which are searched in chunks, may be larger. */
const maxWholeBytes = 16 * 1024 * 1024;
/** Enough to distinguish text from binary data. */
const startBytes = 512;

/**
 * Writes a copy of a file without secrets, in chunks. Archives and compressed texts are decompressed and compressed
 * again. Media and captures are not changed (see docs/explanation/secrets.md); if their bytes contain a secret, they
 * are refused.
 *
 * @throws Unscrubbable if the file must not be sent; the target is then incomplete.
 */
export async function scrubFile(source: string, target: string, options: ScrubOptions): Promise<ScrubReport> {
  const start = await firstBytes(source);
  const kind = contentKind(start);
  if (kind === 'zip') {
    const { scrubZip } = await zips();
    return await scrubZip(source, target, options);
  }
  if (kind === 'opaque')
    throw new Unscrubbable(`${opaqueFormat(start)} files cannot be searched for secrets`);
  const isWhole = (await stat(source)).size <= maxWholeBytes;
  // As a whole: an image may contain compressed texts, and binary data may itself be compressed.
  if (isWhole && (kind === 'media' || (kind === 'text' && !isText(start))))
    return await scrubWhole(source, target, options);
  const report = await scrubPieces(source, target, kind, options);
  if (!report.isHiding) return report.done;
  if (isWhole) return await scrubWhole(source, target, options);
  throw new Unscrubbable('an archive stands within a file that is too large to be unpacked');
}

/** Scrubs a file in memory. */
async function scrubWhole(source: string, target: string, options: ScrubOptions): Promise<ScrubReport> {
  const embedded = await new EmbeddedFiles(options, repackZip(options)).scrub(await readFile(source));
  const { bytes, count } = scrubBytes(embedded.bytes, options);
  await writeFile(target, bytes, { mode: 0o600, flush: true, signal: options.signal });
  return { replacedCount: embedded.count + count, memberCount: 1, withheldCount: 0, withheld: [] };
}

interface PiecesReport {
  readonly done: ScrubReport;
  /** Whether the file contains a compressed part that was not searched. */
  readonly isHiding: boolean;
}

async function scrubPieces(
  source: string,
  target: string,
  kind: ContentKind,
  options: ScrubOptions,
): Promise<PiecesReport> {
  const { signal } = options;
  const scrub = new ScrubStream(options.finder, options.mask);
  const embedded = new EmbeddedStream(options, repackZip(options));
  const input = createReadStream(source, { highWaterMark: readBytes });
  const output = createWriteStream(target, { mode: 0o600, flush: true });
  const watch = new HiddenPartWatch();
  const unpack =
    kind === 'gzip'
      ? [createGunzip(), limited]
      : kind === 'zstd'
        ? [new ZstdFrames(), createZstdDecompress(), limited]
        : [];
  const pack = kind === 'gzip' ? [createGzip({ level: 1 })] : kind === 'zstd' ? [createZstdCompress()] : [];
  const search = kind === 'media' || kind === 'capture' ? [scrub] : [watch, embedded, scrub];
  // The type for a list of stages covers only streams, but it accepts functions as well.
  const stages = [input, ...unpack, ...search, ...pack, output] as unknown as NodeJS.ReadWriteStream[];
  try {
    await pipeline(stages, { signal });
  } catch (thrown) {
    if (signal?.aborted || thrown instanceof Unscrubbable || !isZlibError(thrown)) throw thrown;
    throw new Unscrubbable('the compressed file cannot be read', thrown);
  }
  if ((kind === 'media' || kind === 'capture') && scrub.replacedCount > 0) {
    throw new Unscrubbable('the bytes of a binary file contain a secret');
  }
  const replacedCount = embedded.replacedCount + scrub.replacedCount;
  return {
    done: { replacedCount, memberCount: 1, withheldCount: 0, withheld: [] },
    isHiding: watch.isHiding,
  };
}

function repackZip(options: ScrubOptions): RepackZip {
  return async (bytes) => {
    const { scrubZipBytes } = await zips();
    return await scrubZipBytes(bytes, options);
  };
}

/** The archive writer is large, and most agents never need it. */
async function zips() {
  return await import('./scrub-zip.ts');
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
    const { buffer, bytesRead } = await file.read(Buffer.alloc(startBytes), 0, startBytes, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
