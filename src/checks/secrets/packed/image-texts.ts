import { inflateSync } from 'node:zlib';
import { isZlibError, Unscrubbable } from '../unscrubbable.ts';

const signature = Buffer.from('89504e470d0a1a0a', 'hex');
const maxTextBytes = 16 * 1024 * 1024;
/** Returns the compressed text of each chunk type, after its leading fields. */
const compressedChunks: Readonly<Record<string, (data: Buffer) => Buffer | undefined>> = {
  zTXt: (data) => afterName(data, 1),
  iCCP: (data) => afterName(data, 1),
  iTXt: (data) => {
    const fields = afterName(data, 2);
    const isCompressed = data[data.indexOf(0) + 1] === 1;
    const language = fields?.indexOf(0) ?? -1;
    const keyword = fields?.indexOf(0, language + 1) ?? -1;
    return isCompressed && language >= 0 && keyword >= 0 ? fields?.subarray(keyword + 1) : undefined;
  },
};

/**
 * Texts that a PNG image holds in compressed form, in its chunks `zTXt`, `iTXt` and `iCCP`; empty for other formats.
 *
 * @throws Unscrubbable if one is too large after decompression.
 */
export function imageTexts(bytes: Buffer): Buffer[] {
  if (!bytes.subarray(0, signature.length).equals(signature)) return [];
  const texts: Buffer[] = [];
  for (let at = signature.length; at + 8 <= bytes.length; ) {
    const sizeBytes = bytes.readUInt32BE(at);
    const type = bytes.toString('latin1', at + 4, at + 8);
    const packed = compressedChunks[type]?.(bytes.subarray(at + 8, at + 8 + sizeBytes));
    if (packed) texts.push(unpackedText(packed));
    at += 12 + sizeBytes;
  }
  return texts;
}

/** The data after the name of a chunk and `fieldBytes` more bytes. */
function afterName(data: Buffer, fieldBytes: number): Buffer | undefined {
  const end = data.indexOf(0);
  return end < 0 ? undefined : data.subarray(end + 1 + fieldBytes);
}

function unpackedText(packed: Buffer): Buffer {
  try {
    return inflateSync(packed, { maxOutputLength: maxTextBytes });
  } catch (thrown) {
    if (thrown instanceof RangeError) throw new Unscrubbable('a text in an image is too large', thrown);
    // No image reader can decompress it either.
    if (isZlibError(thrown)) return Buffer.alloc(0);
    throw thrown;
  }
}
