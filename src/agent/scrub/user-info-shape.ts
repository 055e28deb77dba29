import type { SecretRange, SecretShape } from './shape.ts';

/** Longer than any user and password; keeps the search linear. */
const maxUserInfoBytes = 1024;

/** Where the part of a URL ends in which a user may stand, beside white space and control characters. */
const plainEnds: ReadonlySet<number> = new Set(Array.from('/?#"\'<>\\', (end) => end.charCodeAt(0)));
/** The same in a URL that is percent-encoded as a whole, as in a parameter of another one. */
const encodedEnd = /[\s/?#"'<>\\&;,]|%(?:2f|3f|23|22|27|3c|3e|5c|20|0a|0d)/i;
const encodedSign = '%40';
const sign = 0x40;

/** Finds user and password of URLs in files. The last `@` before the path ends them: a password may hold others. */
class UserInfoShape implements SecretShape {
  readonly anchor: Buffer;
  readonly reachBackBytes = 0;
  readonly reachForwardBytes = maxUserInfoBytes;

  constructor(anchor: string) {
    this.anchor = Buffer.from(anchor);
  }

  rangesAt(bytes: Buffer, anchorStart: number): readonly SecretRange[] {
    const start = anchorStart + this.anchor.length;
    const limit = Math.min(bytes.length, anchorStart + maxUserInfoBytes);
    const end = this.anchor[0] === 0x25 ? encodedSignAt(bytes, start, limit) : signAt(bytes, start, limit);
    return end > start ? [{ start, end }] : [];
  }
}

/** Bytes and not a regular expression: every URL of every artifact is looked at. */
function signAt(bytes: Buffer, start: number, limit: number): number {
  let last = -1;
  for (let at = start; at < limit; at += 1) {
    const byte = bytes[at] as number;
    if (byte === sign) last = at;
    else if (byte <= 0x20 || plainEnds.has(byte)) break;
  }
  return last;
}

function encodedSignAt(bytes: Buffer, start: number, limit: number): number {
  const [authority = ''] = bytes.toString('latin1', start, limit).split(encodedEnd, 1);
  const last = authority.lastIndexOf(encodedSign);
  return last < 0 ? -1 : start + last;
}

/** Shapes for user and password in URLs, whatever they are. */
export function userInfoShapes(): SecretShape[] {
  return ['://', String.raw`:\/\/`, '%3A%2F%2F', '%3a%2f%2f'].map((anchor) => new UserInfoShape(anchor));
}
