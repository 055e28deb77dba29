import type { Histories } from './history.ts';

/** Statistics of a campaign. */
export interface Figures {
  readonly slots: number;
  /** Slots by outcome: the state, with the reason for missed or cancelled ones. */
  readonly ends: Readonly<Record<string, number>>;
  readonly results: number;
  readonly attempts: number;
  /** Results that were reported again, and results that were fenced. */
  readonly duplicates: number;
  readonly stale: number;
  /** Claims whose leases were neither reported under, nor released, nor taken back. */
  readonly expiredClaims: number;
  readonly faults: Readonly<Record<string, number>>;
  /**
   * From the death of a holder to the next lease of its run, in milliseconds, sorted: those without a fault of the
   * service or database in between, and the others.
   */
  readonly takeoversMs: readonly number[];
  readonly disturbedTakeoversMs: readonly number[];
}

export function figuresOf({ ledger, events }: Histories): Figures {
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
    expiredClaims: expiredClaims(events),
    faults,
    ...takeovers(events),
  };
}

function leasesOver(events: Histories['events']): Set<string> {
  return new Set(
    events.flatMap((event) => {
      const leases = event.kind === 'results' ? event.reports : event.kind === 'release' ? event.leases : [];
      return leases.map(({ runId, leaseNumber }) => `${runId} ${leaseNumber}`);
    }),
  );
}

function expiredClaims(events: Histories['events']): number {
  const over = leasesOver(events);
  const claims = events.filter((event) => event.kind === 'claim');
  const takenBack = new Set(
    claims.flatMap(({ sessionId, lostClaims }) => lostClaims.map((number) => `${sessionId} ${number}`)),
  );
  return claims.filter(
    ({ sessionId, claimNumber, granted }) =>
      !takenBack.has(`${sessionId} ${claimNumber}`) &&
      granted.some(({ runId, leaseNumber }) => !over.has(`${runId} ${leaseNumber}`)),
  ).length;
}

/** How long runs of killed agents waited for their next holder. */
function takeovers(events: Histories['events']): Pick<Figures, 'takeoversMs' | 'disturbedTakeoversMs'> {
  const claims = events.filter((event) => event.kind === 'claim');
  const storms = events
    .filter((event) => event.kind === 'fault')
    .filter(({ fault }) => fault.startsWith('service') || fault.startsWith('database'));
  const granted = new Map(
    claims.flatMap((claim) =>
      claim.granted.map(({ runId, leaseNumber }) => [`${runId} ${leaseNumber}`, claim] as const),
    ),
  );
  const over = leasesOver(events);
  const [calm, disturbed]: [number[], number[]] = [[], []];
  for (const kill of events) {
    if (kill.kind !== 'ended' || kill.signal !== 'SIGKILL') continue;
    const own = claims.filter((claim) => claim.agent === kill.process && claim.answeredAtMs < kill.atMs);
    for (const { runId, leaseNumber } of own.flatMap((claim) => claim.granted)) {
      const next = granted.get(`${runId} ${leaseNumber + 1}`);
      // Reported, released, lost before the kill, or never leased again.
      if (over.has(`${runId} ${leaseNumber}`) || !next || next.answeredAtMs < kill.atMs) continue;
      const isCalm = !storms.some(({ fromMs, toMs }) => fromMs < next.answeredAtMs && toMs > kill.atMs);
      (isCalm ? calm : disturbed).push(next.answeredAtMs - kill.atMs);
    }
  }
  const byLength = (left: number, right: number) => left - right;
  return { takeoversMs: calm.sort(byLength), disturbedTakeoversMs: disturbed.sort(byLength) };
}

/** The value at a share of sorted values, by nearest rank; null without values. */
export function percentile(sorted: readonly number[], share: number): number | null {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? null;
}
