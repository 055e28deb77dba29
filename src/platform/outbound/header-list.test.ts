import { expect, it } from 'vitest';
import { headersOf } from './header-list.ts';

it('reads headers in the format of OpenTelemetry', () => {
  expect(headersOf(undefined)).toEqual([]);
  expect(headersOf('A=b%2Cc, x-y = d=e ,')).toEqual([
    ['a', 'b,c'],
    ['x-y', 'd=e'],
  ]);
});
