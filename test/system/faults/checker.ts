import { judgeCoverage } from './coverage-judge.ts';
import type {
  CampaignCheck,
  ClaimEvent,
  Histories,
  HistoryEvent,
  LedgerRows,
  ReleaseEvent,
  RenewEvent,
  ResultsEvent,
} from './history.ts';

/** An error that a campaign revealed. `code` is stable, `text` says where to look. */
export interface Violation {
  readonly code:
    | 'slot-missing'
    | 'slot-twice'
    | 'not-terminal'
    | 'terminal-record'
    | 'attempts'
    | 'acknowledged-lost'
    | 'fenced-counted'
    | 'result-from-nowhere'
    | 'lease-number'
    | 'holders-overlap'
    | 'no-request'
    | 'false-alarm'
    | 'process-ended'
    | 'coverage';
  readonly text: string;
}

type Run = LedgerRows['runs'][number];
type Result = LedgerRows['results'][number];

/** Targets share the machine with everything else in a campaign: their speed is not judged. */
const tooSlow = 'MAX_RESPONSE_TIME_EXCEEDED';
const terminal = new Set(['final', 'missed', 'cancelled']);

/** Agents correct their clocks to within this; instants of two agents can only be ordered beyond it. */
const clockErrorMs = 1_000;

/** Judges the histories of a campaign by the invariants of the ledger. Returns an empty list if all of them hold. */
export function judge(histories: Histories): Violation[] {
  const { checks, ledger, events, shown = [] } = histories;
  const runs = new Map(ledger.runs.map((run) => [run.id, run]));
  const calls = sortedCalls(events);
  return [
    ...checks.flatMap((check) => judgeSlots(check, ledger.runs)),
    ...judgeEnds(ledger),
    ...judgeAcknowledgements(ledger, events, calls),
    ...judgeLeases(calls),
    ...judgeEvidence(checks, runs, ledger.results, events, calls),
    ...judgeProcesses(events),
    ...judgeCoverage(checks, ledger, shown),
  ];
}

interface Calls {
  readonly claims: readonly ClaimEvent[];
  readonly renewals: readonly RenewEvent[];
  readonly releases: readonly ReleaseEvent[];
  readonly reports: readonly ResultsEvent[];
}

function sortedCalls(events: readonly HistoryEvent[]): Calls {
  const of = <K extends HistoryEvent['kind']>(kind: K) =>
    events.filter((event): event is HistoryEvent & { kind: K } => event.kind === kind);
  const inOrder = <T extends { readonly answeredAtMs: number }>(list: T[]) =>
    list.sort((left, right) => left.answeredAtMs - right.answeredAtMs);
  return {
    claims: inOrder(of('claim') as ClaimEvent[]),
    renewals: inOrder(of('renew') as RenewEvent[]),
    releases: inOrder(of('release') as ReleaseEvent[]),
    reports: inOrder(of('results') as ResultsEvent[]),
  };
}

/** Slots become runs up to this long before they are due (ADR 52). */
const earlyMs = 1_500;

/**
 * Every slot is in exactly one record: the records of a check at a location are contiguous, from the first slot after
 * its creation to the last one before its deactivation, or the one after it if that was already a run. Computed
 * without the product's schedule.
 */
function judgeSlots(check: CampaignCheck, allRuns: readonly Run[]): Violation[] {
  const violations: Violation[] = [];
  const own = allRuns.filter((run) => run.checkId === check.id).sort((a, b) => a.slotAt - b.slotAt);
  const rows = check.isParallel
    ? check.locations.map((location) => own.filter((run) => run.slotLocation === location))
    : [own];
  for (const records of rows) {
    const where = `check ${check.id}${check.isParallel ? ` at ${records[0]?.slotLocation}` : ''}`;
    const [earliest, latest] = [check.createdWithin[0], check.endedWithin[1]];
    const first = records[0];
    const last = records.at(-1);
    if (!first || !last) {
      violations.push({ code: 'slot-missing', text: `${where} has no record at all` });
      continue;
    }
    const lastSlotAt = last.slotAt + (last.slotCount - 1) * check.intervalMs;
    if (first.slotAt > check.createdWithin[1] + check.intervalMs || first.slotAt < earliest)
      violations.push({ code: 'slot-missing', text: `${where} begins with the slot at ${first.slotAt}` });
    if (lastSlotAt <= check.endedWithin[0] - check.intervalMs || lastSlotAt > latest + earlyMs)
      violations.push({ code: 'slot-missing', text: `${where} ends with the slot at ${lastSlotAt}` });
    for (const [index, record] of records.entries()) {
      const next = records[index + 1];
      if (!next) break;
      const expected = record.slotAt + record.slotCount * check.intervalMs;
      if (next.slotAt === expected) continue;
      const code = next.slotAt < expected ? 'slot-twice' : 'slot-missing';
      violations.push({
        code,
        text: `${where}: after ${record.slotAt} comes ${next.slotAt}, not ${expected}`,
      });
    }
  }
  return violations;
}

/** Runs are terminal and have the matching results; attempts are in order and FINAL is the last. */
function judgeEnds(ledger: LedgerRows): Violation[] {
  const violations: Violation[] = [];
  const byRun = Map.groupBy(ledger.results, ({ runId }) => runId);
  const known = new Set(ledger.runs.map(({ id }) => id));
  for (const result of ledger.results) {
    if (!known.has(result.runId))
      violations.push({ code: 'terminal-record', text: `result ${result.id} has no run` });
  }
  for (const run of ledger.runs) {
    const results = (byRun.get(run.id) ?? []).toSorted((a, b) => a.attempt - b.attempt);
    const told = `run ${run.id} (${run.state}, ${run.reason})`;
    if (!terminal.has(run.state)) violations.push({ code: 'not-terminal', text: told });
    const finals = results.filter(({ type }) => type === 'FINAL').length;
    if (finals !== (run.state === 'final' ? 1 : 0))
      violations.push({ code: 'terminal-record', text: `${told} has ${finals} FINAL results` });
    for (const [index, result] of results.entries()) {
      const next = results[index + 1];
      if (result.attempt !== index)
        violations.push({ code: 'attempts', text: `${told}: attempt ${result.attempt} is number ${index}` });
      if (!next) continue;
      if (result.type === 'FINAL')
        violations.push({ code: 'attempts', text: `${told}: FINAL is not the last` });
      if (result.created > next.created || result.stopped > next.started + clockErrorMs)
        violations.push({
          code: 'attempts',
          text: `${told}: attempt ${next.attempt} began before the last ended`,
        });
    }
  }
  return violations;
}

/** Acknowledged results are stored, fenced ones are not, and stored ones were reported. */
function judgeAcknowledgements(
  ledger: LedgerRows,
  events: readonly HistoryEvent[],
  { reports }: Calls,
): Violation[] {
  const violations: Violation[] = [];
  const stored = new Set(ledger.results.map(({ id }) => id));
  const sent = new Set<string>();
  for (const { agent, reports: items } of reports) {
    for (const { resultId, receipt } of items) {
      sent.add(resultId);
      const text = `result ${resultId} of ${agent}: ${receipt}`;
      if (['accepted', 'duplicate'].includes(receipt) && !stored.has(resultId))
        violations.push({ code: 'acknowledged-lost', text });
      if (receipt === 'stale' && stored.has(resultId)) violations.push({ code: 'fenced-counted', text });
    }
  }
  const accepted = reports.flatMap(({ reports: items }) =>
    items.filter(({ receipt }) => receipt === 'accepted').map(({ resultId }) => resultId),
  );
  for (const [resultId, times] of Map.groupBy(accepted, (id) => id)) {
    if (times.length > 1)
      violations.push({
        code: 'fenced-counted',
        text: `result ${resultId} was accepted ${times.length} times`,
      });
  }
  for (const event of events) {
    if (event.kind === 'unanswered') for (const id of event.resultIds) sent.add(id);
  }
  for (const result of ledger.results) {
    if (!sent.has(result.id))
      violations.push({ code: 'result-from-nowhere', text: `nobody reported result ${result.id}` });
  }
  return violations;
}

/**
 * Fencing tokens of a run increase, and an old one is invalid: no renewal and no result under it is accepted if it was
 * sent after a newer lease had been granted.
 */
function judgeLeases({ claims, renewals, releases, reports }: Calls): Violation[] {
  const violations: Violation[] = [];
  const granted = new Map<string, { readonly leaseNumber: number; readonly claim: ClaimEvent }[]>();
  for (const claim of claims) {
    for (const { runId, leaseNumber } of claim.granted) {
      const leases = granted.get(runId) ?? [];
      const text = `lease ${leaseNumber} of run ${runId}`;
      if (leases.some((other) => other.leaseNumber === leaseNumber))
        violations.push({ code: 'lease-number', text: `${text} was granted twice` });
      if (leases.some((o) => o.leaseNumber > leaseNumber && o.claim.answeredAtMs < claim.askedAtMs))
        violations.push({ code: 'lease-number', text: `${text} came after a higher one` });
      leases.push({ leaseNumber, claim });
      granted.set(runId, leases);
    }
  }
  const overtaken = (runId: string, leaseNumber: number, askedAtMs: number) =>
    granted
      .get(runId)
      ?.some((other) => other.leaseNumber > leaseNumber && other.claim.answeredAtMs < askedAtMs) ?? false;
  for (const renewal of renewals) {
    for (const { runId, leaseNumber } of renewal.leases) {
      if (renewal.lost.includes(runId) || !overtaken(runId, leaseNumber, renewal.askedAtMs)) continue;
      const text = `${renewal.agent} renewed lease ${leaseNumber} of run ${runId}, which had a newer one`;
      violations.push({ code: 'holders-overlap', text });
    }
  }
  const acceptedOf = new Map<string, { readonly leaseNumber: number; readonly answeredAtMs: number }>();
  for (const report of reports) {
    for (const { runId, leaseNumber, receipt } of report.reports) {
      if (receipt !== 'accepted') continue;
      acceptedOf.set(`${runId} ${leaseNumber}`, { leaseNumber, answeredAtMs: report.answeredAtMs });
      if (!overtaken(runId, leaseNumber, report.askedAtMs)) continue;
      const text = `a result of ${report.agent} under lease ${leaseNumber} of run ${runId} was taken, which had a newer one`;
      violations.push({ code: 'holders-overlap', text });
    }
  }
  // A lease that was released, or reported under, is over.
  for (const release of releases) {
    for (const { runId, leaseNumber } of release.leases) {
      const later = reports.find(
        (report) =>
          report.askedAtMs > release.answeredAtMs &&
          report.reports.some(
            (each) => each.runId === runId && each.leaseNumber === leaseNumber && each.receipt === 'accepted',
          ),
      );
      if (later)
        violations.push({
          code: 'holders-overlap',
          text: `lease ${leaseNumber} of run ${runId} was given back, and a result under it was taken`,
        });
    }
  }
  return violations;
}

/** The target received a request for each pass, from the holder of the lease; a healthy target is never blamed. */
function judgeEvidence(
  checks: readonly CampaignCheck[],
  runs: ReadonlyMap<string, Run>,
  results: readonly Result[],
  events: readonly HistoryEvent[],
  { claims, reports }: Calls,
): Violation[] {
  const violations: Violation[] = [];
  const checkOf = new Map(checks.map((check) => [check.id, check]));
  const requests = Map.groupBy(
    events.filter((event) => event.kind === 'request'),
    ({ path }) => path,
  );
  const grantedAtMs = new Map(
    claims.flatMap((claim) => claim.granted.map(({ resultId }) => [resultId, claim.askedAtMs] as const)),
  );
  const takenAtMs = new Map(
    reports.flatMap((report) =>
      report.reports.map(({ resultId }) => [resultId, report.answeredAtMs] as const),
    ),
  );
  for (const result of results) {
    const check = checkOf.get(result.checkId);
    const run = runs.get(result.runId);
    if (!check || !run) continue;
    if (check.isHealthy && result.hasFailures === 1 && result.code !== tooSlow)
      violations.push({
        code: 'false-alarm',
        text: `result ${result.id} of a healthy target: ${result.code} ${result.message}`,
      });
    if (result.hasErrors === 1 || result.hasFailures === 1) continue;
    const [fromMs, toMs] = [grantedAtMs.get(result.id) ?? 0, takenAtMs.get(result.id) ?? Number.MAX_VALUE];
    const isSeen = requests
      .get(check.path)
      ?.some((request) => request.atMs >= fromMs && request.atMs <= toMs);
    if (!isSeen)
      violations.push({
        code: 'no-request',
        text: `result ${result.id} passed; no request came to ${check.path}`,
      });
  }
  return violations;
}

/** No ready process exits by itself, whatever happens around it. */
function judgeProcesses(events: readonly HistoryEvent[]): Violation[] {
  return events.flatMap((event): Violation[] =>
    event.kind === 'ended' && !event.isByUs && event.wasReady
      ? [{ code: 'process-ended', text: `${event.process} ended by itself (${event.code}, ${event.signal})` }]
      : [],
  );
}
