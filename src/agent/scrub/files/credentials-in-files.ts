import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { pipeline, Readable } from 'node:stream';
import { createInflateRaw } from 'node:zlib';
import { isZlibError, Unscrubbable } from '../scrub-report.ts';
import { maxSeenCredentials, seenCredentials } from '../seen-credentials.ts';
import { contentKind, magicBytes } from './content-kind.ts';

const readBytes = 1024 * 1024;
/** Files of traces and reports have lines; where one has none, that many bytes are looked at together. */
const maxHeldBytes = 16 * 1024 * 1024;
const newline = 0x0a;
/** Bodies of answers and pictures: requests with their headers are listed outside of it. */
const resourceFolder = 'resources/';

/**
 * Values of credential headers in the files of a run. Where a request succeeds, its trace alone shows the token that it
 * sent; the answer that brought the token stands there, too, without a header.
 *
 * @param signal ends the search; what was found until then is returned.
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
      // One that cannot be read is not sent either.
      if (!(thrown instanceof Unscrubbable) && !isZlibError(thrown)) throw thrown;
    }
  }
  return [...found];
}

async function* textsOf(path: string): AsyncGenerator<Buffer> {
  const kind = contentKind(await firstBytes(path));
  if (kind === 'text') yield* inLines(createReadStream(path, { highWaterMark: readBytes }));
  if (kind !== 'zip') return;
  // What reads archives is large, and most agents meet none.
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

/** Pieces that end with a line. */
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
