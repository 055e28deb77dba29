import { expect, it } from 'vitest';
import type { FinishedRun, RunOrigin, Verdict } from '../run/contracts.ts';
import { FinishedRuns, type FinishedRunsOptions } from './finished-runs.ts';

it('lets the reports of checks wait that pass as they did before, if the service says so', () => {
  const waits: boolean[] = [];
  const runs = new FinishedRuns({
    locationWatch: { canExplain: () => false },
    count: () => undefined,
    delivery: {
      deliver: (_report: unknown, _kind: unknown, { mayWait }: { mayWait: boolean }) =>
        void waits.push(mayWait),
    },
  } as unknown as FinishedRunsOptions);
  const finish = (verdict: Verdict, origin?: Partial<RunOrigin>) => {
    const run = { report: {}, facts: { verdict, unmaskedNames: [] } } as unknown as FinishedRun;
    runs.take(run, origin && { slotAtMs: 0, checkId: 'a', mayReportLater: true, ...origin });
    return waits.at(-1);
  };
  expect(finish('passed', {})).toBe(false);
  expect(finish('passed', {})).toBe(true);
  expect(finish('passed', { checkId: 'b' })).toBe(false);
  expect(finish('passed', { mayReportLater: false })).toBe(false);
  expect(finish('passed', {})).toBe(true);
  expect(finish('failed', {})).toBe(false);
  expect(finish('failed', {})).toBe(false);
  expect(finish('passed', {})).toBe(false);
  expect(finish('degraded', {})).toBe(false);
  expect(finish('passed')).toBe(false);
});
