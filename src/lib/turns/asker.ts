import { AsyncLocalStorage } from 'node:async_hooks';
import type { ServerResponse } from 'node:http';
import type { Turn } from './fair-queue.ts';

/** Whose queue shared work is put into, while a request is answered or a job works. */
const askers = new AsyncLocalStorage<Turn>();

/** Work of the service itself: jobs that are no account's. */
const service: Turn = { key: 'service' };

/** Does work on behalf of an account: what it asks of shared threads waits in that account's queue. */
export function askedBy<T>(asker: Turn, work: () => T): T {
  return askers.run(asker, work);
}

/**
 * Does work that readers of public pages wait for: before other work, and for all of them at once, so that it goes
 * on when the one that asked first hangs up.
 */
export function askedInPublic<T>(accountId: string, work: () => T): T {
  return askers.run({ key: accountId, isFirst: true }, work);
}

/** On whose behalf the present work is done. */
export function presentAsker(): Turn {
  return askers.getStore() ?? service;
}

/** Aborts when a caller hangs up before its answer is written. */
export function callerGone({ raw }: { readonly raw: ServerResponse }): AbortSignal {
  const gone = new AbortController();
  raw.once('close', () => {
    if (!raw.writableFinished) gone.abort();
  });
  return gone.signal;
}
