import { expect, it } from 'vitest';
import { nearestName } from './nearest-name.ts';

it.each([
  ['frequncy', ['frequency', 'frequencyOffset'], 'frequency'],
  ['feild', ['field', 'fold'], 'field'],
  ['JOB_CONCURENCY', ['JOB_CONCURRENCY', 'API_KEY'], 'JOB_CONCURRENCY'],
  ['private_locations', ['locations', 'privateLocations'], 'privateLocations'],
  ['url', ['uri', 'headers'], 'uri'],
])('takes %s for one of %j', (written, known, meant) => {
  expect(nearestName(written, known)).toBe(meant);
});

it.each([
  ['colour', ['name', 'tags']],
  ['x', ['name', 'tags']],
  ['a'.repeat(65), ['a'.repeat(64)]],
  ['anything', []],
])('finds nothing similar to %s in %j', (written, known) => {
  expect(nearestName(written, known)).toBeUndefined();
});
