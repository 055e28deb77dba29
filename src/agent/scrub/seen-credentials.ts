import { SecretFinder } from '@picket/checks/secrets/secret-finder.ts';
import { credentialHeaderShapes } from '@picket/checks/secrets/shapes/credentials/credential-header-shape.ts';

/** Enough for the requests of one run; searching for more would slow down every text of it. */
export const maxSeenCredentials = 50;
const maxValueLength = 8192;
/** Long, without blanks, with letters and digits: not a word, language or setting of a page. */
const telling = /^(?=.*\d)(?=.*[A-Za-z])[\w.~+/=:%|!-]{16,}$/;
/** Separators between the values of one header: of cookies, of parameters, and terminal colours. */
const parts = new RegExp(String.raw`;\s*|\\*["']|\\u001b|${String.fromCodePoint(0x1b)}`);
/** The name of a scheme before a token, and that of a cookie before its value. */
const scheme = /^[A-Za-z][\w-]{0,31}\s+(?=\S+$)/;
const cookie = /^[^=;\s"]{1,256}=(?=[^=])/;

const headers = new SecretFinder([], credentialHeaderShapes());

/**
 * Values of credential headers in the data of a run, such as the token that a script got when it logged in: they are
 * secrets of this run wherever else they appear. Short values and words are not, because a cookie may have the value
 * `dark`.
 */
export function seenCredentials(texts: Iterable<string | Buffer>): string[] {
  const values = new Set<string>();
  for (const text of texts) {
    const bytes = typeof text === 'string' ? Buffer.from(text) : text;
    for (const { start, end } of headers.find(bytes)) {
      if (end - start > maxValueLength) continue;
      for (const part of bytes.toString('utf8', start, end).split(parts)) {
        const value = part.replace(scheme, '').trim();
        for (const one of [value, value.replace(cookie, '')]) if (telling.test(one)) values.add(one);
        if (values.size >= maxSeenCredentials) return [...values];
      }
    }
  }
  return [...values];
}
