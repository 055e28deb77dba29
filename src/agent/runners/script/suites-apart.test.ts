import { expect, it } from 'vitest';
import { suitesApart } from './suites-apart.ts';

it.each([
  ['leaves room for one run, which may be a suite', [], [], { count: 1, fullTypes: [] }],
  ['leaves none for a second suite', ['PLAYWRIGHT'], [], { count: 4, fullTypes: ['PLAYWRIGHT'] }],
  ['takes other scripts for no suites', ['BROWSER'], [], { count: 1, fullTypes: [] }],
  [
    'leaves all room where there is none for suites',
    [],
    ['PLAYWRIGHT'],
    { count: 4, fullTypes: ['PLAYWRIGHT'] },
  ],
] as const)('on a shared network it %s', (_what, running, fullTypes, expected) => {
  expect(suitesApart({ count: 4, fullTypes }, running)).toEqual(expected);
});
