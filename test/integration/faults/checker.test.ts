import { describe, expect, it } from 'vitest';
import { judge } from '../../system/faults/checker.ts';
import type { Histories, HistoryEvent, LedgerRows } from '../../system/faults/history.ts';

const intervalMs = 10_000;
const check = {
  id: 'check',
  path: '/check/0',
  intervalMs,
  locations: ['north'],
  isParallel: false,
  isHealthy: true,
  createdWithin: [1_000, 1_010],
  endedWithin: [32_000, 32_010],
} as const;

type Run = LedgerRows['runs'][number];
type Result = LedgerRows['results'][number];

const run = (id: string, slotAt: number, fields: Partial<Run> = {}): Run => ({
  id,
  checkId: 'check',
  slotLocation: 'north',
  slotAt,
  slotCount: 1,
  state: 'final',
  reason: null,
  leaseNumber: 1,
  created: slotAt,
  ended: slotAt + 100,
  ...fields,
});
const result = (id: string, runId: string, started: number, fields: Partial<Result> = {}): Result => ({
  id,
  runId,
  checkId: 'check',
  type: 'FINAL',
  attempt: 0,
  created: started + 60,
  started,
  stopped: started + 50,
  hasFailures: 0,
  hasErrors: 0,
  code: null,
  message: null,
  ...fields,
});

/** One lease from its grant to its receipt, with the request to the target in between. */
function lease(runId: string, leaseNumber: number, atMs: number, receipt = 'accepted'): HistoryEvent[] {
  const call = { agent: 'agent-1', sessionId: 'session' };
  const resultId = `${runId}/${leaseNumber}`;
  return [
    {
      kind: 'claim',
      ...call,
      askedAtMs: atMs,
      answeredAtMs: atMs + 5,
      claimNumber: 1,
      lostClaims: [],
      granted: [{ runId, leaseNumber, resultId, checkId: 'check' }],
    },
    { kind: 'request', atMs: atMs + 10, endedAtMs: atMs + 20, path: '/check/0', status: 200 },
    {
      kind: 'results',
      ...call,
      askedAtMs: atMs + 30,
      answeredAtMs: atMs + 35,
      reports: [{ runId, leaseNumber, resultId, receipt }],
    },
  ];
}

/** Three slots without faults; the second has two attempts under two leases. */
function goodHistories(): Histories & {
  ledger: { runs: Run[]; results: Result[]; stale: LedgerRows['stale'][number][] };
  events: HistoryEvent[];
} {
  return {
    checks: [check],
    ledger: {
      runs: [run('a', 5_000), run('b', 15_000, { leaseNumber: 2 }), run('c', 25_000)],
      results: [
        result('a/1', 'a', 5_010),
        result('b/1', 'b', 15_010, { type: 'ATTEMPT', hasErrors: 1 }),
        result('b/2', 'b', 17_010, { attempt: 1 }),
        result('c/1', 'c', 25_010),
      ],
      stale: [],
    },
    events: [...lease('a', 1, 100), ...lease('b', 1, 200), ...lease('b', 2, 300), ...lease('c', 1, 400)],
  };
}

type Good = ReturnType<typeof goodHistories>;

describe('the judge of histories', () => {
  it('finds nothing where all is well', () => {
    expect(judge(goodHistories())).toEqual([]);
  });

  it.each<[string, string, (good: Good) => void]>([
    ['a slot without a record', 'slot-missing', ({ ledger }) => ledger.runs.splice(1, 1)],
    ['a missing first slot', 'slot-missing', ({ ledger }) => ledger.runs.splice(0, 1)],
    ['a missing last slot', 'slot-missing', ({ ledger }) => ledger.runs.splice(2, 1)],
    [
      'a record that stands for a slot that has its own',
      'slot-twice',
      ({ ledger }) => ledger.runs.splice(0, 1, run('a', 5_000, { slotCount: 2 })),
    ],
    [
      'a slot with two runs',
      'slot-twice',
      ({ ledger }) => ledger.runs.push(run('d', 25_000, { state: 'missed' })),
    ],
    [
      'a run that is still leased',
      'not-terminal',
      ({ ledger }) => ledger.runs.splice(2, 1, run('c', 25_000, { state: 'leased' })),
    ],
    ['a final run without a result', 'terminal-record', ({ ledger }) => ledger.results.splice(3, 1)],
    [
      'a run with two FINAL results',
      'terminal-record',
      ({ ledger }) => ledger.results.push(result('c/2', 'c', 26_000, { attempt: 1 })),
    ],
    [
      'a missed run with a FINAL result',
      'terminal-record',
      ({ ledger }) => ledger.runs.splice(2, 1, run('c', 25_000, { state: 'missed' })),
    ],
    [
      'an attempt that is missing',
      'attempts',
      ({ ledger }) => ledger.results.splice(2, 1, result('b/2', 'b', 17_010, { attempt: 2 })),
    ],
    [
      'a FINAL that comes before an attempt',
      'attempts',
      ({ ledger }) =>
        ledger.results.splice(
          1,
          2,
          result('b/1', 'b', 15_010),
          result('b/2', 'b', 17_010, { type: 'ATTEMPT', attempt: 1 }),
        ),
    ],
    [
      'attempts that overlap',
      'attempts',
      ({ ledger }) =>
        ledger.results.splice(1, 1, result('b/1', 'b', 15_010, { type: 'ATTEMPT', stopped: 19_000 })),
    ],
    [
      'an acknowledged result that is gone',
      'acknowledged-lost',
      ({ events }) => events.push(...lease('c', 2, 500, 'duplicate')),
    ],
    [
      'a fenced result that counts',
      'fenced-counted',
      ({ events }) => events.splice(0, 3, ...lease('a', 1, 100, 'stale')),
    ],
    [
      'a result that is accepted twice',
      'fenced-counted',
      ({ events }) => events.push(...lease('a', 1, 100).slice(2)),
    ],
    ['a result that nobody reported', 'result-from-nowhere', ({ events }) => events.splice(2, 1)],
    [
      'a lease that is granted twice',
      'lease-number',
      ({ events }) => events.push(...lease('a', 1, 900).slice(0, 1)),
    ],
    [
      'lease numbers that fall',
      'lease-number',
      ({ events }) => events.push(...lease('b', 0, 900).slice(0, 1)),
    ],
    [
      'a result under a lease that had a newer one',
      'holders-overlap',
      ({ events }) => events.push(...lease('a', 2, 120).slice(0, 1)),
    ],
    [
      'a renewal of a lease that had a newer one',
      'holders-overlap',
      ({ events }) =>
        events.push({
          kind: 'renew',
          agent: 'agent-1',
          sessionId: 'session',
          askedAtMs: 350,
          answeredAtMs: 352,
          leases: [{ runId: 'b', leaseNumber: 1 }],
          lost: [],
        }),
    ],
    [
      'a result under a lease that was given back',
      'holders-overlap',
      ({ events }) =>
        events.push({
          kind: 'release',
          agent: 'agent-1',
          sessionId: 'session',
          askedAtMs: 410,
          answeredAtMs: 412,
          leases: [{ runId: 'c', leaseNumber: 1 }],
        }),
    ],
    ['a pass that the target knows nothing of', 'no-request', ({ events }) => events.splice(1, 1)],
    [
      'a healthy target that is blamed',
      'false-alarm',
      ({ ledger }) => ledger.results.splice(0, 1, result('a/1', 'a', 5_010, { hasFailures: 1 })),
    ],
    [
      'a process that ends by itself',
      'process-ended',
      ({ events }) =>
        events.push({
          kind: 'ended',
          process: 'service-1',
          atMs: 500,
          isByUs: false,
          wasReady: true,
          code: 1,
          signal: null,
        }),
    ],
  ])('finds %s', (_what, code, doctor) => {
    const histories = goodHistories();
    doctor(histories);
    const found = judge(histories);
    expect(found.map((violation) => violation.code)).toContain(code);
  });
});
