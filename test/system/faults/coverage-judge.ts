import type { Violation } from './checker.ts';
import type { CampaignCheck, LedgerRows, ShownCounts } from './history.ts';

/**
 * Every surface accounts for every slot: the slots that it shows as due in a window, and their outcomes, match the
 * ledger. Computed from the records alone, slot by slot.
 */
export function judgeCoverage(
  checks: readonly CampaignCheck[],
  ledger: LedgerRows,
  shown: readonly ShownCounts[],
): Violation[] {
  const recordsOf = Map.groupBy(ledger.runs, ({ checkId }) => checkId);
  const intervals = new Map(checks.map(({ id, intervalMs }) => [id, intervalMs]));
  return shown.flatMap((one): Violation[] => {
    const intervalMs = intervals.get(one.checkId);
    if (intervalMs === undefined) return [];
    const said = written(one);
    const expected = written(counted(recordsOf.get(one.checkId) ?? [], intervalMs, one.window));
    if (said === expected) return [];
    const window = one.window ? `from ${one.window.from} to ${one.window.to}` : 'in all';
    const text = `${one.surface} says of check ${one.checkId} ${window}: ${said}; the ledger has ${expected}`;
    return [{ code: 'coverage', text }];
  });
}

type Counts = Pick<ShownCounts, 'due' | 'final' | 'missed' | 'cancelled' | 'onTheirWay'>;

function counted(records: LedgerRows['runs'], intervalMs: number, window: ShownCounts['window']): Counts {
  const [missed, cancelled]: [Record<string, number>, Record<string, number>] = [{}, {}];
  let [due, final, onTheirWay] = [0, 0, 0];
  for (const { slotAt, slotCount, state, reason } of records) {
    for (let at = slotAt; at < slotAt + slotCount * intervalMs; at += intervalMs) {
      if (window && (at < window.from || at >= window.to)) continue;
      due += 1;
      if (state === 'final') final += 1;
      else if (state === 'missed' || state === 'cancelled') {
        const byReason = state === 'missed' ? missed : cancelled;
        byReason[reason ?? ''] = (byReason[reason ?? ''] ?? 0) + 1;
      } else onTheirWay += 1;
    }
  }
  return { due, final, missed, cancelled, onTheirWay };
}

function written({ due, final, missed, cancelled, onTheirWay }: Counts): string {
  const sorted = (counts: Readonly<Record<string, number>>) => Object.entries(counts).sort();
  return JSON.stringify({ due, final, missed: sorted(missed), cancelled: sorted(cancelled), onTheirWay });
}
