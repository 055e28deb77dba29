import type { Loss } from '@picket/importers/source.ts';
import { cursorPage } from '@picket/protocol/http/cursor.ts';
import type { Route } from '@picket/protocol/http/route.ts';
import { type Fields, idOf } from '@picket/protocol/projects/kind.ts';
import { type Folder, kinds } from '@picket/protocol/projects/kinds.ts';
import { z } from 'zod';
import { ApiError } from '../api/api-error.ts';
import type { ApiClient } from '../api/client.ts';
import type { Stored } from '../project/export.ts';

const anything = z.looseObject({});
type PagedRoute = Route & { readonly response: z.ZodArray };
type CursorRoute = Route & { readonly response: ReturnType<typeof cursorPage> };

/** The same list, with a response schema that accepts the fields of any comparable service. */
function ofAnyService(route: Route): Route {
  const isByCursor = route.response instanceof z.ZodObject;
  return { ...route, response: isByCursor ? cursorPage(anything) : z.array(anything) };
}

/** Returns all entries of a list, whatever its paging. */
async function listed(api: ApiClient, route: Route): Promise<readonly Fields[]> {
  if (route.response instanceof z.ZodObject) return (await api.allEntries(route as CursorRoute)) as Fields[];
  const isPaged = route.query !== undefined && 'page' in route.query.shape;
  return (await (isPaged ? api.all(route as PagedRoute) : api.call(route as PagedRoute))) as Fields[];
}

/**
 * Reads everything of an account that files can contain. If a list changes while it is read, an entry may appear twice;
 * the result contains it once.
 *
 * @param onProgress called with each kind before it is read.
 */
export async function readAccount(api: ApiClient, onProgress: (what: string) => void): Promise<Stored[]> {
  const stored = new Map<string, Stored>();
  for (const kind of kinds) {
    const { folder } = kind;
    onProgress(folder);
    for (const view of await listed(api, kind.routes.list)) {
      const id = idOf(kind, view);
      stored.set(`${folder}/${id}`, { folder, id, view });
    }
  }
  return [...stored.values()];
}

/** Optional operations: an account without component pages may lack them. */
const ofPagesOfComponents: ReadonlySet<Folder> = new Set(['status-page-components', 'automation-rules']);

/**
 * Reads the account of a comparable service, with all fields that its responses contain. Kinds without an operation
 * there are reported as losses; checks are mandatory.
 */
export async function readForeignAccount(
  api: ApiClient,
  onProgress: (what: string) => void,
): Promise<{ readonly stored: readonly Stored[]; readonly losses: readonly Loss[] }> {
  const stored: Stored[] = [];
  const losses: Loss[] = [];
  const hasPageOfComponents = () =>
    stored.some(({ folder, view }) => folder === 'status-pages' && view['version'] === 3);
  for (const kind of kinds) {
    const { folder } = kind;
    if (ofPagesOfComponents.has(folder) && !hasPageOfComponents()) continue;
    onProgress(folder);
    try {
      for (const view of await listed(api, ofAnyService(kind.routes.list))) {
        const id: unknown = idOf(kind, view) ?? view['key'];
        if (typeof id === 'string' || typeof id === 'number') stored.push({ folder, id, view });
        else losses.push({ field: folder, reason: 'one of them has no id' });
      }
    } catch (thrown) {
      if (!(thrown instanceof ApiError) || folder === 'checks') throw thrown;
      losses.push({ field: folder, reason: thrown.message });
    }
  }
  return { stored, losses };
}
