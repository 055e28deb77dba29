import type { Coverage } from '../../../src/protocol/runs/coverage.ts';
import type { SlotCounts } from '../../../src/protocol/runs/slot.ts';
import type { CampaignCheck, ShownCounts } from './history.ts';

/** A GET of the service's API. */
export type Read = (path: string) => Promise<unknown>;

interface Reported {
  readonly checkId: string;
  readonly coverage: Coverage;
  readonly aggregate: { readonly coverage: Coverage };
}
interface Page {
  readonly cards: readonly {
    readonly services: readonly {
      readonly name: string;
      readonly coverage: Coverage | null;
      readonly days: readonly { readonly coverage: Coverage | null }[];
    }[];
  }[];
}

/**
 * The outcomes of each check's slots on every surface: of all slots, and of those in the middle third of the campaign.
 * On the status page a service has the name of the check that opens its incidents.
 */
export async function readSurfaces(
  read: Read,
  post: (path: string, body: unknown) => Promise<unknown>,
  checks: readonly CampaignCheck[],
  statusPage: string,
): Promise<ShownCounts[]> {
  const from = Math.min(...checks.map(({ createdWithin }) => createdWithin[0]));
  const to = Math.max(...checks.map(({ endedWithin }) => endedWithin[1])) + 1;
  const third = Math.round((to - from) / 3);
  const shown: ShownCounts[] = [];
  for (const window of [
    { from, to },
    { from: from + third, to: to - third },
  ]) {
    const query = `from=${window.from}&to=${window.to}`;
    const report = (await read(`/v1/reporting?${query}`)) as Reported[];
    for (const { checkId, aggregate } of report) {
      shown.push({ checkId, surface: 'report', window, ...countsOf(aggregate.coverage) });
    }
    for (const { id: checkId } of checks) {
      const counts = (await read(`/v1/checks/${checkId}/slots/count?${query}`)) as SlotCounts;
      shown.push({ checkId, surface: 'slots', window, ...counts });
      const path = `/v1/analytics/url-monitors/${checkId}?metrics=availability&${query}`;
      const { coverage } = (await read(path)) as Reported;
      shown.push({ checkId, surface: 'analytics', window, ...countsOf(coverage) });
    }
  }
  const statuses = (await read('/v1/check-statuses')) as Reported[];
  for (const { checkId, coverage } of statuses) {
    shown.push({ checkId, surface: 'status', window: null, ...countsOf(coverage) });
  }
  for (let start = 0; start < checks.length; start += 100) {
    const checkIds = checks.slice(start, start + 100).map(({ id }) => id);
    const overviews = (await post('/v1/analytics/checks', { checkIds })) as Reported[];
    for (const { checkId, coverage } of overviews) {
      shown.push({ checkId, surface: 'overview', window: null, ...countsOf(coverage) });
    }
  }
  const page = (await read(`/v1/public/status-pages/${statusPage}`)) as Page;
  for (const { name, coverage, days } of page.cards.flatMap(({ services }) => services)) {
    if (coverage) shown.push({ checkId: name, surface: 'status page', window: null, ...countsOf(coverage) });
    const parts = days.flatMap((day) => day.coverage ?? []).map(countsOf);
    shown.push({ checkId: name, surface: 'days of the status page', window: null, ...added(parts) });
  }
  return shown;
}

type Counts = Pick<ShownCounts, 'due' | 'final' | 'missed' | 'cancelled' | 'onTheirWay'>;

function countsOf(coverage: Coverage): Counts {
  const { maintenance, missed } = coverage;
  return {
    due: coverage.due,
    final: coverage.evaluated + coverage.errors,
    missed: maintenance === 0 ? missed : { ...missed, 'paused-by-maintenance': maintenance },
    cancelled: coverage.cancelled,
    onTheirWay: coverage.open,
  };
}

function added(parts: readonly Counts[]): Counts {
  const sum = (of: (part: Counts) => number) => parts.reduce((total, part) => total + of(part), 0);
  const byReason = (of: (part: Counts) => Readonly<Record<string, number>>) => {
    const total: Record<string, number> = {};
    for (const [reason, count] of parts.flatMap((part) => Object.entries(of(part)))) {
      total[reason] = (total[reason] ?? 0) + count;
    }
    return total;
  };
  return {
    due: sum(({ due }) => due),
    final: sum(({ final }) => final),
    missed: byReason(({ missed }) => missed),
    cancelled: byReason(({ cancelled }) => cancelled),
    onTheirWay: sum(({ onTheirWay }) => onTheirWay),
  };
}
