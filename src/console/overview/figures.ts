import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '@picket/lib/errors.ts';
import { type Share, shareOfPercent } from '@picket/lib/figures/share.ts';
import { LruMap } from '@picket/lib/lru.ts';
import { analyticsRoutes } from '@picket/protocol/results/analytics.ts';
import { measuredShare } from '@picket/protocol/runs/coverage.ts';
import type { PageCall } from '../page.ts';

/** Figures of a check over a window. */
export interface Figures {
  /** Passed share of the measured runs; null without any. */
  readonly availability: Share | null;
  /** Measured share of the due slots; null without any. */
  readonly coverage: Share | null;
  readonly p95Ms: number | null;
}

export interface CheckFigures {
  readonly day: Figures;
  readonly week: Figures;
}

/** Figures are refreshed after this time, and when a check has a newer slot. */
const keptMs = 60_000;
/** Maximum wait of a page for missing figures: they appear in its next state. */
const longestWaitMs = 60;

/** Batch size: pages of single checks query the same thread, and need not wait for all batches. */
const portion = 10;

interface Kept {
  /** When they were requested. */
  readonly at: number;
  /** The newest slot that had ended then: figures are hidden next to bars with a newer one. */
  readonly newestSlot: string;
  /** null until the first response. */
  readonly figures: CheckFigures | null;
}

const kept = new LruMap<string, Kept>(20_000);

/**
 * Returns the figures of the checks of a page, from operations of the API: those of the last minute, older ones during
 * a refresh, and none if they are late. Figures and bars belong to the same moment: for a check with a newer slot, old
 * figures are hidden.
 *
 * @param newest the newest ended slot of each check.
 */
export async function figuresOf(
  call: PageCall,
  ids: readonly string[],
  newest: ReadonlyMap<string, string>,
): Promise<Map<string, CheckFigures>> {
  const newestOf = (id: string) => newest.get(id) ?? '';
  const { accountId } = call.viewer;
  const now = call.clock.wallMs();
  const keptOf = (id: string) => kept.get(`${accountId} ${id}`);
  const due = ids.filter((id) => {
    const found = keptOf(id);
    return (
      found === undefined || now - found.at >= keptMs || now < found.at || found.newestSlot !== newestOf(id)
    );
  });
  const known = () => new Map(ids.flatMap((id) => entryOf(id, keptOf(id)?.figures)));
  if (due.length === 0) return known();
  for (const id of due) {
    const found = keptOf(id);
    const figures = found?.newestSlot === newestOf(id) ? found.figures : null;
    kept.set(`${accountId} ${id}`, { at: now, newestSlot: newestOf(id), figures });
  }
  const asking = ask(call, due, { now, newestOf }).catch((thrown: unknown) => {
    call.request.log.warn({ err: thrown }, 'figures of the overview could not be read');
    for (const id of due) {
      const figures = keptOf(id)?.figures ?? null;
      kept.set(`${accountId} ${id}`, { at: 0, newestSlot: newestOf(id), figures });
    }
    // The list is of use without figures, which its next state requests again: a reader who turns pages quickly fills the queue.
    if (!(thrown instanceof AppError && thrown.code === 'RATE_LIMITED')) throw thrown;
  });
  // Figures that are late fail after their page has been sent.
  asking.catch(() => undefined);
  if (known().size < ids.length)
    await Promise.race([asking, sleep(longestWaitMs, undefined, { ref: false })]);
  return known();
}

function entryOf(id: string, figures: CheckFigures | null | undefined): [string, CheckFigures][] {
  return figures ? [[id, figures]] : [];
}

async function ask(
  call: PageCall,
  ids: readonly string[],
  { now, newestOf }: { readonly now: number; readonly newestOf: (id: string) => string },
): Promise<void> {
  for (let start = 0; start < ids.length; start += portion) {
    const some = ids.slice(start, start + portion);
    const [day, week] = await Promise.all([
      windowFigures(call, some, 'last24Hours'),
      windowFigures(call, some, 'last7Days'),
    ]);
    for (const id of some) {
      const figures = { day: day.get(id) ?? none, week: week.get(id) ?? none };
      const key = `${call.viewer.accountId} ${id}`;
      // Another reader may have requested it meanwhile, with newer bars.
      if ((kept.get(key)?.at ?? 0) <= now) kept.set(key, { at: now, newestSlot: newestOf(id), figures });
    }
  }
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
        availability: shareOfPercent(numberOf(row['availability'])),
        coverage: measuredShare(row.coverage),
        p95Ms: numberOf(row['responseTime_p95'] ?? row['latency_p95'] ?? null),
      },
    ]),
  );
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}
