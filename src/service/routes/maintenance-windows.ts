import { mergeDefinition } from '../../checks/definition.ts';
import { AppError } from '../../lib/errors.ts';
import {
  MaintenanceWindowInput,
  maintenanceWindowRoutes,
  type WindowDefinition,
} from '../../protocol/maintenance-window.ts';
import { parseTimestamp } from '../../protocol/query.ts';
import { lastEnd, type Occurrence, occurrence, occurrencesFrom, ruleOf } from '../maintenance.ts';
import type { StoredWindow, WindowWrite } from '../store/maintenance-windows.ts';
import { validationError } from '../validation.ts';
import { type AnyHandler, type HandlerDeps, handlersById } from './handler.ts';
import { describePage, pageOffset } from './paging.ts';

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
      return view(await store.windows.insert(caller.accountId, writeOf(body), clock.wallMs()));
    },
    async getMaintenanceWindow({ caller, params }) {
      return view(found(await store.windows.find(caller.accountId, params.id), params.id));
    },
    async updateMaintenanceWindow({ caller, params, body }) {
      return store.transaction(async (nouns) => {
        const stored = found(await nouns.windows.findForUpdate(caller.accountId, params.id), params.id);
        const merged = mergeDefinition(stored.definition, body, ['statusPageVisibility']);
        const parsed = MaintenanceWindowInput.safeParse(merged);
        if (!parsed.success) throw validationError('payload', parsed.error.issues);
        const now = clock.wallMs();
        await nouns.windows.update(stored.id, writeOf(parsed.data), now);
        return view({ ...stored, definition: parsed.data, updated: now });
      });
    },
    async deleteMaintenanceWindow({ caller, params }) {
      if (!(await store.windows.delete(caller.accountId, params.id))) throw notFound(params.id);
    },
    async listMaintenances({ caller, params, query }) {
      const window = found(await store.windows.find(caller.accountId, params.id), params.id);
      const rule = ruleOf(window.definition);
      const now = clock.wallMs();
      const [first] = occurrencesFrom(rule, instantOf(query.from) ?? now);
      if (!first) return [];
      const index = first.index + pageOffset(query);
      return Array.from({ length: query.limit }, (_, place) => occurrence(rule, index + place)).flatMap(
        (one) => (one ? [maintenanceView(window, one, now)] : []),
      );
    },
    async getMaintenance({ caller, params }) {
      const window = found(await store.windows.find(caller.accountId, params.id), params.id);
      const one = occurrence(ruleOf(window.definition), params.maintenanceId - 1);
      if (!one) {
        throw new AppError(
          'NOT_FOUND',
          `The maintenance window ${params.id} has no occurrence ${params.maintenanceId}.`,
        );
      }
      return maintenanceView(window, one, clock.wallMs());
    },
  });
}

function instantOf(timestamp: string | undefined): number | undefined {
  return timestamp === undefined ? undefined : (parseTimestamp(timestamp) ?? undefined);
}

function notFound(id: number): AppError {
  return new AppError('NOT_FOUND', `There is no maintenance window ${id}.`);
}

function found(window: StoredWindow | undefined, id: number): StoredWindow {
  if (!window) throw notFound(id);
  return window;
}

function writeOf(definition: WindowDefinition): WindowWrite {
  const rule = ruleOf(definition);
  return { startsAt: rule.startsAt, lastEndsAt: lastEnd(rule), definition };
}

function view(window: StoredWindow) {
  return {
    ...(window.definition as unknown as WindowDefinition),
    id: window.id,
    created_at: new Date(window.created).toISOString(),
    updated_at: window.updated === null ? null : new Date(window.updated).toISOString(),
  };
}

function maintenanceView(window: StoredWindow, { index, startsAt, endsAt }: Occurrence, now: number) {
  const begun = now >= endsAt ? ('COMPLETED' as const) : ('IN_PROGRESS' as const);
  return {
    id: index + 1,
    maintenanceWindowId: window.id,
    name: (window.definition as unknown as WindowDefinition).name,
    startsAt: new Date(startsAt).toISOString(),
    endsAt: new Date(endsAt).toISOString(),
    status: now < startsAt ? ('SCHEDULED' as const) : begun,
  };
}
