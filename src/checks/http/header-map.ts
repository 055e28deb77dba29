import { textOfHeader } from '@picket/lib/wire/header-text.ts';

/** Headers as a parser gives them: names in lower case, repeated ones with their values apart. */
type HeaderLists = Readonly<Record<string, string | readonly string[]>>;

/** The first value of a header as text, or "". */
export function headerValue(headers: HeaderLists | undefined, name: string): string {
  const value = headers?.[name];
  return textOfHeader(typeof value === 'object' ? (value[0] ?? '') : (value ?? ''));
}

/** Headers as text, repeated ones as one, the way RFC 9110 section 5.3 joins them. */
export function joinedHeaders(headers: HeaderLists | undefined): Record<string, string> {
  const joined: [string, string][] = [];
  for (const [name, value] of Object.entries(headers ?? {})) {
    joined.push([name, textOfHeader(typeof value === 'object' ? value.join(', ') : value)]);
  }
  return Object.fromEntries(joined);
}

/** A list of headers, names and values in turn, as a map of texts. */
export function headerPairs(list: readonly string[]): Record<string, string> {
  const map: Record<string, string> = {};
  for (let index = 0; index + 1 < list.length; index += 2) {
    append(map, list[index] ?? '', textOfHeader(list[index + 1] ?? ''));
  }
  return map;
}

/** The query of a URL as a map. */
export function queryMap(url: URL): Record<string, string> {
  if (url.search === '') return {};
  const map: Record<string, string> = {};
  for (const [name, value] of url.searchParams) append(map, name, value);
  return map;
}

function append(map: Record<string, string>, name: string, value: string): void {
  map[name] = Object.hasOwn(map, name) ? `${map[name]}, ${value}` : value;
}
