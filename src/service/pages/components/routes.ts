import { randomUUID } from 'node:crypto';
import {
  type AnyHandler,
  type HandlerDeps,
  handlersById,
  iso,
  optionalIso,
} from '@picket/platform/feature/handler.ts';
import { found } from '@picket/platform/http/known-names.ts';
import { pageOf } from '@picket/platform/http/paging.ts';
import { fieldError } from '@picket/platform/http/validation.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import { parseCursor } from '@picket/protocol/http/cursor.ts';
import { pageOfCards } from '@picket/protocol/pages/status-page.ts';
import {
  type StatusPageComponent,
  statusPageComponentRoutes,
} from '@picket/protocol/pages/status-page-component.ts';
import type { ComponentRow } from '../tables.ts';

const mostOnPage = 500;
/** Depth limit: deeper groups are hard to navigate. */
const deepestLevels = 4;

/** Routes of the components of status pages. */
export function statusPageComponentHandlers({ store, clock }: HandlerDeps): [string, AnyHandler][] {
  return handlersById(statusPageComponentRoutes, {
    async listStatusPageComponents({ caller: { accountId }, query }) {
      const { limit, statusPageId } = query;
      const cursor = parseCursor(query.nextId);
      const rows =
        statusPageId === undefined
          ? await store.components.listBehind(accountId, limit + 1, cursor)
          : await store.components.listOfPage(accountId, statusPageId.toLowerCase(), limit + 1, cursor);
      return pageOf(rows, limit, async (shown) => shown.map(componentView));
    },
    async createStatusPageComponent({ caller: { accountId }, body }) {
      const { configuration, ...fields } = body;
      const row: ComponentRow = {
        id: randomUUID(),
        account_id: accountId,
        status_page_id: fields.statusPageId.toLowerCase(),
        parent_id: fields.parentId?.toLowerCase() ?? null,
        type: fields.type,
        name: fields.name,
        description: fields.description || null,
        hidden: fields.hidden ? 1 : 0,
        display_order: fields.displayOrder,
        ...configured(fields.type, configuration),
        created: clock.wallMs(),
        updated: null,
      };
      await store.transaction(async (repositories) => {
        await requirePlace(repositories, row);
        await repositories.components.insert(row);
      });
      return componentView(row);
    },
    async getStatusPageComponent({ caller, params }) {
      return componentView(
        found(await store.components.find(caller.accountId, params.componentId), componentNamed(params)),
      );
    },
    async updateStatusPageComponent({ caller: { accountId }, params, body }) {
      return store.transaction(async (repositories) => {
        const { statusPageId, type, parentId, name, description, hidden, displayOrder } = body;
        const known = found(
          await repositories.components.find(accountId, params.componentId),
          componentNamed(params),
        );
        // The page is locked first: concurrent calls that move a component on it wait here.
        await repositories.statusPages.findForUpdate(accountId, known.status_page_id);
        const stored = found(
          await repositories.components.findForUpdate(accountId, params.componentId),
          componentNamed(params),
        );
        requireSame('statusPageId', statusPageId?.toLowerCase(), stored.status_page_id);
        requireSame('type', type, stored.type);
        const row: ComponentRow = {
          ...stored,
          parent_id: parentId === undefined ? stored.parent_id : (parentId?.toLowerCase() ?? null),
          name: name ?? stored.name,
          description: description === undefined ? stored.description : description || null,
          hidden: (hidden ?? stored.hidden === 1) ? 1 : 0,
          display_order: displayOrder ?? stored.display_order,
          ...configured(stored.type, { ...settingsOf(stored), ...body.configuration }),
          updated: clock.wallMs(),
        };
        if (row.parent_id !== stored.parent_id) await requirePlace(repositories, row);
        await repositories.components.update(row);
        return componentView(row);
      });
    },
    async deleteStatusPageComponent({ caller: { accountId }, params }) {
      await store.transaction(async (repositories) => {
        const { id, parent_id: parentId } = found(
          await repositories.components.findForUpdate(accountId, params.componentId),
          componentNamed(params),
        );
        await repositories.components.moveChildren(id, parentId);
        await repositories.components.delete(accountId, id);
      });
    },
  });
}

/** A component as responses show it. */
export function componentView(row: ComponentRow): StatusPageComponent {
  const { showHistoricalData, expandedByDefault } = settingsOf(row);
  return {
    id: row.id,
    statusPageId: row.status_page_id,
    parentId: row.parent_id,
    type: row.type,
    name: row.name,
    description: row.description,
    hidden: row.hidden === 1,
    displayOrder: row.display_order,
    configuration: { showHistoricalData, ...(row.type === 'GROUP' ? { expandedByDefault } : {}) },
    created_at: iso(row.created),
    updated_at: optionalIso(row.updated),
  };
}

interface Settings {
  readonly showHistoricalData: boolean;
  readonly expandedByDefault: boolean;
}

function settingsOf(row: Pick<ComponentRow, 'shows_history' | 'is_expanded'>): Settings {
  return { showHistoricalData: row.shows_history === 1, expandedByDefault: row.is_expanded === 1 };
}

function configured(
  type: ComponentRow['type'],
  {
    showHistoricalData = true,
    expandedByDefault = false,
  }: { readonly [Name in keyof Settings]?: boolean | undefined },
): Pick<ComponentRow, 'shows_history' | 'is_expanded'> {
  if (type === 'SERVICE' && expandedByDefault) {
    const message = 'is only for a GROUP';
    throw fieldError('payload', [{ key: 'configuration.expandedByDefault', message }]);
  }
  return { shows_history: showHistoricalData ? 1 : 0, is_expanded: expandedByDefault ? 1 : 0 };
}

function requireSame(key: string, desired: string | undefined, stored: string): void {
  if (desired === undefined || desired === stored) return;
  const message = `must be ${stored}, as it is: delete the component and create another one`;
  throw fieldError('payload', [{ key, message }]);
}

/**
 * Ensures that a component is on a page of components of its account, at the top level or in a group of that page.
 * Locks the page, so that no two components can move into each other at once.
 *
 * @throws AppError NOT_FOUND, VALIDATION_FAILED
 */
async function requirePlace(
  { statusPages, components }: Pick<Repositories, 'statusPages' | 'components'>,
  row: ComponentRow,
): Promise<void> {
  const page = found(
    await statusPages.findForUpdate(row.account_id, row.status_page_id),
    `status page ${row.status_page_id}`,
  );
  const refuse = (key: string, message: string) => fieldError('payload', [{ key, message }]);
  if (page.version !== 3) {
    throw refuse('statusPageId', pageOfCards);
  }
  const all = new Map((await components.ofPage(page.id)).map((one) => [one.id, one]));
  if (!all.has(row.id) && all.size >= mostOnPage) {
    throw refuse('statusPageId', `has ${mostOnPage} components already`);
  }
  if (row.parent_id === null) return;
  const parent = all.get(row.parent_id);
  if (!parent) throw refuse('parentId', `names no component of the page: ${row.parent_id}`);
  if (parent.type !== 'GROUP')
    throw refuse('parentId', `must name a GROUP: "${parent.name}" is a ${parent.type}`);
  let above = 0;
  for (let at: ComponentRow | undefined = parent; at; at = at.parent_id ? all.get(at.parent_id) : undefined) {
    above += 1;
    if (at.id === row.id) throw refuse('parentId', 'is within the component itself');
  }
  if (above + levelsOf(row.id, [...all.values()]) > deepestLevels) {
    throw refuse('parentId', `is too deep: at most ${deepestLevels} levels of components`);
  }
}

/** Number of levels of a component including its descendants. */
function levelsOf(id: string, all: readonly ComponentRow[]): number {
  const within = all.filter((one) => one.parent_id === id);
  return 1 + Math.max(0, ...within.map((one) => levelsOf(one.id, all)));
}

function componentNamed({ componentId }: { readonly componentId: string }): string {
  return `status page component ${componentId}`;
}
