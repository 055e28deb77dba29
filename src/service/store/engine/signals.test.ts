import { expect, it } from 'vitest';
import { merged, type Signal } from './signals.ts';

it('joins signals that say the same, and adds up counts', () => {
  const queued = (checkType: string, count: number): Signal => ({
    ...{ kind: 'queued', locationId: 'l', lane: 'probe', checkType, count },
  });
  const gone: Signal = { kind: 'cancelled', locationId: 'l', sessionId: 's', runId: 'r' };
  expect(
    merged([
      queued('URL', 2),
      { kind: 'alerts' },
      queued('TCP', 1),
      gone,
      queued('URL', 3),
      { kind: 'alerts' },
      { ...gone, runId: 'other' },
      queued('TCP', Number.MAX_SAFE_INTEGER),
    ]),
  ).toEqual([
    queued('URL', 5),
    { kind: 'alerts' },
    queued('TCP', Number.MAX_SAFE_INTEGER),
    gone,
    { ...gone, runId: 'other' },
  ]);
});
