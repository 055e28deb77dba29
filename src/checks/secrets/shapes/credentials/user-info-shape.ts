import type { SecretRange, SecretShape } from '../shape.ts';

/** Longer than any user and password; keeps the search linear. */
const maxUserInfoBytes = 1024;

/** Characters that end user info, besides white space and control characters. */
const strangers: ReadonlySet<number> = new Set(Array.from('?#"\'<>', (stranger) => stranger.charCodeAt(0)));
const slash = 0x2f;
const backslash = 0x5c;
const colon = 0x3a;
/** `://` in a URL that is percent-encoded as a whole, as in a parameter of another one. */
const encodedStart = /%3a%2f%2f/gi;
const encodedStranger = /[\s/?#"'<>\\&;,]|%(?:2f|3f|23|22|27|3c|3e|5c|20|0a|0d)/i;

const none: readonly SecretRange[] = [];

/**
 * User and password before an `@`, the anchor because it is rarer than `://`. The last `@` before the path counts,
 * because ranges are merged.
 */
class PlainUserInfo implements SecretShape {
  readonly anchor = Buffer.from('@');
  readonly reachBackBytes = maxUserInfoBytes;
  readonly reachForwardBytes = 1;

  rangesAt(bytes: Buffer, anchorStart: number): readonly SecretRange[] {
    const earliest = Math.max(2, anchorStart - maxUserInfoBytes);
    for (let at = anchorStart - 1; at >= earliest; at -= 1) {
      const byte = bytes[at] as number;
      if (byte === slash)
        return isStart(bytes, at) && at < anchorStart - 1 ? [{ start: at + 1, end: anchorStart }] : none;
      if (byte <= 0x20 || byte === backslash || strangers.has(byte)) return none;
    }
    return none;
  }
}

/** Whether a slash is the last character of `://`, or of `:\/\/` as some JSON encoders write it. */
function isStart(bytes: Buffer, at: number): boolean {
  if (bytes[at - 1] === slash) return bytes[at - 2] === colon;
  const isEscaped = bytes[at - 1] === backslash && bytes[at - 2] === slash && bytes[at - 3] === backslash;
  return isEscaped && bytes[at - 4] === colon;
}

class EncodedUserInfo implements SecretShape {
  readonly anchor = Buffer.from('%40');
  readonly reachBackBytes = maxUserInfoBytes;
  readonly reachForwardBytes = 3;

  rangesAt(bytes: Buffer, anchorStart: number): readonly SecretRange[] {
    const before = bytes.toString('latin1', Math.max(0, anchorStart - maxUserInfoBytes), anchorStart);
    const start = [...before.matchAll(encodedStart)].at(-1);
    if (!start) return none;
    const userInfo = before.slice(start.index + start[0].length);
    if (userInfo === '' || encodedStranger.test(userInfo)) return none;
    return [{ start: anchorStart - userInfo.length, end: anchorStart }];
  }
}

/** Shapes for user and password in URLs, whatever their values. */
export function userInfoShapes(): SecretShape[] {
  return [new PlainUserInfo(), new EncodedUserInfo()];
}
