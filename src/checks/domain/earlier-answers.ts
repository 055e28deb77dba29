import { LruMap } from '@picket/lib/lru.ts';
import type { DomainRegistration } from './detail.ts';

/** An answer that a server gave before. */
export interface EarlierAnswer {
  readonly registration: DomainRegistration;
  readonly source: 'registry' | 'registrar';
  readonly answeredMs: number;
}

const usableMs = 24 * 3_600_000;
/** Pause after a refusal that does not say how long to wait. */
const usualPauseMs = 60_000;

/** The last answer about each domain, by the URL that was asked. */
const answers = new LruMap<string, EarlierAnswer>(1000);
/** Until when each server wants no requests, in epoch milliseconds. */
const pauses = new LruMap<string, number>(200);

/** Keeps an answer of a server for the times when it gives none. */
export function keepAnswer(url: URL, answer: EarlierAnswer): void {
  answers.set(url.href, answer);
}

/** The answer of the last 24 hours; undefined if this thread knows none. */
export function earlierAnswer(url: URL): EarlierAnswer | undefined {
  const answer = answers.get(url.href);
  return answer && Date.now() - answer.answeredMs < usableMs ? answer : undefined;
}

/** Asks nothing of a server that limits requests, as long as it says (RFC 9110 section 10.2.3). */
export function pauseServer(url: URL, waitMs: number | undefined): void {
  pauses.set(url.origin, Date.now() + (waitMs ?? usualPauseMs));
}

/** When the server accepts requests again, in epoch milliseconds; undefined if it does now. */
export function pausedUntil(url: URL): number | undefined {
  const untilMs = pauses.get(url.origin);
  return untilMs !== undefined && untilMs > Date.now() ? untilMs : undefined;
}
