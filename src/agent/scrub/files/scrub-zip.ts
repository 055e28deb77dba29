import { type FileHandle, open } from 'node:fs/promises';
import {
  maxNamedMembers,
  maxUnpackedBytes,
  type ScrubOptions,
  type ScrubReport,
  Unscrubbable,
  type WithheldMember,
} from '../scrub-report.ts';
import { heldBytes, type ReadyMember, readyMember } from './scrub-member.ts';
import { type Entry, ZipSource } from './zip-source.ts';
import { ZipWriter } from './zip-writer.ts';

const maxMembers = 50_000;
const maxDepth = 3;
/** Enough that neither the search nor the compression threads are idle. */
const maxAtOnce = 6;
/** Memory limit of the members in progress; a larger one is processed alone. */
const maxHeldBytes = 24 * 1024 * 1024;
/** Size limit of the output of a nested archive, which is kept in memory. */
const maxInnerBytes = 32 * 1024 * 1024;

/**
 * Writes a copy of an archive without secrets in its members and their names. Several members are decompressed,
 * searched and compressed at once, within a memory limit, and written in their original order; members without secrets
 * are copied in compressed form. Memory stays bounded whatever the archive.
 *
 * @throws Unscrubbable if the archive cannot be read, is encrypted, or is larger than any run's artifacts.
 */
export async function scrubZip(source: string, target: string, options: ScrubOptions): Promise<ScrubReport> {
  const opened = new AsyncDisposableStack();
  try {
    const archive = opened.use(await ZipSource.open(source));
    const output = opened.use(await open(target, 'w', 0o600));
    const totals = { memberCount: 0, unpackedBytes: 0 };
    const writer = new ZipWriter((bytes) => writeAll(output, bytes));
    const report = await repack({ archive, writer, totals, options, depth: 1 });
    await output.sync();
    return report;
  } finally {
    await opened.disposeAsync();
  }
}

/** Returns a copy of an archive in memory, such as a nested one. */
export async function scrubZipBytes(
  bytes: Buffer,
  options: ScrubOptions,
): Promise<{ readonly bytes: Buffer; readonly count: number }> {
  const totals = { memberCount: 0, unpackedBytes: 0 };
  const inner = await repackedWithin(bytes, { totals, options, depth: 1 });
  return { bytes: inner.bytes, count: inner.report.replacedCount + inner.report.withheldCount };
}

interface Repacking {
  readonly archive: ZipSource;
  readonly writer: ZipWriter;
  /** Totals of the archive and all nested archives. */
  readonly totals: { memberCount: number; unpackedBytes: number };
  readonly options: ScrubOptions;
  readonly depth: number;
}

/**
 * Processes members in archive order while there is room, and writes them in the same order: without room, the oldest
 * is awaited and written before the next one starts. If one fails, or the signal aborts, the others are aborted and
 * awaited: no work continues once the promise is settled.
 */
async function repack(repacking: Repacking): Promise<ScrubReport> {
  const { archive, writer } = repacking;
  const counts = { replacedCount: 0, memberCount: 0, withheldCount: 0 };
  const withheld: WithheldMember[] = [];
  const stop = new AbortController();
  const signals = repacking.options.signal ? [repacking.options.signal, stop.signal] : [stop.signal];
  const options = { ...repacking.options, signal: AbortSignal.any(signals) };
  const repackInner = async (bytes: Buffer, within?: string) => {
    const inner = await repackedWithin(bytes, { ...repacking, options });
    counts.memberCount += inner.report.memberCount;
    counts.withheldCount += inner.report.withheldCount;
    for (const { name, reason } of inner.report.withheld)
      withheld.push({ name: within === undefined ? name : `${within}/${name}`, reason });
    return { bytes: inner.bytes, count: inner.report.replacedCount };
  };
  const underWay: { readonly bytes: number; readonly ready: Promise<ReadyMember> }[] = [];
  let underWayBytes = 0;
  const writeOldest = async () => {
    const [oldest] = underWay;
    if (!oldest) return;
    const write = await oldest.ready;
    options.signal.throwIfAborted();
    const { replacedCount, withheldAs } = await write(writer);
    counts.replacedCount += replacedCount;
    if (withheldAs) {
      counts.withheldCount += 1;
      withheld.push(withheldAs);
    }
    underWay.shift();
    underWayBytes -= oldest.bytes;
  };
  try {
    for await (const entry of archive.entries()) {
      options.signal.throwIfAborted();
      admit(entry, repacking.totals);
      counts.memberCount += 1;
      const bytes = heldBytes(entry);
      const hasRoom = () => underWay.length < maxAtOnce && underWayBytes + bytes <= maxHeldBytes;
      while (underWay.length > 0 && !hasRoom()) await writeOldest();
      const ready = readyMember(entry, { archive, options, repackInner });
      // Its error is thrown when its turn comes, possibly much later.
      ready.catch(() => undefined);
      underWay.push({ bytes, ready });
      underWayBytes += bytes;
    }
    while (underWay.length > 0) await writeOldest();
    await writer.end();
    return { ...counts, withheld: withheld.slice(0, maxNamedMembers) };
  } finally {
    stop.abort();
    await Promise.allSettled(underWay.map(({ ready }) => ready));
  }
}

function admit(entry: Entry, totals: Repacking['totals']): void {
  if (totals.memberCount === maxMembers) throw new Unscrubbable('the archive has too many members');
  if (totals.unpackedBytes + entry.uncompressedSize > maxUnpackedBytes) {
    throw new Unscrubbable('the archive is too large once it is unpacked');
  }
  if (entry.encrypted) throw new Unscrubbable('the archive is encrypted');
  totals.memberCount += 1;
  totals.unpackedBytes += entry.uncompressedSize;
}

/** A nested archive: in memory, with a size limit. */
async function repackedWithin(
  bytes: Buffer,
  { totals, options, depth }: Pick<Repacking, 'totals' | 'options' | 'depth'>,
) {
  if (depth === maxDepth) throw new Unscrubbable('archives are nested too deeply');
  const pieces: Buffer[] = [];
  let sizeBytes = 0;
  const writer = new ZipWriter(async (piece) => {
    sizeBytes += piece.length;
    if (sizeBytes > maxInnerBytes) throw new Unscrubbable('an archive within the archive is too large');
    pieces.push(piece);
  });
  const archive = ZipSource.fromBytes(bytes);
  const report = await repack({ archive, writer, totals, options, depth: depth + 1 });
  return { report, bytes: Buffer.concat(pieces) };
}

async function writeAll(output: FileHandle, bytes: Buffer): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    const { bytesWritten } = await output.write(bytes, at, bytes.length - at);
    at += bytesWritten;
  }
}
