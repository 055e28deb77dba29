import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { brotliCompressSync, crc32, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { ZipFile } from 'yazl';

/** Text that compresses badly, so that the compressed data is long. */
export function noise(length: number): string {
  return Array.from({ length: Math.ceil(length / 68) }, (_, part) =>
    createHash('sha256').update(`${part}`).digest('hex').replaceAll(/.{16}/g, '$& '),
  ).join('');
}

export async function zipped(members: Readonly<Record<string, Buffer | string>>): Promise<Buffer> {
  const zip = new ZipFile();
  for (const [name, bytes] of Object.entries(members)) zip.addBuffer(Buffer.from(bytes), name);
  zip.end();
  return await buffer(zip.outputStream);
}

/** An image of one pixel with a compressed text chunk. */
export function pngWithText(text: string): Buffer {
  const chunk = (type: string, data: Buffer) => {
    const made = Buffer.concat([Buffer.alloc(4), Buffer.from(type), data, Buffer.alloc(4)]);
    made.writeUInt32BE(data.length);
    made.writeUInt32BE(crc32(made.subarray(4, -4)), made.length - 4);
    return made;
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(1, 0);
  header.writeUInt32BE(1, 4);
  header[8] = 8;
  return Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    chunk('IHDR', header),
    chunk('zTXt', Buffer.concat([Buffer.from('note\0\0'), deflateSync(text)])),
    chunk('IDAT', deflateSync(Buffer.from([0, 0]))),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

/** A document of one page with its text in a compressed stream. */
function pdfWithText(text: string): Buffer {
  const stream = deflateSync(`BT /F1 12 Tf 72 720 Td (${text}) Tj ET`);
  return Buffer.concat([
    Buffer.from(
      `%PDF-1.7\n1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n4 0 obj << /Length ${stream.length} /Filter /FlateDecode >> stream\n`,
    ),
    stream,
    Buffer.from('\nendstream endobj\ntrailer << /Root 1 0 R >>\n%%EOF\n'),
  ]);
}

/** Files that contain the secret compressed, as common tools write them. */
export async function leakyFiles(secret: string): Promise<Record<string, Buffer>> {
  const text = `${noise(100)} the token is ${secret}. ${noise(100)}`;
  const utf32 = Buffer.from(Uint32Array.from(`\ufeff${text}`, (one) => one.codePointAt(0) ?? 0).buffer);
  const archive = await zipped({ 'a.txt': text, 'b.gz': gzipSync(text) });
  return {
    'a.zip': archive,
    'a.docx': await zipped({
      '[Content_Types].xml': '<Types/>',
      'word/document.xml': `<w:t>${secret}</w:t>`,
    }),
    'a.xlsx': await zipped({
      'xl/sharedStrings.xml': `<si><t>${secret}</t></si>`,
      'xl/media/1.png': pngWithText(secret),
    }),
    'large.gz': gzipSync(`${noise(40_000)}${secret}${noise(40_000)}`),
    'a.zlib': deflateSync(text),
    'a.br': brotliCompressSync(text),
    'a.zst': zstdCompressSync(text),
    'a.png': pngWithText(text),
    'a.pdf': pdfWithText(secret),
    'in-zip.zip': await zipped({
      'a.pdf': pdfWithText(secret),
      'inner.zip': archive,
      'a.png': pngWithText(text),
    }),
    'run.sh': Buffer.concat([Buffer.from(`#!/bin/sh\n${'exit 0\n'.repeat(40)}`), archive]),
    'program.bin': Buffer.concat([Buffer.alloc(5000, '\x7fELF\0'), archive]),
    'behind.bin': Buffer.concat([Buffer.from('header\0\x01\0'), gzipSync(text)]),
    'utf16.txt': Buffer.from(`\ufeff${text}`, 'utf16le'),
    'utf32.txt': utf32,
    'utf32be.txt': Buffer.from(utf32).swap32(),
    'latin1.txt': Buffer.from(text, 'latin1'),
    'nested.json': Buffer.from(
      JSON.stringify({
        body: archive.toString('base64'),
        list: [JSON.stringify({ data: gzipSync(text).toString('base64') })],
      }),
    ),
  };
}
