/** The part of a document from a mark up to the next one. @throws without the first. */
export function partOf(body: string, begin: string, end: string): string {
  const at = body.indexOf(begin);
  if (at < 0) throw new Error(`nothing begins with ${begin}`);
  const next = body.indexOf(end, at + begin.length);
  return body.slice(at, next < 0 ? undefined : next);
}

/** The row of a table that links a name. */
export function rowOf(body: string, name: string): string {
  return body.split('</tr>').find((row) => row.includes(`>${name}</a>`)) ?? '';
}

/** Reads something with the first call, and gives all others the same. */
export function once<T>(read: () => Promise<T>): () => Promise<T> {
  let reading: Promise<T> | undefined;
  return () => {
    reading ??= read();
    return reading;
  };
}
