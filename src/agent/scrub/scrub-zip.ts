import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { finished, pipeline } from 'node:stream/promises';
import { type Entry, fromBufferPromise, openPromise, type ZipFile as ZipReader } from 'yauzl';
import { ZipFile as ZipWriter } from 'yazl';
import { toError } from '../../lib/errors.ts';
import { contentKind } from './content-kind.ts';
import { scrubBytes } from './scrub-bytes.ts';
import { maxUnpackedBytes, type ScrubOptions, type ScrubReport, Unscrubbable } from './scrub-report.ts';
import { ScrubStream } from './scrub-stream.ts';

const maxMembers = 50_000;
const maxDepth = 3;
/** Smaller members are handled as a whole, larger ones piece by piece. */
const maxWholeBytes = 16 * 1024 * 1024;
/** Quick: what packs harder saves little on texts and costs every run. */
const compressionLevel = 1;

/**
 * Writes a copy of an archive in which no member, and no name of one, holds a secret. Members are read and written one after
 * the other, one ahead, so memory stays bounded whatever the size of the archive.
 *
 * @throws Unscrubbable when the archive cannot be read, is encrypted, or holds more than any run leaves behind.
 */
export async function scrubZip(source: string, target: string, options: ScrubOptions): Promise<ScrubReport> {
  const archive = await opened(() => openPromise(source, readerOptions));
  const output = createWriteStream(target, { mode: 0o600, flush: true });
  const { zip, report } = repack(archive, options, 1);
  const written = pipeline(zip.outputStream, output, { signal: options.signal });
  // Both are waited for; that one of them fails first is no fault.
  const [result] = await Promise.all([report, written]);
  return result;
}

const readerOptions = { lazyEntries: true, autoClose: true, strictFileNames: false } as const;

async function opened(open: () => Promise<ZipReader>): Promise<ZipReader> {
  try {
    return await open();
  } catch (thrown) {
    throw new Unscrubbable(`the archive cannot be read: ${toError(thrown).message}`, thrown);
  }
}

function repack(archive: ZipReader, options: ScrubOptions, depth: number) {
  const zip = new ZipWriter();
  const report = copyMembers(archive, zip, options, depth).catch((thrown: unknown) => {
    const error = toError(thrown);
    (zip.outputStream as Readable).destroy(error);
    throw error;
  });
  return { zip, report };
}

async function copyMembers(
  archive: ZipReader,
  zip: ZipWriter,
  options: ScrubOptions,
  depth: number,
): Promise<ScrubReport> {
  const counts = { replacedCount: 0, memberCount: 0, withheldCount: 0 };
  let unpackedBytes = 0;
  const copying = { zip, options, depth, counts };
  let last: { readonly entry: Entry; readonly content: Promise<Readable | Buffer> } | undefined;
  const copyLast = async () => {
    if (last) await copyMember(last.entry, await last.content, copying);
  };
  try {
    for await (const entry of archive.eachEntry()) {
      options.signal?.throwIfAborted();
      unpackedBytes += entry.uncompressedSize;
      if (++counts.memberCount > maxMembers) throw new Unscrubbable('the archive has too many members');
      if (unpackedBytes > maxUnpackedBytes)
        throw new Unscrubbable('the archive is too large once it is unpacked');
      if (entry.isEncrypted()) throw new Unscrubbable('the archive is encrypted');
      // Unpacked on another core while the one before is searched and packed.
      const content = readMember(archive, entry);
      content.catch(() => undefined);
      await copyLast();
      last = { entry, content };
    }
    await copyLast();
  } catch (thrown) {
    if (thrown instanceof Unscrubbable || options.signal?.aborted) throw thrown;
    throw new Unscrubbable(`the archive cannot be read: ${toError(thrown).message}`, thrown);
  }
  zip.end();
  return counts;
}

interface Copying {
  readonly zip: ZipWriter;
  readonly options: ScrubOptions;
  readonly depth: number;
  readonly counts: { replacedCount: number; memberCount: number; withheldCount: number };
}

/** A member's content: whole, or as a stream where it is large. */
async function readMember(archive: ZipReader, entry: Entry): Promise<Readable | Buffer> {
  if (entry.fileName.endsWith('/')) return Buffer.alloc(0);
  const input = await archive.openReadStreamPromise(entry);
  return entry.uncompressedSize > maxWholeBytes ? input : await buffer(input);
}

async function copyMember(entry: Entry, content: Readable | Buffer, copying: Copying): Promise<void> {
  const { zip, options, counts } = copying;
  const name = scrubBytes(Buffer.from(entry.fileName), options);
  counts.replacedCount += name.count;
  const path = name.bytes.toString();
  const mtime = entry.getLastModDate();
  if (entry.fileName.endsWith('/')) {
    zip.addEmptyDirectory(path, { mtime });
    return;
  }
  if (!Buffer.isBuffer(content)) {
    const scrub = new ScrubStream(options.finder, options.mask);
    zip.addReadStream(scrub, path, { mtime, compressionLevel });
    await Promise.all([pipeline(content, scrub, { signal: options.signal }), finished(scrub)]);
    counts.replacedCount += scrub.replacedCount;
    return;
  }
  const clean = await scrubMember(content, copying);
  if (!clean) {
    counts.withheldCount += 1;
    return;
  }
  const output = Readable.from([clean]);
  const compress = contentKind(clean) === 'text';
  zip.addReadStream(output, path, { mtime, compress, ...(compress && { compressionLevel }) });
  await finished(output);
}

/** undefined when the member holds a secret that cannot be removed, or cannot be read. */
async function scrubMember(bytes: Buffer, { options, depth, counts }: Copying): Promise<Buffer | undefined> {
  try {
    if (contentKind(bytes) !== 'zip') {
      const clean = scrubBytes(bytes, options);
      counts.replacedCount += clean.count;
      return clean.bytes;
    }
    if (depth === maxDepth) throw new Unscrubbable('archives are packed into one another too deep');
    const inner = repack(await opened(() => fromBufferPromise(bytes, readerOptions)), options, depth + 1);
    const [report, packed] = await Promise.all([inner.report, buffer(inner.zip.outputStream)]);
    counts.replacedCount += report.replacedCount;
    counts.memberCount += report.memberCount;
    counts.withheldCount += report.withheldCount;
    return packed;
  } catch (thrown) {
    if (!(thrown instanceof Unscrubbable)) throw thrown;
    return undefined;
  }
}
