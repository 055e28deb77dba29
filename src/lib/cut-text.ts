/** Stands where a part of a text is missing. Who looks for secrets knows by it that one may be there in part. */
const mark = '…';

/** The beginning of a text, marked where its end is missing; at most `maxLength` characters. */
export function beginningOf(text: string, maxLength: number): string {
  return text.length > maxLength ? `${text.slice(0, maxLength - 1)}${mark}` : text;
}

/** The end of a text, marked where its beginning is missing; at most `maxLength` characters. */
export function endingOf(text: string, maxLength: number): string {
  return text.length > maxLength ? `${mark}${text.slice(1 - maxLength)}` : text;
}
