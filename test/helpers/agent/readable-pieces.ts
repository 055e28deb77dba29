import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync, zstdDecompressSync } from 'node:zlib';

const unpackers = [gunzipSync, zstdDecompressSync, inflateSync, brotliDecompressSync, inflateRawSync];
const maxDepth = 4;
/** Colour codes of terminals, raw and escaped in JSON. */
const colours = new RegExp(String.raw`(?:${String.fromCodePoint(0x1b)}|\\+(?:u001b|x1b))\[[\d;]*m`, 'gi');
const escapes: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' };
const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/**
 * All that a reader can decode from these bytes: the bytes themselves, without colour codes, without the escapes of
 * JSON and HTML, Base64 of 20 characters and more, compressed data, and the contents of zip archives, PDF documents and
 * text chunks of PNG images. It shares nothing with the code under test and tries everything.
 */
export function readablePieces(bytes: Buffer): string[] {
  const pieces = new Set<string>();
  addPieces(bytes, 0, pieces);
  return [...pieces];
}

function addPieces(bytes: Buffer, depth: number, pieces: Set<string>): void {
  const plain = bytes.toString('latin1');
  if (pieces.has(plain)) return;
  const withoutColours = plain.replaceAll(colours, '');
  const once = unescaped(withoutColours);
  for (const piece of [plain, withoutColours, once, unescaped(once)]) pieces.add(piece);
  if (depth === maxDepth) return;
  for (const [written] of plain.matchAll(/[A-Za-z0-9+/]{20,}={0,2}/g)) {
    addPieces(Buffer.from(written, 'base64'), depth + 1, pieces);
  }
  for (const start of startsOf(bytes)) {
    for (const inner of unpacked(bytes.subarray(start))) addPieces(inner, depth + 1, pieces);
  }
}

/** Removes the escapes of JSON and HTML; characters beyond ASCII are returned in UTF-8. */
function unescaped(text: string): string {
  return text
    .replaceAll(/\\(?:u([0-9a-f]{4})|(.))/gi, (_, code: string | undefined, character: string) =>
      code === undefined
        ? (escapes[character] ?? character)
        : Buffer.from(String.fromCharCode(Number.parseInt(code, 16))).toString('latin1'),
    )
    .replaceAll(/&(?:(amp|lt|gt|quot|apos)|#39);/g, (_, name = 'apos') => entities[name] ?? '');
}

/**
 * Offsets where compressed data may begin: at the start, after a local header of a zip, in a chunk of a PNG, in a PDF.
 */
function startsOf(bytes: Buffer): number[] {
  const starts = [0];
  const placesOf = (wanted: string | Buffer, from = 0) => {
    const places: number[] = [];
    for (let at = bytes.indexOf(wanted, from); at >= 0; at = bytes.indexOf(wanted, at + 1)) places.push(at);
    return places;
  };
  for (const at of placesOf('PK\x03\x04')) {
    if (at + 30 <= bytes.length)
      starts.push(at + 30 + bytes.readUInt16LE(at + 26) + bytes.readUInt16LE(at + 28));
  }
  for (const at of placesOf('zTXt')) starts.push(bytes.indexOf(0, at + 4) + 2);
  for (const at of placesOf(Buffer.from('1f8b08', 'hex'), 1)) starts.push(at);
  for (const at of placesOf('stream\n')) starts.push(at + 'stream\n'.length);
  return starts;
}

function unpacked(bytes: Buffer): Buffer[] {
  return unpackers.flatMap((unpack) => {
    try {
      return [unpack(bytes, { maxOutputLength: 4_000_000 })];
    } catch {
      // Not compressed in this format.
      return [];
    }
  });
}
