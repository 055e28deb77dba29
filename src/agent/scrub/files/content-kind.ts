/** Kind of a file by its first bytes: file names and content types from scripts are not trusted. */
export type ContentKind = 'text' | 'zip' | 'gzip' | 'zstd' | 'media' | 'capture' | 'opaque';

/** Maximum number of bytes that `contentKind` reads. */
export const magicBytes = 16;

const signatures: readonly (readonly [ContentKind, readonly number[], number])[] = [
  ['zip', [0x50, 0x4b, 0x03, 0x04], 0],
  ['zip', [0x50, 0x4b, 0x05, 0x06], 0],
  ['gzip', [0x1f, 0x8b, 0x08], 0],
  ['zstd', [0x28, 0xb5, 0x2f, 0xfd], 0],
  ['media', [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a], 0], // PNG
  ['media', [0xff, 0xd8, 0xff], 0], // JPEG
  ['media', [0x47, 0x49, 0x46, 0x38], 0], // GIF
  ['media', [0x57, 0x45, 0x42, 0x50], 8], // WebP
  ['media', [0x1a, 0x45, 0xdf, 0xa3], 0], // WebM
  ['media', [0x66, 0x74, 0x79, 0x70], 4], // MP4
  ['media', [0x77, 0x4f, 0x46, 0x46], 0], // WOFF
  ['media', [0x77, 0x4f, 0x46, 0x32], 0], // WOFF2
  ['capture', [0x4d, 0x3c, 0xb2, 0xa1], 0], // pcap, nanoseconds
  ['capture', [0xd4, 0xc3, 0xb2, 0xa1], 0], // pcap
  ['capture', [0x0a, 0x0d, 0x0d, 0x0a], 0], // pcapng
];

/**
 * Formats that hide text in ways that cannot be undone here: compressed in a way that Node cannot decompress, or drawn
 * with glyphs of embedded fonts.
 */
const opaqueFormats: readonly (readonly [string, Buffer])[] = [
  ['pdf', Buffer.from('%PDF')],
  ...Array.from('123456789', (level) => ['bzip2', Buffer.from(`BZh${level}`)] as const),
  ['xz', Buffer.from('fd377a585a00', 'hex')],
  ['7z', Buffer.from('377abcaf271c', 'hex')],
  ['rar', Buffer.from('526172211a', 'hex')],
  ['lz4', Buffer.from('04224d18', 'hex')],
];

/** The name of the format if a file that begins with these bytes cannot be searched. */
export function opaqueFormat(start: Buffer): string | undefined {
  return opaqueFormats.find(([, magic]) => start.subarray(0, magic.length).equals(magic))?.[0];
}

/**
 * Determines the kind of a file by its first bytes. Unknown formats are treated as text: every byte is searched for
 * secrets.
 */
export function contentKind(start: Buffer): ContentKind {
  const found = signatures.find(([, signature, offset]) =>
    signature.every((value, index) => start[offset + index] === value),
  );
  return found?.[0] ?? (opaqueFormat(start) === undefined ? 'text' : 'opaque');
}
