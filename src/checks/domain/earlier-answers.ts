import { BroadcastChannel } from 'node:worker_threads';
import { LruMap } from '@picket/lib/lru.ts';
import type { DomainRegistration } from './detail.ts';

/** An answer that a server gave before. */
export interface EarlierAnswer {
  readonly registration: DomainRegistration;
  readonly source: 'registry' | 'registrar';
  readonly answeredMs: number;
}

/** Knowledge that threads share: registries count the requests of an agent, not of its threads. */
type Known =
  | { readonly kind: 'answer'; readonly href: string; readonly answer: EarlierAnswer }
  | { readonly kind: 'pause'; readonly origin: string; readonly untilMs: number };
type Said = Known | { readonly kind: 'newcomer' };

const usableMs = 24 * 3_600_000;
/** Pause after a refusal that does not say how long to wait. */
const usualPauseMs = 60_000;

/** The last answer about each domain, by the URL that was asked. */
const answers = new LruMap<string, Known & { kind: 'answer' }>(1000);
/** Until when each server wants no requests, in epoch milliseconds. */
const pauses = new LruMap<string, Known & { kind: 'pause' }>(200);

const threads = new BroadcastChannel('picket domain monitors');
// A thread that starts asks for the messages that it missed.
threads.onmessage = ({ data }: { readonly data: unknown }) => {
  const said = data as Said;
  if (said.kind === 'newcomer')
    for (const known of [...answers.values(), ...pauses.values()]) threads.postMessage(known);
  else keep(said);
};
threads.unref();
threads.postMessage({ kind: 'newcomer' } satisfies Said);

/** Keeps an answer of a server for the times when it gives none. */
export function keepAnswer(url: URL, answer: EarlierAnswer): void {
  share({ kind: 'answer', href: url.href, answer });
}

/** The answer of the last 24 hours; undefined if this agent knows none. */
export function earlierAnswer(url: URL): EarlierAnswer | undefined {
  const answer = answers.get(url.href)?.answer;
  return answer && Date.now() - answer.answeredMs < usableMs ? answer : undefined;
}

/** Asks nothing of a server that limits requests, as long as it says (RFC 9110 section 10.2.3). */
export function pauseServer(url: URL, waitMs: number | undefined): void {
  share({ kind: 'pause', origin: url.origin, untilMs: Date.now() + (waitMs ?? usualPauseMs) });
}

/** When the server accepts requests again, in epoch milliseconds; undefined if it does now. */
export function pausedUntil(url: URL): number | undefined {
  const untilMs = pauses.get(url.origin)?.untilMs;
  return untilMs !== undefined && untilMs > Date.now() ? untilMs : undefined;
}

function share(known: Known): void {
  keep(known);
  threads.postMessage(known);
}

/** The newest counts: several threads may have asked. */
function keep(known: Known): void {
  if (known.kind === 'pause') {
    if ((pauses.get(known.origin)?.untilMs ?? 0) < known.untilMs) pauses.set(known.origin, known);
  } else if ((answers.get(known.href)?.answer.answeredMs ?? 0) <= known.answer.answeredMs) {
    answers.set(known.href, known);
  }
}
