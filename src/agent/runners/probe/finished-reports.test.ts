import { systemClock } from '@picket/lib/clock.ts';
import { expect, it } from 'vitest';
import type { FinishedRun } from '../../run/contracts.ts';
import { FinishedReports } from './finished-reports.ts';

it('sends reports together when the first may wait no longer', async () => {
  const sent = [Promise.withResolvers<string[]>(), Promise.withResolvers<string[]>()];
  let count = 0;
  const reports = new FinishedReports({
    clock: systemClock,
    send: (runs) => sent[count++]?.resolve(runs.map(({ report }) => report.runId)),
  });
  const add = (runId: string, waitMs: number) => reports.add({ report: { runId } } as FinishedRun, waitMs);
  add('patient', 3_600_000);
  add('urgent', 1);
  add('other', 1_000);
  expect(reports.count).toBe(3);
  expect(await sent[0]?.promise).toEqual(['patient', 'urgent', 'other']);
  add('next', 3_600_000);
  add('last', 0);
  expect(await sent[1]?.promise).toEqual(['next', 'last']);
  reports.sendAll();
  expect([reports.count, count]).toEqual([0, 2]);
});
