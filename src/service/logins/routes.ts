import { type AnyHandler, type HandlerDeps, handlersById, iso } from '@picket/platform/feature/handler.ts';
import { notFound } from '@picket/platform/http/known-names.ts';
import type { AccountCaller } from '@picket/platform/ids/callers.ts';
import { loginSessionRoutes } from '@picket/protocol/accounts/member.ts';
import { actorOf } from './sessions.ts';

/** Routes of browser login sessions. */
export function loginSessionHandlers({ store, clock }: HandlerDeps): [string, AnyHandler][] {
  const visible = async ({ accountId, actor, role }: AccountCaller) => {
    const all = await store.logins.list(accountId, clock.wallMs());
    return all.filter((one) => role === 'ADMIN' || (one.person_id ?? one.key_id) === actor.id);
  };
  return handlersById(loginSessionRoutes, {
    async listLoginSessions({ caller }) {
      return (await visible(caller)).map((row) => ({
        id: row.id,
        actor: actorOf(row, row.name),
        address: row.address,
        browser: row.browser,
        createdAt: iso(row.created),
        lastSeenAt: iso(row.last_seen),
        expiresAt: iso(row.expires),
      }));
    },
    async endLoginSession({ caller, params }) {
      const row = (await visible(caller)).find(({ id }) => id === params.id);
      if (!row || !(await store.logins.delete(caller.accountId, row.id))) {
        throw notFound(`session ${params.id}`);
      }
    },
  });
}
