import type { Histories } from './history.ts';

/** What happened in a campaign, in numbers. */
export interface Figures {
  readonly slots: number;
  /** Slots by how they ended: the state, with the reason of those that were missed or cancelled. */
  readonly ends: Readonly<Record<string, number>>;
  readonly results: number;
  readonly attempts: number;
  /** Results that were reported again, and those that were fenced. */
  readonly duplicates: number;
  readonly stale: number;
  /** Failures that results of healthy targets tell: the fault of an agent that was stopped as a whole meanwhile. */
  readonly falseAlarms: number;
  readonly faults: Readonly<Record<string, number>>;
  /** From the death of a holder to the next lease of its run, in milliseconds, sorted. */
  readonly takeoversMs: readonly number[];
}

export function figuresOf({ checks, ledger, events }: Histories): Figures {
  const healthy = new Set(checks.filter(({ isHealthy }) => isHealthy).map(({ id }) => id));
  const ends: Record<string, number> = {};
  for (const run of ledger.runs) {
    const end = run.reason === null ? run.state : `${run.state}: ${run.reason}`;
    ends[end] = (ends[end] ?? 0) + run.slotCount;
  }
  const faults: Record<string, number> = {};
  for (const event of events) {
    if (event.kind === 'fault') faults[event.fault] = (faults[event.fault] ?? 0) + 1;
  }
  const receipts = events.flatMap((event) =>
    event.kind === 'results' ? event.reports.map(({ receipt }) => receipt) : [],
  );
  return {
    slots: ledger.runs.reduce((sum, run) => sum + run.slotCount, 0),
    ends,
    results: ledger.results.length,
    attempts: ledger.results.filter(({ type }) => type === 'ATTEMPT').length,
    duplicates: receipts.filter((receipt) => receipt === 'duplicate').length,
    stale: ledger.stale.length,
    falseAlarms: ledger.results.filter((row) => row.hasFailures === 1 && healthy.has(row.checkId)).length,
    faults,
    takeoversMs: takeovers(events).toSorted((a, b) => a - b),
  };
}

/**
 * How long the runs of killed agents waited for the next holder. Only what a user would call undisturbed: no service or
 * database fault in between, and the run was neither reported nor given back before the kill.
 */
function takeovers(events: Histories['events']): number[] {
  const claims = events.filter((event) => event.kind === 'claim');
  const kills = events.filter((event) => event.kind === 'ended' && event.signal === 'SIGKILL');
  const storms = events.filter(
    (event) =>
      event.kind === 'fault' && (event.fault.startsWith('service') || event.fault.startsWith('database')),
  );
  const over = new Map<string, number>();
  for (const event of events) {
    if (event.kind !== 'results' && event.kind !== 'release') continue;
    const leases = event.kind === 'results' ? event.reports : event.leases;
    for (const { runId, leaseNumber } of leases) over.set(`${runId} ${leaseNumber}`, event.askedAtMs);
  }
  const found: number[] = [];
  for (const kill of kills) {
    if (kill.kind !== 'ended') continue;
    for (const claim of claims) {
      if (claim.agent !== kill.process || claim.answeredAtMs > kill.atMs) continue;
      for (const { runId, leaseNumber } of claim.granted) {
        if (over.has(`${runId} ${leaseNumber}`)) continue;
        const next = claims
          .filter(
            (other) =>
              other.answeredAtMs > kill.atMs &&
              other.granted.some((lease) => lease.runId === runId && lease.leaseNumber === leaseNumber + 1),
          )
          .at(0);
        const heldUntilKill = !claims.some(
          (other) =>
            other.answeredAtMs <= kill.atMs &&
            other.granted.some((lease) => lease.runId === runId && lease.leaseNumber > leaseNumber),
        );
        if (!next || !heldUntilKill) continue;
        const isDisturbed = storms.some(
          (storm) => storm.kind === 'fault' && storm.fromMs < next.answeredAtMs && storm.toMs > kill.atMs,
        );
        if (!isDisturbed) found.push(next.answeredAtMs - kill.atMs);
      }
    }
  }
  return found;
}

/** The value below which a share of sorted values lies, by nearest rank; null without values. */
export function percentile(sorted: readonly number[], share: number): number | null {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? null;
}
