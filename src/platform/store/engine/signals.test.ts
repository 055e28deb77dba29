import { expect, it } from 'vitest';
import { merged, readMessage, type Signal } from './signals.ts';

it('merges equal signals, and adds up counts', () => {
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

it('reads known fields of a message, and nothing of an invalid message', () => {
  const gone = { kind: 'dismiss', locationId: 'l', sessionId: 's' };
  const text = JSON.stringify({
    origin: 'o',
    signals: [{ kind: 'of a later build' }, gone, { kind: 'tested' }, null],
  });
  expect(readMessage(text)).toEqual({ origin: 'o', signals: [gone] });
  for (const other of [
    '',
    'picket',
    'null',
    '{"signals":[]}',
    '{"origin":"","signals":[]}',
    '{"origin":"o","signals":{}}',
  ]) {
    expect(readMessage(other)).toBeUndefined();
  }
});
