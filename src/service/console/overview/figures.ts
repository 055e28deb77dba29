import { LruMap } from '../../../lib/lru.ts';
import { analyticsRoutes } from '../../../protocol/results/analytics.ts';
import type { PageCall } from '../page.ts';

/** What a check amounted to over a window. */
export interface Figures {
  /** Share of runs that passed, of those that were measured; null without any. */
  readonly availability: number | null;
  /** Share of slots that were measured, of those that were due; null when none was. */
  readonly coverage: number | null;
  readonly p95Ms: number | null;
}

export interface CheckFigures {
  readonly day: Figures;
  readonly week: Figures;
}

/** Figures are asked for anew after this time: many readers must not ask for the same. */
const keptMs = 60_000;

const kept = new LruMap<string, { readonly at: number; readonly figures: CheckFigures }>(20_000);

/** The figures of the checks of a page, from the operations of the API. */
export async function figuresOf(call: PageCall, ids: readonly string[]): Promise<Map<string, CheckFigures>> {
  const now = call.clock.wallMs();
  const known = new Map<string, CheckFigures>();
  const unknown: string[] = [];
  for (const id of ids) {
    const found = kept.get(`${call.viewer.accountId} ${id}`);
    if (found && now - found.at < keptMs && now >= found.at) known.set(id, found.figures);
    else unknown.push(id);
  }
  if (unknown.length === 0) return known;
  const [day, week] = await Promise.all([
    windowFigures(call, unknown, 'last24Hours'),
    windowFigures(call, unknown, 'last7Days'),
  ]);
  for (const id of unknown) {
    const figures = { day: day.get(id) ?? none, week: week.get(id) ?? none };
    known.set(id, figures);
    kept.set(`${call.viewer.accountId} ${id}`, { at: now, figures });
  }
  return known;
}

const none: Figures = { availability: null, coverage: null, p95Ms: null };

async function windowFigures(
  { api }: PageCall,
  ids: readonly string[],
  quickRange: 'last24Hours' | 'last7Days',
): Promise<Map<string, Figures>> {
  const rows = await api.call(analyticsRoutes.overviewOfChecks, { body: { checkIds: [...ids], quickRange } });
  return new Map(
    rows.map((row) => [
      row.checkId,
      {
        availability: share(row['availability']),
        coverage: share(row.coverage.percent),
        p95Ms: numberOf(row['responseTime_p95'] ?? row['latency_p95'] ?? null),
      },
    ]),
  );
}

/** Analytics say percentages. */
function share(value: unknown): number | null {
  const percentage = numberOf(value);
  return percentage === null ? null : percentage / 100;
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}
