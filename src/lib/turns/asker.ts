import { AsyncLocalStorage } from 'node:async_hooks';
import type { ServerResponse } from 'node:http';
import type { Turn } from './fair-queue.ts';

/** The queue key of the current request or job, for shared work. */
const askers = new AsyncLocalStorage<Turn>();

/** Work of the service itself: jobs that belong to no account. */
const service: Turn = { key: 'service' };

/** Runs work on behalf of an account: its requests to shared threads wait in that account's queue. */
export function askedBy<T>(asker: Turn, work: () => T): T {
  return askers.run(asker, work);
}

/**
 * Runs work that readers of public pages wait for: ahead of other work, and shared by all of them, so that it continues
 * when the first requester hangs up.
 */
export function askedInPublic<T>(accountId: string, work: () => T): T {
  return askers.run({ key: accountId, isFirst: true }, work);
}

/** Returns the turn on whose behalf the current work runs. */
export function presentAsker(): Turn {
  return askers.getStore() ?? service;
}

/** Returns a signal that aborts when a caller hangs up before its response is written. */
export function callerGone({ raw }: { readonly raw: ServerResponse }): AbortSignal {
  const gone = new AbortController();
  raw.once('close', () => {
    if (!raw.writableFinished) gone.abort();
  });
  return gone.signal;
}
