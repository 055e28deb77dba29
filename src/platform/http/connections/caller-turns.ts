import { hash } from 'node:crypto';
import { LruMap } from '@picket/lib/lru.ts';
import { askedBy } from '@picket/lib/turns/asker.ts';
import type { Turn } from '@picket/lib/turns/fair-queue.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Caller } from '../auth.ts';
import { callerNetwork } from '../limits.ts';

declare module 'fastify' {
  interface FastifyInstance {
    callerTurns: CallerTurns;
  }
}

const callersRemembered = 50_000;

/**
 * Assigns requests to queues before their senders are authenticated, and thus queues even the lookups of their keys: a
 * thousand simultaneous requests of one account are a thousand lookups, which would delay the lookup of another
 * account. A known key or cookie waits in the queue of its account. This grants no access: it is looked up like any
 * other. All other requests of an address share a queue, so inventing keys gains no extra turns.
 */
export class CallerTurns {
  readonly #known = new LruMap<string, string>(callersRemembered);

  /** Runs all work of an app's requests in the queues of their callers, from the first byte on. */
  constructor(app: FastifyInstance) {
    const enter = (request: FastifyRequest, _reply: unknown, done: () => void) =>
      askedBy(this.#turnOf(request), done);
    app.addHook('onRequest', enter);
    // Reading a body loses the context of the first hook, so the second one restores it.
    app.addHook('preValidation', enter);
  }

  #turnOf(request: FastifyRequest): Turn {
    const credential = credentialOf(request);
    const known = credential === undefined ? undefined : this.#known.get(credential);
    return { key: known ?? `address ${callerNetwork(request.ip)}` };
  }

  /** Remembers the account of a request's key or cookie. */
  know(request: FastifyRequest, caller: Caller): void {
    if (caller.kind === 'nobody') return;
    const credential = credentialOf(request);
    if (credential !== undefined) this.#known.set(credential, turnKeyOf(caller, request));
  }
}

/** Returns the queue key of a caller. */
export function turnKeyOf(caller: Caller, { ip }: Pick<FastifyRequest, 'ip'>): string {
  if (caller.kind === 'account') return caller.account.accountId;
  // Reports of agents do not wait for requests of the account's users.
  return caller.kind === 'location'
    ? `agents of ${caller.location.account_id}`
    : `address ${callerNetwork(ip)}`;
}

/** Digest of a request's credential: keys themselves are not kept. */
function credentialOf({ headers }: FastifyRequest): string | undefined {
  const shown = headers.authorization ?? headers.cookie;
  return shown === undefined ? undefined : hash('sha256', shown, 'base64');
}
