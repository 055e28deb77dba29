import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { idInOrder } from './due-runs.ts';
import { resultIdOf } from './lease-store.ts';

const uuid = (version: number) =>
  new RegExp(`^[0-9a-f]{8}-[0-9a-f]{4}-${version}[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`);

it('are UUIDs that sort by time, and so are those of their results', () => {
  const at = Date.UTC(2026, 0, 1);
  const runs = [0, 1, 255, 86_400_000].map((later) => idInOrder(at + later));
  const results = runs.map((id) => resultIdOf(id, 1));
  expect(runs.toSorted()).toEqual(runs);
  expect(results.toSorted()).toEqual(results);
  for (const id of runs) expect(id).toMatch(uuid(7));
  for (const id of results) expect(id).toMatch(uuid(8));
  expect(idInOrder(at)).not.toBe(idInOrder(at));
  expect(new Set([1, 2, 3].map((lease) => resultIdOf(runs[0] ?? '', lease))).size).toBe(3);
});

it('leaves the results of other runs as they were: their agents have the ids of an older version', () => {
  const run = '0f1e2d3c-4b5a-4968-8776-655443322110';
  const hex = createHash('sha256').update(`${run}/3`).digest('hex');
  const id = resultIdOf(run, 3);
  expect(id).toMatch(uuid(8));
  expect(id.replaceAll('-', '').slice(0, 12)).toBe(hex.slice(0, 12));
  expect(id.slice(-12)).toBe(hex.slice(20, 32));
});
