import type { ByteRange } from '../artifact-store/artifact-store.ts';

/**
 * The one range that a `Range` header asks for (RFC 9110, 14.1.2).
 *
 * @returns undefined when the whole is to be sent: no header, another unit, several ranges or a malformed one, all of
 *   which a server may ignore; 'unsatisfiable' when the range begins behind the end.
 */
export function parseByteRange(
  header: string | undefined,
  sizeBytes: number,
): ByteRange | 'unsatisfiable' | undefined {
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/i.exec(header?.trim() ?? '');
  if (!match) return undefined;
  const [, first = '', last = ''] = match;
  if (first === '') {
    if (last === '') return undefined;
    const length = Math.min(Number(last), sizeBytes);
    return length === 0 ? 'unsatisfiable' : { first: sizeBytes - length, last: sizeBytes - 1 };
  }
  if (last !== '' && Number(last) < Number(first)) return undefined;
  if (Number(first) >= sizeBytes) return 'unsatisfiable';
  return { first: Number(first), last: last === '' ? sizeBytes - 1 : Math.min(Number(last), sizeBytes - 1) };
}
