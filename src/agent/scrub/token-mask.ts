import { mask } from '@picket/checks/judging/credential-headers.ts';

/** Pieces of a line between blanks, quotes, brackets and separators of lists. */
const pieces = /[^\s"'`,;()[\]{}<>]{16,}/g;
/** Long, with letters and digits: at least what `seenCredentials` takes for a credential. */
const token = /^(?=.*\d)(?=.*[A-Za-z]).{16,}$/;
const dateOrTime = /^\d{4}-\d\d-\d\d(?:T[\d:.]+(?:Z|[+-]\d\d:?\d\d)?)?[.:]?$/;
/** An address or a path of a file: its host, its path, and the rest. */
const address = /^([a-z][a-z0-9+.-]{0,31}:\/\/[^/?#]*|\.{0,2}(?=\/))([^?#]*)(.*)$/is;
const named = /^([A-Za-z][\w.-]{0,63}[=:])(.+)$/s;

/**
 * Masks possible tokens: any long mixture of letters and digits except dates, and the hosts and ordinary parts of
 * addresses.
 *
 * Only at the end of a run does the scrubber know all of its credentials: those in its trace, and values that a script
 * prints before it declares them secret. Until then, each of these may be one.
 */
export function withoutTokens(line: string): string {
  return line.replaceAll(pieces, withoutToken);
}

function withoutToken(piece: string): string {
  if (!token.test(piece) || dateOrTime.test(piece)) return piece;
  const [, origin, path = '', rest = ''] = address.exec(piece) ?? [];
  if (origin !== undefined) {
    const values = rest.replaceAll(/[^?&#=]+/g, (value) => (token.test(value) ? mask : value));
    return origin + path.replaceAll(/[^/]+/g, (part) => (token.test(part) ? mask : part)) + values;
  }
  const [, name = '', value = ''] = named.exec(piece) ?? [];
  const isOrdinary = dateOrTime.test(value) || address.test(value);
  return isOrdinary ? name + withoutToken(value) : mask;
}
