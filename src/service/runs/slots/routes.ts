import { AppError } from '@picket/lib/errors.ts';
import { type AnyHandler, type HandlerDeps, handlersById } from '@picket/platform/feature/handler.ts';
import { requireLocation } from '@picket/platform/http/known-names.ts';
import { pageOf } from '@picket/platform/http/paging.ts';
import { fieldError } from '@picket/platform/http/validation.ts';
import { parseCursor } from '@picket/protocol/http/cursor.ts';
import { instantOf } from '@picket/protocol/http/query.ts';
import { addedCoverage, slotCountsOf } from '@picket/protocol/runs/coverage.ts';
import { locationCoverageRoutes } from '@picket/protocol/runs/location-coverage.ts';
import { type Slot, slotReasons, slotRoutes } from '@picket/protocol/runs/slot.ts';
import { type CoverageSource, coverageDays, lastDays, totalCoverage } from '../../coverage/coverage-query.ts';
import type { RunState } from '../tables.ts';
import type { SlotRow } from './store.ts';

const dayMs = 86_400_000;

const inQuery = { source: 'query', key: 'location' } as const;

/** Routes of slots: the ledger as users see it. */
export function slotHandlers({
  store,
  clock,
  analytics,
}: HandlerDeps & { readonly analytics: CoverageSource }): [string, AnyHandler][] {
  const knownCheck = async (accountId: string, id: string) => {
    if (!(await store.checks.find(accountId, id))) {
      throw new AppError('NOT_FOUND', `There is no check ${id}.`);
    }
  };
  const knownLocation = async (accountId: string, id: string) => {
    const location = await store.locations.find(accountId, id);
    if (!location) throw new AppError('NOT_FOUND', `There is no private location ${id}.`);
    return location;
  };
  const ofSlots = handlersById(slotRoutes, {
    async listCheckSlots({ caller, params, query }) {
      await knownCheck(caller.accountId, params.id);
      await requireLocation({ store }, caller.accountId, query.location, inQuery);
      const { location, reason } = query;
      const state = query.state?.toLowerCase() as RunState | undefined;
      const filter = { ...windowOf(query, clock.wallMs()), location, state, reason };
      const page = { limit: query.limit + 1, cursor: parseCursor(query.nextId) };
      const rows = await store.slots.ofCheck(params.id, filter, page);
      const ordered = rows.map((row) => ({ ...row, created: row.slot_at }));
      return pageOf(ordered, query.limit, async (shown) => shown.map(slotView));
    },
    async countCheckSlots({ caller, params, query }) {
      await knownCheck(caller.accountId, params.id);
      await requireLocation({ store }, caller.accountId, query.location, inQuery);
      const asked = {
        ...windowOf(query, clock.wallMs()),
        location: query.location ?? null,
        intervalMs: null,
      };
      return slotCountsOf(totalCoverage(await analytics.coverage({ ...asked, checkIds: [params.id] })));
    },
    async countLocationSlots({ caller, params, query }) {
      const location = await knownLocation(caller.accountId, params.id);
      const asked = { ...windowOf(query, clock.wallMs()), location: location.slug_name, intervalMs: null };
      const checkIds = await store.slots.checkIdsOf(caller.accountId);
      return slotCountsOf(totalCoverage(await analytics.coverage({ ...asked, checkIds })));
    },
  });
  const ofLocations = handlersById(locationCoverageRoutes, {
    async listFleetCoverage({ caller }) {
      const to = clock.wallMs() + 1;
      const checkIds = await store.slots.checkIdsOf(caller.accountId);
      const asked = { from: to - dayMs, to, location: null, intervalMs: null, checkIds };
      const found = [...(await analytics.coverage(asked)).values()];
      const names = new Set(found.flatMap(({ byLocation }) => Object.keys(byLocation)));
      return [...names].sort().map((slugName) => ({
        slugName,
        coverage: addedCoverage(found.flatMap(({ byLocation }) => byLocation[slugName] ?? [])),
      }));
    },
    async getLocationCoverage({ caller, params, query }) {
      const location = await knownLocation(caller.accountId, params.id);
      const span = lastDays(clock.wallMs(), query.days);
      const checkIds = await store.slots.checkIdsOf(caller.accountId);
      const found = await analytics.coverage({ ...span, location: location.slug_name, checkIds });
      return { coverage: totalCoverage(found), days: coverageDays([...found.values()], span) };
    },
  });
  return [...ofSlots, ...ofLocations];
}

/** @throws AppError VALIDATION_FAILED if the window ends before it begins. */
function windowOf(
  query: { readonly from?: string | undefined; readonly to?: string | undefined },
  now: number,
) {
  const to = instantOf(query.to) ?? now + 1;
  const from = instantOf(query.from) ?? to - dayMs;
  if (to < from) throw fieldError('query', [{ key: 'to', message: 'must not be before "from"' }]);
  return { from, to };
}

function slotView(row: SlotRow): Slot {
  return {
    id: row.id,
    location: row.slot_location,
    scheduledAt: new Date(row.slot_at).toISOString(),
    slotCount: row.slot_count,
    state: row.state.toUpperCase() as Slot['state'],
    reason: row.reason,
    explanation: explanationOf(row.reason),
    endedAt: row.ended === null ? null : new Date(row.ended).toISOString(),
    startDelayMs: row.start_delay,
    checkResultId: row.result_id,
    verdict: verdictOf(row),
    responseTime: row.response_time,
  };
}

function explanationOf(reason: string | null): string | null {
  const known: Readonly<Record<string, string>> = slotReasons;
  return reason === null ? null : (known[reason] ?? null);
}

function verdictOf(row: SlotRow): Slot['verdict'] {
  if (row.result_id === null) return null;
  if (row.has_errors === 1) return 'ERROR';
  if (row.has_failures === 1) return 'FAILED';
  return row.is_degraded === 1 ? 'DEGRADED' : 'PASSED';
}
