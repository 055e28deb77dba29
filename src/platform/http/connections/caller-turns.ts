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
 * In whose turns requests wait before it is known who sends them, and so for the very look-up of their keys: a
 * thousand requests of one account that come at once are a thousand look-ups, and one of another account would stand
 * behind them all. A key or a cookie that was found before waits in the turns of the account that it was found for.
 * That opens nothing: it is looked up like any other. All others of an address wait together, so inventing keys gives
 * no more turns.
 */
export class CallerTurns {
  readonly #known = new LruMap<string, string>(callersRemembered);

  /** Everything that requests of an app ask for waits in the turns of their callers, from their first byte on. */
  constructor(app: FastifyInstance) {
    const enter = (request: FastifyRequest, _reply: unknown, done: () => void) =>
      askedBy(this.#turnOf(request), done);
    app.addHook('onRequest', enter);
    // Reading a body loses the context of the first hook, so the second one enters again.
    app.addHook('preValidation', enter);
  }

  #turnOf(request: FastifyRequest): Turn {
    const credential = credentialOf(request);
    const known = credential === undefined ? undefined : this.#known.get(credential);
    return { key: known ?? `address ${callerNetwork(request.ip)}` };
  }

  /** Remembers for whom a request's key or cookie was found. */
  know(request: FastifyRequest, caller: Caller): void {
    if (caller.kind === 'nobody') return;
    const credential = credentialOf(request);
    if (credential !== undefined) this.#known.set(credential, turnKeyOf(caller, request));
  }
}

/** Whose turns the work for a caller waits in. */
export function turnKeyOf(caller: Caller, { ip }: Pick<FastifyRequest, 'ip'>): string {
  if (caller.kind === 'account') return caller.account.accountId;
  // What agents bring does not wait for what people of the account ask.
  return caller.kind === 'location'
    ? `agents of ${caller.location.account_id}`
    : `address ${callerNetwork(ip)}`;
}

/** The digest of what a request shows of who sends it: keys themselves are kept nowhere. */
function credentialOf({ headers }: FastifyRequest): string | undefined {
  const shown = headers.authorization ?? headers.cookie;
  return shown === undefined ? undefined : hash('sha256', shown, 'base64');
}
