import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync, zstdDecompressSync } from 'node:zlib';

const unpackers = [gunzipSync, zstdDecompressSync, inflateSync, brotliDecompressSync, inflateRawSync];
const maxDepth = 4;
/** Colour codes of terminals, as they are and as JSON escapes them. */
const colours = new RegExp(String.raw`(?:${String.fromCodePoint(0x1b)}|\\+(?:u001b|x1b))\[[\d;]*m`, 'gi');

/**
 * All that somebody can read who has these bytes: as they are, without colour codes, without the escapes of JSON, out of
 * Base64 of 20 characters and more, unpacked, and what zip archives and texts of PNG images hold. It knows nothing of the code
 * under test, and tries everything.
 */
export function readablePieces(bytes: Buffer, depth = 0): string[] {
  const plain = bytes.toString('latin1');
  const pieces = [plain, plain.replaceAll(colours, '')];
  if (depth === maxDepth) return pieces;
  for (const [written] of plain.matchAll(/[A-Za-z0-9+/]{20,}={0,2}/g)) {
    pieces.push(...readablePieces(Buffer.from(written, 'base64'), depth + 1));
  }
  for (const start of startsOf(bytes)) {
    for (const inner of unpacked(bytes.subarray(start))) pieces.push(...readablePieces(inner, depth + 1));
  }
  return pieces;
}

/** Where something packed may begin: at the start, behind a header of a zip's member, in a chunk of a PNG. */
function startsOf(bytes: Buffer): number[] {
  const starts = [0];
  for (let at = bytes.indexOf('PK\x03\x04'); at >= 0; at = bytes.indexOf('PK\x03\x04', at + 1)) {
    if (at + 30 <= bytes.length)
      starts.push(at + 30 + bytes.readUInt16LE(at + 26) + bytes.readUInt16LE(at + 28));
  }
  for (let at = bytes.indexOf('zTXt'); at >= 0; at = bytes.indexOf('zTXt', at + 1)) {
    starts.push(bytes.indexOf(0, at + 4) + 2);
  }
  for (let at = bytes.indexOf('1f8b08', 1, 'hex'); at >= 0; at = bytes.indexOf('1f8b08', at + 1, 'hex'))
    starts.push(at);
  return starts;
}

function unpacked(bytes: Buffer): Buffer[] {
  return unpackers.flatMap((unpack) => {
    try {
      return [unpack(bytes, { maxOutputLength: 4_000_000 })];
    } catch {
      // It is not packed that way.
      return [];
    }
  });
}
