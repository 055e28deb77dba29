import { expect, it } from 'vitest';
import { unmetNeeds } from './offered-types.ts';

const able = { workingTypes: ['URL', 'BROWSER'], runtimeIds: ['2026.04'], browserNames: ['firefox'] };
const need = (checkType: string, runtimeId: string | null, checkCount = 1, checkNames = ['Shop']) => ({
  checkType,
  runtimeId,
  browsers: [] as string[],
  checkCount,
  checkNames,
});

it('names the checks whose type or runtime an agent lacks, and no others', () => {
  expect(unmetNeeds([need('URL', null), need('BROWSER', '2026.04')], able)).toEqual([]);
  const unmet = unmetNeeds([need('ICMP', null), need('BROWSER', '2025.04', 5, ['A', 'B', 'C'])], able);
  expect(unmet).toMatchObject([
    {
      status: 'warning',
      about: 'ICMP',
      detail: '1 check (Shop) cannot run at this agent: the type is not offered',
    },
    {
      status: 'warning',
      about: 'BROWSER',
      detail: '5 checks (A, B, C, 2 more) cannot run here: the runtime 2025.04 is not installed',
      fix: expect.stringContaining('npm run runtimes:install -- 2025.04'),
    },
  ]);
});

it('names the checks whose browsers an agent lacks', () => {
  const suites = { ...able, workingTypes: ['PLAYWRIGHT'] };
  const firefox = { ...need('PLAYWRIGHT', null), browsers: ['firefox'] };
  expect(unmetNeeds([firefox], suites)).toEqual([]);
  expect(unmetNeeds([{ ...firefox, browsers: ['firefox', 'webkit'] }], suites)).toMatchObject([
    {
      detail: '1 check (Shop) cannot run here: this agent has no webkit',
      fix: 'To run it here, install it with "picket browsers install webkit".',
    },
  ]);
});
