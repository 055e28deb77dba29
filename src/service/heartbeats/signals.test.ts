import { expect, it } from 'vitest';
import { saidBy } from './signals.ts';

const none = { failure: [], success: [], start: [] };
const filters = { failure: ['FAILED', 'error:'], success: ['OK'], start: ['begin'] };
const ping = { ending: undefined, status: undefined, body: null };

it.each([
  [{}, none, ['success', false, null]],
  [{ ending: 'start' }, none, ['start', false, null]],
  [{ ending: 'log' }, none, ['log', false, null]],
  [{ ending: 'fail' }, none, ['fail', true, null]],
  [{ ending: '0' }, none, ['exit', false, 0]],
  [{ ending: '255' }, none, ['exit', true, 255]],
  [{ status: 'up' }, none, ['success', false, null]],
  [{ status: 'down' }, none, ['fail', true, null]],
  [{ body: 'anything' }, none, ['success', false, null]],
  // A body decides only where the URL leaves it open.
  [{ ending: '0', body: 'FAILED' }, filters, ['exit', false, 0]],
  [{ status: 'up', body: 'FAILED' }, filters, ['success', false, null]],
  [{ body: 'begin, OK, FAILED' }, filters, ['fail', true, null]],
  [{ body: 'begin, OK' }, filters, ['success', false, null]],
  [{ body: 'begin' }, filters, ['start', false, null]],
  [{ body: 'failed' }, filters, ['log', false, null]],
  [{ body: '' }, filters, ['log', false, null]],
  [{}, filters, ['success', false, null]],
  [{ body: 'failed' }, { ...filters, success: [] }, ['success', false, null]],
] as const)('%j means %j', (words, texts, [signal, isFailure, exitCode]) => {
  expect(saidBy({ ...ping, ...words }, texts)).toEqual({ signal, isFailure, exitCode });
});
