import { isRecord } from '@picket/lib/json/record.ts';
import { LruMap } from '@picket/lib/lru.ts';
import { failure } from '../contract/failure.ts';
import { type FetchFailure, type FetchMeans, fetchJson } from './rdap-request.ts';

/** Base URLs of servers by top-level domain, or by a longer suffix. */
type Directory = ReadonlyMap<string, string>;

interface Kept {
  readonly directory: Directory;
  readonly fetchedMs: number;
}

/** The list of IANA changes a few times a month. */
const freshMs = 24 * 3_600_000;
/** An old list is better than none. */
const usableMs = 7 * 24 * 3_600_000;
/** The list of IANA has about 100 KB. */
const maxDirectoryBytes = 2 * 1024 * 1024;
const maxSuffixes = 20_000;

/** The lists that this thread has read, by their URLs. */
const kept = new LruMap<string, Kept>(4);

/** The base URL of the server for a domain; undefined if the list has none for it. */
export type FoundServer = { readonly url: URL | undefined } | FetchFailure;

/** Finds the server for a domain in a list of servers (RFC 9224), which is kept for a day. */
export async function serverFor(
  domain: string,
  directoryUrl: URL,
  means: Omit<FetchMeans, 'maxBodyBytes'>,
): Promise<FoundServer> {
  const key = directoryUrl.href;
  const known = kept.get(key);
  const nowMs = Date.now();
  if (known && Math.abs(nowMs - known.fetchedMs) < freshMs)
    return { url: longestMatch(known.directory, domain) };
  const fetched = await fetchJson(directoryUrl, { ...means, maxBodyBytes: maxDirectoryBytes });
  const directory = 'failure' in fetched ? undefined : directoryIn(fetched.document);
  if (directory) {
    kept.set(key, { directory, fetchedMs: nowMs });
    return { url: longestMatch(directory, domain) };
  }
  if (known && nowMs - known.fetchedMs < usableMs) return { url: longestMatch(known.directory, domain) };
  if ('failure' in fetched) return fetched;
  const message = `${fetched.url} is not a list of RDAP servers`;
  return { ...fetched, failure: failure('RDAP_UNAVAILABLE', message) };
}

/** Reads a list: entries of suffixes and URLs (RFC 9224 section 3). @returns undefined if it is not one. */
function directoryIn(document: unknown): Directory | undefined {
  if (!isRecord(document) || !Array.isArray(document['services'])) return undefined;
  const found = new Map<string, string>();
  for (const service of document['services'] as unknown[]) {
    if (!Array.isArray(service)) continue;
    const [suffixes, urls] = (service as unknown[]).map((part) =>
      Array.isArray(part) ? part.filter((one) => typeof one === 'string') : [],
    );
    // Section 4: https is to be preferred.
    const url = urls?.find((one) => /^https:/i.test(one)) ?? urls?.find((one) => /^http:/i.test(one));
    if (url === undefined) continue;
    for (const suffix of suffixes ?? []) {
      if (found.size < maxSuffixes) found.set(suffix.toLowerCase(), url);
    }
  }
  return found;
}

/** Section 4: the entry with the most labels wins. */
function longestMatch(directory: Directory, domain: string): URL | undefined {
  const labels = domain.split('.');
  for (let from = 0; from < labels.length; from += 1) {
    const url = directory.get(labels.slice(from).join('.'));
    if (url !== undefined) return URL.parse(url) ?? undefined;
  }
  return undefined;
}
