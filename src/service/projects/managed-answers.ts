import type { AnyHandler } from '@picket/platform/feature/handler.ts';
import type { Store } from '@picket/platform/store/store.ts';
import { idOf, type Kind } from '@picket/protocol/projects/kind.ts';
import { kinds } from '@picket/protocol/projects/kinds.ts';
import type { Body } from './kinds/kind.ts';

/**
 * Wraps the handlers of all operations: responses about resources that projects manage include the project and the
 * resource's name in it. Nothing else of a response changes, so the resources themselves need not know about projects.
 */
export function namingProjects(
  handlers: ReadonlyMap<string, AnyHandler>,
  store: Store,
): ReadonlyMap<string, AnyHandler> {
  const naming = new Map(handlers);
  for (const kind of kinds) {
    const { list, get, update } = kind.routes;
    for (const { operationId } of [list, get, ...(update ? [update] : []), ...(kind.shownBy ?? [])]) {
      const handler = handlers.get(operationId);
      if (!handler) throw new Error(`no handler for ${operationId}`);
      naming.set(operationId, async (call) => {
        const answer = await handler(call);
        return call.caller && 'accountId' in call.caller
          ? named(answer, kind, { store, accountId: call.caller.accountId })
          : answer;
      });
    }
  }
  return naming;
}

async function named(
  answer: unknown,
  kind: Kind,
  { store, accountId }: { readonly store: Store; readonly accountId: string },
): Promise<unknown> {
  if (typeof answer !== 'object' || answer === null) return answer;
  const page = answer as { readonly entries?: unknown };
  const isPage = !Array.isArray(answer) && Array.isArray(page.entries);
  const shown = (isPage ? page.entries : [answer].flat()) as Body[];
  const textOf = (one: Body) => String(idOf(kind, one));
  const managed = await store.projects.managedAmong(accountId, kind.type, shown.map(textOf));
  if (managed.size === 0) return answer;
  const all = shown.map((one) => ({ ...one, ...managed.get(textOf(one)) }));
  if (isPage) return { ...page, entries: all };
  return Array.isArray(answer) ? all : all[0];
}
