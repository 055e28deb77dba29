import { Transform, type TransformCallback } from 'node:stream';
import { constants, gunzipSync, inflateRawSync } from 'node:zlib';

const gzipStart = Buffer.from('1f8b08', 'hex');
const zipStart = Buffer.from('504b0304', 'hex');
const localHeaderBytes = 30;
/** The highest format version that a member may require, and the flags that no version uses. */
const maxVersion = 63;
const unusedFlags = 0xd780;
/** Enough of a stream to recognize it. */
const headBytes = 1024;
/** Enough of a part to find a text in, and a limit for decompression bombs. */
const maxUnpackedBytes = 64 * 1024 * 1024;
/** Beyond this count most apparent parts are coincidences; each costs an attempt. */
const maxParts = 10_000;
const options = { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: maxUnpackedBytes };

/**
 * Whether a compressed part inside a file contains the text: an archive appended to a self-extracting program, a stream
 * after a header. Only a file that is compressed from its start can be rewritten.
 */
export function holdsHiddenText(bytes: Buffer, isWanted: (text: Buffer) => boolean): boolean {
  let count = 0;
  for (const at of placesOf(gzipStart, bytes, 1)) {
    const text = count++ < maxParts ? unpacked(() => gunzipSync(bytes.subarray(at), options)) : undefined;
    if (text && isWanted(text)) return true;
  }
  for (const at of placesOf(zipStart, bytes, 1)) {
    const text = count++ < maxParts ? memberAt(bytes, at) : undefined;
    if (text && isWanted(text)) return true;
  }
  return false;
}

/** Passes a stream through and detects whether a compressed part may begin within it. */
export class HiddenPartWatch extends Transform {
  #isHiding = false;
  #last: Buffer = Buffer.alloc(0);

  get isHiding(): boolean {
    return this.#isHiding;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#isHiding ||=
      mayHideText(chunk) || mayHideText(Buffer.concat([this.#last, chunk.subarray(0, headBytes)]));
    this.#last = chunk.subarray(-headBytes);
    done(null, chunk);
  }
}

/** Whether a part that can be decompressed begins within these bytes; the magic bytes alone may be a coincidence. */
function mayHideText(bytes: Buffer): boolean {
  for (const at of placesOf(gzipStart, bytes, 0)) {
    const start = bytes.subarray(at, at + headBytes);
    if (unpacked(() => gunzipSync(start, options)) !== undefined) return true;
  }
  for (const at of placesOf(zipStart, bytes, 0)) {
    if (mayHideMember(bytes.subarray(at, at + headBytes))) return true;
  }
  return false;
}

/**
 * Whether an archive member begins here whose content a search of the file itself does not see. The four magic bytes
 * may be a coincidence; a valid header after them is not.
 */
function mayHideMember(start: Buffer): boolean {
  if (start.length <= localHeaderBytes) return false;
  const [version, flags, method] = [start.readUInt16LE(4), start.readUInt16LE(6), start.readUInt16LE(8)];
  const nameBytes = start.readUInt16LE(26);
  const name = start.subarray(localHeaderBytes, localHeaderBytes + nameBytes);
  const isHeader =
    (version & 0xff) <= maxVersion &&
    (flags & unusedFlags) === 0 &&
    (method < 20 || (method > 90 && method < 100)) &&
    nameBytes > 0 &&
    name.every((byte) => byte >= 0x20);
  const isEncrypted = (flags & 1) === 1;
  if (!isHeader || (method === 0 && !isEncrypted)) return false;
  const content = start.subarray(localHeaderBytes + nameBytes + start.readUInt16LE(28));
  if (method !== 8 || isEncrypted || content.length === 0) return true;
  return unpacked(() => inflateRawSync(content, options)) !== undefined;
}

/** The texts of all members of an archive, found by their local headers. */
export function zipTexts(bytes: Buffer): Buffer[] {
  return [...placesOf(zipStart, bytes, 0)].slice(0, maxParts).flatMap((at) => memberAt(bytes, at) ?? []);
}

function* placesOf(wanted: Buffer, bytes: Buffer, from: number): Generator<number> {
  for (let at = bytes.indexOf(wanted, from); at >= 0; at = bytes.indexOf(wanted, at + 1)) yield at;
}

/** Content of a deflated member; a stored one is found by the search of the file itself. */
function memberAt(bytes: Buffer, at: number): Buffer | undefined {
  if (at + localHeaderBytes > bytes.length || bytes.readUInt16LE(at + 8) !== 8) return undefined;
  const start = at + localHeaderBytes + bytes.readUInt16LE(at + 26) + bytes.readUInt16LE(at + 28);
  return unpacked(() => inflateRawSync(bytes.subarray(start), options));
}

function unpacked(unpack: () => Buffer): Buffer | undefined {
  try {
    return unpack();
  } catch {
    // Not compressed after all, or a decompression bomb, which is not searched for passwords.
    return undefined;
  }
}
