import { type Failure, failure } from '../contract/failure.ts';
import type { Measurement } from '../contract/outcome.ts';
import type { RunLog } from '../contract/run-log.ts';
import type { DomainRegistration } from './detail.ts';
import { earlierAnswer, keepAnswer, pausedUntil, pauseServer } from './earlier-answers.ts';
import { type RdapAnswer, readRdapAnswer } from './rdap-answer.ts';
import { serverFor } from './rdap-directory.ts';
import { type Fetched, type FetchFailure, type FetchMeans, fetchJson } from './rdap-request.ts';

/** A domain, and where to ask about it. */
export interface DomainQuestion {
  readonly domain: string;
  /** Base URL of the server; null: find it in the list. */
  readonly server: URL | null;
  readonly directory: URL;
}

/** Result of a lookup: an answer, or the reason for its absence. */
export interface Looked {
  readonly url: string | null;
  readonly elapsedMs: number;
  readonly measurement: Measurement;
  readonly failure?: Failure | undefined;
  /** HTTP status of the last answer. */
  readonly status?: number | undefined;
  /** Null if the domain is not registered. */
  readonly registration?: DomainRegistration | null;
  readonly source: 'registry' | 'registrar';
  /** Set if this is an earlier answer. */
  readonly answeredMs?: number | undefined;
}

const maxAnswerBytes = 512 * 1024;
const noMeasurement: Measurement = { clock: 'event', overheadMs: 0, lagMs: 0 };
const nothing = { elapsedMs: 0, measurement: noMeasurement, source: 'registry' } as const;

/**
 * Asks the registry about a domain by RDAP (RFC 9082, RFC 9083), and the registrar if the registry has no expiry date.
 * If the server gives no answer, the one of the last 24 hours counts.
 */
export async function lookUp(
  { domain, server, directory }: DomainQuestion,
  means: Omit<FetchMeans, 'maxBodyBytes'>,
  log: RunLog,
): Promise<Looked> {
  const base = server ?? (await baseUrl(domain, directory, means));
  if (!(base instanceof URL)) return { ...nothing, ...base };
  const url = domainUrl(base, domain);
  const untilMs = pausedUntil(url);
  if (untilMs !== undefined) {
    const until = new Date(untilMs).toISOString();
    const message = `${url.host} limits the rate of requests: it is asked again from ${until}`;
    const failed = { ...nothing, url: url.href, failure: failure('RDAP_UNAVAILABLE', message) };
    return earlier(url, failed, log) ?? failed;
  }
  const fetched = await fetchJson(url, { ...means, maxBodyBytes: maxAnswerBytes });
  if ('failure' in fetched) {
    if (fetched.waitMs !== undefined || fetched.isLimited) pauseServer(url, fetched.waitMs);
    const failed = { ...fetched, source: 'registry' as const };
    return (fetched.failure.code === 'RDAP_UNAVAILABLE' && earlier(url, failed, log)) || failed;
  }
  if (fetched.status === 404) return { ...fetched, source: 'registry', registration: null };
  const answer = readRdapAnswer(fetched.document, domain);
  if (!answer) return { ...fetched, source: 'registry', failure: notAnAnswer(fetched.url, domain) };
  warnOfDates(answer, log);
  const found = await withRegistrar(domain, { fetched, answer }, means, log);
  if (found.registration?.expiresAt) {
    const { registration, source } = found;
    keepAnswer(url, { registration, source, answeredMs: Date.now() });
  }
  return found;
}

async function baseUrl(
  domain: string,
  directory: URL,
  means: Omit<FetchMeans, 'maxBodyBytes'>,
): Promise<URL | { readonly url: string | null; readonly failure: Failure }> {
  const found = await serverFor(domain, directory, means);
  if ('failure' in found) return { url: found.url, failure: found.failure };
  if (found.url) return found.url;
  const message = `${directory.href} lists no RDAP server for .${domain.split('.').at(-1)}: its registry does not offer RDAP, or does not register it there. If you know a server, set rdapServer`;
  return { url: null, failure: failure('DOMAIN_EXPIRY_UNPUBLISHED', message) };
}

/** RFC 9082 section 3.1.3. */
function domainUrl(base: URL, domain: string): URL {
  const url = new URL(base);
  url.pathname = `${url.pathname.replace(/\/?$/, '/')}domain/${domain}`;
  return url;
}

/** A thin registry leaves the date to the registrar, and links to its answer. */
async function withRegistrar(
  domain: string,
  { fetched, answer }: { readonly fetched: Exclude<Fetched, FetchFailure>; readonly answer: RdapAnswer },
  means: Omit<FetchMeans, 'maxBodyBytes'>,
  log: RunLog,
): Promise<Looked> {
  const { registration, registrarUrl } = answer;
  const own = { ...fetched, registration, source: 'registry' } as const;
  if (registration.expiresAt !== null || registrarUrl === null || registrarUrl === fetched.url) return own;
  const second = await fetchJson(new URL(registrarUrl), { ...means, maxBodyBytes: maxAnswerBytes });
  const elapsedMs = fetched.elapsedMs + second.elapsedMs;
  if ('failure' in second) {
    log.write('WARN', `The registry gives no date, and the registrar neither: ${second.failure.message}`);
    return { ...own, elapsedMs, url: second.url, failure: second.failure };
  }
  const further = readRdapAnswer(second.document, domain);
  if (further) warnOfDates(further, log);
  const expiresAt = further?.registration.expiresAt ?? null;
  if (expiresAt === null) return { ...own, elapsedMs };
  const { url, status } = second;
  return {
    ...own,
    elapsedMs,
    url,
    status,
    registration: { ...registration, expiresAt },
    source: 'registrar',
  };
}

function earlier(url: URL, failed: Looked & { readonly failure: Failure }, log: RunLog): Looked | undefined {
  const answer = earlierAnswer(url);
  if (!answer) return undefined;
  const at = new Date(answer.answeredMs).toISOString();
  log.write('WARN', `The answer is that of ${at}, because the server gives none: ${failed.failure.message}`);
  return { ...failed, ...answer, failure: undefined, status: 200 };
}

function warnOfDates({ oddDates }: RdapAnswer, log: RunLog): void {
  for (const text of oddDates) log.write('WARN', `The expiry date ${JSON.stringify(text)} cannot be read`);
}

function notAnAnswer(url: string, domain: string): Failure {
  return failure('RDAP_UNAVAILABLE', `The answer of ${url} is not RDAP about ${domain}`);
}
