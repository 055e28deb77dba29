import type { CheckType } from '@picket/checks/contract/check-type.ts';
import { checkTypes } from '@picket/checks/index.ts';
import { runtimes } from '@picket/checks/tables/runtimes.ts';
import { AppError } from '@picket/lib/errors.ts';
import type { CallRequest } from '@picket/platform/feature/exchange.ts';
import { type AnyHandler, baseUrlOf, type Call, handlersById } from '@picket/platform/feature/handler.ts';
import { describePage, pageOffset } from '@picket/platform/http/paging.ts';
import { checkRoutes } from '@picket/protocol/checks/check.ts';
import type { CheckState } from '@picket/protocol/checks/check-state.ts';
import { runtimeRoutes } from '@picket/protocol/checks/runtime.ts';
import { withGroups } from './effective-check.ts';
import { visibleTo } from './ping-address.ts';
import type { Check } from './store.ts';
import { type CheckView, checkListView, oneCheckView } from './view.ts';
import { type CheckDeps, CheckWriter, checkNotFound, routesOf, typeNamed } from './writer.ts';

type AnyBody = Readonly<Record<string, unknown>>;

/** Routes of checks: the generic ones and those of each type. */
export function checkHandlers(deps: CheckDeps): [string, AnyHandler][] {
  const writer = new CheckWriter(deps);
  // Ping addresses are shown as full URLs even if no public URL is configured.
  const reachedBy = (request: CallRequest) => ({ ...deps, publicUrl: baseUrlOf(request, deps.publicUrl) });
  const viewOf = (check: Check, request: CallRequest) => oneCheckView(reachedBy(request), check);
  const generic = handlersById(checkRoutes, {
    async listChecks({ caller, query, request, reply }) {
      const states = wantedStates(query);
      const { total, checks } = await deps.store.checks.list(
        caller.accountId,
        {
          tags: query.tag === undefined ? undefined : [query.tag].flat(),
          checkType: query.checkType,
          search: query.search,
          standing: states && { states, now: deps.clock.wallMs() },
          urlPart: query.apiCheckUrlFilterPattern,
        },
        { limit: query.limit, offset: pageOffset(query) },
      );
      describePage(request, reply, { query, total, publicUrl: deps.publicUrl });
      const shown = query.applyGroupSettings ? await withGroups(deps.store, checks) : checks;
      const visible = shown.map((check) => visibleTo(caller, check));
      return checkListView(reachedBy(request), visible, query.applyGroupSettings ? 'in-effect' : 'own');
    },
    async createCheck({ caller, body, query, request }) {
      const { checkType, ...fields } = body;
      const { autoAssignAlerts } = query;
      const type = typeNamed(checkType);
      return viewOf(await writer.create(caller.accountId, type, fields, autoAssignAlerts), request);
    },
    async getCheck({ caller, params, query, request }) {
      const check = await deps.store.checks.find(caller.accountId, params.id);
      if (!check) throw checkNotFound(params.id);
      const [inEffect] = query.applyGroupSettings ? await withGroups(deps.store, [check]) : [check];
      const kind = query.applyGroupSettings ? 'in-effect' : 'own';
      const view = await oneCheckView(reachedBy(request), visibleTo(caller, inEffect ?? check), kind);
      if (query.includeDependencies) return view;
      // The schema of all checks has the files of setup and teardown (null here), but not those of the script.
      const hidden = { setupScriptDependencies: null, tearDownScriptDependencies: null };
      return { ...view, ...hidden, dependencies: undefined } as typeof view;
    },
    async updateCheck({ caller, params, query, body, request }) {
      const { unchangedSince } = query;
      return viewOf(await writer.update(caller.accountId, params.id, body, { unchangedSince }), request);
    },
    async deleteCheck({ caller, params }) {
      await writer.delete(caller.accountId, params.id);
    },
  });
  return [...generic, ...checkTypes.flatMap((type) => typedHandlers(type, writer, viewOf))];
}

function typedHandlers(
  type: CheckType,
  writer: CheckWriter,
  viewOf: (check: Check, request: CallRequest) => Promise<CheckView>,
): [string, AnyHandler][] {
  const { create, update } = routesOf(type);
  return [
    [
      create.operationId,
      async ({ caller, body, query, request }: Call) => {
        const { autoAssignAlerts } = query as unknown as { autoAssignAlerts: boolean };
        return viewOf(
          await writer.create(accountOf(caller), type, body as unknown as AnyBody, autoAssignAlerts),
          request,
        );
      },
    ],
    [
      update.operationId,
      async ({ caller, params, body, request }: Call) => {
        const { id } = params as unknown as { id: string };
        const changed = await writer.update(accountOf(caller), id, body as unknown as AnyBody, { type });
        return viewOf(changed, request);
      },
    ],
  ];
}

function accountOf(caller: unknown): string {
  return (caller as { accountId: string }).accountId;
}

/** Routes of the runtimes that checks can name. */
export function runtimeHandlers(): [string, AnyHandler][] {
  const views = runtimes.map((runtime) => ({
    ...runtime,
    dependencies: { ...runtime.dependencies },
    // No runtime has an end of life yet.
    runtimeEndOfLife: null,
  }));
  return handlersById(runtimeRoutes, {
    async listRuntimes() {
      return views;
    },
    async getRuntime({ params }) {
      const runtime = views.find(({ name }) => name === params.id);
      if (!runtime) throw new AppError('NOT_FOUND', `There is no runtime "${params.id}".`);
      return runtime;
    },
  });
}

/** Both filters apply. Older clients count unknown verdicts as failures (check model 1.1). */
function wantedStates({
  status,
  state,
}: {
  readonly status?: 'passing' | 'failing' | 'degraded' | undefined;
  readonly state?: CheckState | undefined;
}): readonly CheckState[] | undefined {
  const ofStatus: readonly CheckState[] =
    status === 'failing' ? ['failing', 'not-judged'] : [status ?? []].flat();
  if (state === undefined) return status === undefined ? undefined : ofStatus;
  return status === undefined || ofStatus.includes(state) ? [state] : [];
}
