import { expect, it } from 'vitest';
import { shortChanges } from './changes.ts';
import type { Difference } from './differences.ts';

const difference = (group: string, name: string, fields: Partial<Difference> = {}): Difference => ({
  ...{ group, name, before: 'a', now: 'b', isDifferent: true, isVolatile: false, ...fields },
});

it('shows single values, and counts headers and lines of texts by name', () => {
  const changes = shortChanges([
    difference('Run', 'Failure', { before: 'none', now: 'STATUS_UNEXPECTED', kind: 'failure' }),
    difference('Run', 'Response time', { before: '20 ms', now: '2 s' }),
    difference('Time', 'DNS lookup', { isDifferent: false }),
    difference('Response', '', { before: '200 OK', now: '503 Down' }),
    difference('Response', 'Trace', { isVolatile: true }),
    ...['via', 'server', 'age', 'x-a', 'x-b', 'x-c'].map((name) =>
      difference('Response headers', name, { kind: 'header' }),
    ),
    difference('Response body', 'Size', { kind: 'text' }),
    difference('Response body', 'Line 3', { kind: 'text' }),
  ]);
  expect(changes).toEqual([
    { name: 'Response time', before: '20 ms', now: '2 s' },
    { name: 'Response', before: '200 OK', now: '503 Down' },
    { name: 'Response headers', before: null, now: null, note: 'via, server, age, x-a and 2 more' },
    { name: 'Response body', before: null, now: null, note: 'differs' },
  ]);
});
