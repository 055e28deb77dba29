import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { pipeline, Readable } from 'node:stream';
import { createInflateRaw } from 'node:zlib';
import { isZlibError, Unscrubbable } from '../scrub-report.ts';
import { maxSeenCredentials, seenCredentials } from '../seen-credentials.ts';
import { contentKind, magicBytes } from './content-kind.ts';

const readBytes = 1024 * 1024;
/** Files of traces and reports consist of lines; without line breaks, this many bytes are searched at once. */
const maxHeldBytes = 16 * 1024 * 1024;
const newline = 0x0a;
/** Response bodies and images: requests with their headers are listed outside of it. */
const resourceFolder = 'resources/';

/**
 * Finds values of credential headers in the files of a run. If a request succeeds, only its trace shows the token that
 * it sent; the response that delivered the token is there as well, without a header.
 *
 * @param signal ends the search; the credentials found so far are returned.
 */
export async function credentialsInFiles(paths: readonly string[], signal: AbortSignal): Promise<string[]> {
  const found = new Set<string>();
  for (const path of paths) {
    try {
      for await (const text of textsOf(path)) {
        for (const value of seenCredentials([text])) found.add(value);
        if (found.size >= maxSeenCredentials || signal.aborted) return [...found];
      }
    } catch (thrown) {
      // An unreadable file is not sent either.
      if (!(thrown instanceof Unscrubbable) && !isZlibError(thrown)) throw thrown;
    }
  }
  return [...found];
}

async function* textsOf(path: string): AsyncGenerator<Buffer> {
  const kind = contentKind(await firstBytes(path));
  if (kind === 'text') yield* inLines(createReadStream(path, { highWaterMark: readBytes }));
  if (kind !== 'zip') return;
  // The archive reader is large, and most agents never need it.
  const { ZipSource } = await import('./zip-source.ts');
  const archive = await ZipSource.open(path);
  try {
    for await (const entry of archive.entries()) {
      const { filename, compressionMethod, encrypted } = entry;
      if (filename.startsWith(resourceFolder) || filename.endsWith('/') || encrypted) continue;
      const packed = archive.packedPieces(entry);
      if (compressionMethod === 0) yield* inLines(packed);
      if (compressionMethod === 8) yield* inLines(inflatedPieces(packed));
    }
  } finally {
    await archive[Symbol.asyncDispose]();
  }
}

function inflatedPieces(packed: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  // The last stream passes on the errors of both.
  return pipeline(Readable.from(packed), createInflateRaw({ chunkSize: readBytes }), () => undefined);
}

/** Splits a stream into chunks that end at a line break. */
async function* inLines(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let held: Buffer[] = [];
  let heldBytes = 0;
  for await (const piece of pieces) {
    const end = piece.lastIndexOf(newline) + 1;
    if (end === 0 && heldBytes + piece.length < maxHeldBytes) {
      held.push(piece);
      heldBytes += piece.length;
      continue;
    }
    const last = end === 0 ? piece.length : end;
    yield Buffer.concat([...held, piece.subarray(0, last)]);
    held = [piece.subarray(last)];
    heldBytes = piece.length - last;
  }
  yield Buffer.concat(held);
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
