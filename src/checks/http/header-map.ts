import { textOfHeader } from '@picket/lib/wire/header-text.ts';

/** Headers as a parser returns them: names in lower case, the values of repeated ones as a list. */
type HeaderLists = Readonly<Record<string, string | readonly string[]>>;

/** Returns the first value of a header, or "". */
export function headerValue(headers: HeaderLists | undefined, name: string): string {
  const value = headers?.[name];
  return textOfHeader(typeof value === 'object' ? (value[0] ?? '') : (value ?? ''));
}

/** Returns headers as text, repeated ones joined as in RFC 9110 section 5.3. */
export function joinedHeaders(headers: HeaderLists | undefined): Record<string, string> {
  const joined: [string, string][] = [];
  for (const [name, value] of Object.entries(headers ?? {})) {
    joined.push([name, textOfHeader(typeof value === 'object' ? value.join(', ') : value)]);
  }
  return Object.fromEntries(joined);
}

/** Converts a list of alternating header names and values to a map. */
export function headerPairs(list: readonly string[]): Record<string, string> {
  const map: Record<string, string> = {};
  for (let index = 0; index + 1 < list.length; index += 2) {
    append(map, list[index] ?? '', textOfHeader(list[index + 1] ?? ''));
  }
  return map;
}

/** Returns the query of a URL as a map. */
export function queryMap(url: URL): Record<string, string> {
  if (url.search === '') return {};
  const map: Record<string, string> = {};
  for (const [name, value] of url.searchParams) append(map, name, value);
  return map;
}

function append(map: Record<string, string>, name: string, value: string): void {
  map[name] = Object.hasOwn(map, name) ? `${map[name]}, ${value}` : value;
}
