import { mergeDefinition } from '../../checks/contract/definition.ts';
import { AppError } from '../../lib/errors.ts';
import { parseTimestamp } from '../../protocol/http/query.ts';
import {
  MaintenanceWindowInput,
  maintenanceWindowRoutes,
  type WindowDefinition,
} from '../../protocol/pages/maintenance-window.ts';
import { type AnyHandler, type HandlerDeps, handlersById } from '../http/handler.ts';
import { describePage, pageOffset } from '../http/paging.ts';
import { validationError } from '../http/validation.ts';
import type { StoredWindow } from './window-store.ts';
import { windowWrite } from './writer.ts';

/** The routes of maintenance windows and their occurrences. */
export function maintenanceWindowHandlers({ store, clock, publicUrl }: HandlerDeps): [string, AnyHandler][] {
  return handlersById(maintenanceWindowRoutes, {
    async listMaintenanceWindows({ caller, query, request, reply }) {
      const { total, windows } = await store.windows.list(
        caller.accountId,
        { from: instantOf(query.startsAt), to: instantOf(query.endsAt) },
        { limit: query.limit, offset: pageOffset(query) },
      );
      describePage(request, reply, { query, total, publicUrl });
      return windows.map(view);
    },
    async createMaintenanceWindow({ caller, body }) {
      return view(await store.windows.insert(caller.accountId, windowWrite(body), clock.wallMs()));
    },
    async getMaintenanceWindow({ caller, params }) {
      return view(foundWindow(await store.windows.find(caller.accountId, params.id), params.id));
    },
    async updateMaintenanceWindow({ caller, params, body }) {
      return store.transaction(async (repositories) => {
        const stored = foundWindow(
          await repositories.windows.findForUpdate(caller.accountId, params.id),
          params.id,
        );
        const merged = mergeDefinition(stored.definition, body, ['statusPageVisibility']);
        const parsed = MaintenanceWindowInput.safeParse(merged);
        if (!parsed.success) throw validationError('payload', parsed.error.issues);
        const now = clock.wallMs();
        const isOther = hasOtherOccurrences(stored.definition as unknown as WindowDefinition, parsed.data);
        if (isOther) await repositories.maintenances.forget(stored.id);
        const changes = await repositories.maintenances.changes([stored.id]);
        await repositories.windows.update(stored.id, windowWrite(parsed.data, changes.get(stored.id)), now);
        return view({ ...stored, definition: parsed.data, updated: now });
      });
    },
    async deleteMaintenanceWindow({ caller, params }) {
      if (!(await store.windows.delete(caller.accountId, params.id))) throw notFound(params.id);
    },
  });
}

export function instantOf(timestamp: string | undefined): number | undefined {
  return timestamp === undefined ? undefined : (parseTimestamp(timestamp) ?? undefined);
}

function notFound(id: number): AppError {
  return new AppError('NOT_FOUND', `There is no maintenance window ${id}.`);
}

export function foundWindow(window: StoredWindow | undefined, id: number): StoredWindow {
  if (!window) throw notFound(id);
  return window;
}

/** Whether the n-th occurrence of one window is not the n-th of another. */
function hasOtherOccurrences(before: WindowDefinition, after: WindowDefinition): boolean {
  return (
    Date.parse(before.startsAt) !== Date.parse(after.startsAt) ||
    before.repeatInterval !== after.repeatInterval ||
    before.repeatUnit !== after.repeatUnit
  );
}

function view(window: StoredWindow) {
  return {
    ...(window.definition as unknown as WindowDefinition),
    id: window.id,
    created_at: new Date(window.created).toISOString(),
    updated_at: window.updated === null ? null : new Date(window.updated).toISOString(),
  };
}
