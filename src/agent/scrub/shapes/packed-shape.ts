import { constants, gunzipSync } from 'node:zlib';
import type { SecretRange, SecretShape } from './shape.ts';

/** More of a packed text is not unpacked; without its beginning nobody can unpack the rest. */
const maxPackedBytes = 16 * 1024;
const maxUnpackedBytes = 1024 * 1024;
/** Packed texts within packed texts. */
const maxDepth = 3;
const run = /^(?:[A-Za-z0-9+/_-]|\r?\n[ \t]{0,16}|\\+[rn/]|%0[aAdD]|%2[bBfF])*(?:=|%3[dD]){0,2}/;
const none: readonly SecretRange[] = [];

/** Text that was packed with gzip and then put into Base64: what a secret looks like there nobody can tell. */
export class PackedShape implements SecretShape {
  /** How every stream of gzip begins in Base64. */
  readonly anchor = Buffer.from('H4sI');
  readonly reachBackBytes = 0;
  readonly reachForwardBytes = maxPackedBytes;
  readonly #holdsSecret: (bytes: Buffer) => boolean;
  #depth = 0;

  constructor(holdsSecret: (bytes: Buffer) => boolean) {
    this.#holdsSecret = holdsSecret;
  }

  rangesAt(bytes: Buffer, anchorStart: number): readonly SecretRange[] {
    if (this.#depth === maxDepth) return none;
    const [written = ''] =
      run.exec(bytes.toString('latin1', anchorStart, anchorStart + maxPackedBytes)) ?? [];
    const encoded = written
      .replaceAll(/\\+[rn]|%0[aAdD]/g, '')
      .replaceAll(/%2[bB]/g, '+')
      .replaceAll(/%2[fF]/g, '/');
    const unpacked = unpackedStart(Buffer.from(encoded.replaceAll('\\', ''), 'base64'));
    if (!unpacked) return none;
    this.#depth += 1;
    try {
      return this.#holdsSecret(unpacked) ? [{ start: anchorStart, end: anchorStart + written.length }] : none;
    } finally {
      this.#depth -= 1;
    }
  }
}

/** What can be unpacked, of a stream that may have been cut; undefined when it is none. */
function unpackedStart(packed: Buffer): Buffer | undefined {
  try {
    return gunzipSync(packed, {
      finishFlush: constants.Z_SYNC_FLUSH,
      maxOutputLength: maxUnpackedBytes,
    });
  } catch {
    // Text that begins like gzip and is something else, or a bomb, in which nobody looks for a password.
    return undefined;
  }
}
