import { expect, test } from 'vitest';
import { joinedOptions, numberOption, unknownOptions } from '../bench/report.ts';

const usage = '[--checks=1000] [--engine=sqlite|postgres] [--kills] [--kills-per-minute=1]';

test('an option of a benchmark has its value behind an equals sign or a space', () => {
  const options = joinedOptions(['--kills', '--checks', '20', '--kills-per-minute=3']);
  expect(options).toEqual(['--kills', '--checks=20', '--kills-per-minute=3']);
  expect(numberOption({ options }, 'checks', 1000)).toBe(20);
  expect(numberOption({ options }, 'kills-per-minute', 1)).toBe(3);
});

test('options that a benchmark would ignore are named', () => {
  expect(unknownOptions(usage, ['--checks=20', '--kills', '--engine=sqlite'])).toEqual([]);
  const refused = ['--check=20', '--kill', '20', '-h', '--kills=20', '--checks'];
  expect(unknownOptions(usage, refused)).toEqual(refused);
});

test('an option without its number is refused', () => {
  for (const options of [['--checks'], ['--checks='], ['--checks=many']])
    expect(() => numberOption({ options }, 'checks', 1000)).toThrow('--checks needs a number');
});
