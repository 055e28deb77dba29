import { expect, it } from 'vitest';
import { bytes, counted, duration, percent, shortened } from './format.ts';
import { visible } from './text.ts';

it.each([
  [0, '0 ms'],
  [0.02, '0.02 ms'],
  [3.46, '3.5 ms'],
  [999.7, '1 s'],
  [1_234, '1.23 s'],
  [59_999, '60 s'],
  [90_000, '1 min 30 s'],
  [3_600_000, '1 h'],
  [90_061_000, '25 h 1 min'],
  [266_400_000, '3 d 2 h'],
])('%d ms are %s', (ms, text) => {
  expect(duration(ms)).toBe(text);
});

it('shows a share as whole only when it is', () => {
  expect(percent(1)).toBe('100 %');
  expect(percent(0.99999)).toBe('99.99 %');
  expect(percent(0.5)).toBe('50.00 %');
  expect(percent(0)).toBe('0 %');
});

it('counts and measures in words', () => {
  expect([counted(1, 'run'), counted(1_200, 'run')]).toEqual(['1 run', '1,200 runs']);
  expect([bytes(512), bytes(1_536), bytes(5 * 2 ** 20)]).toEqual(['512 bytes', '1.5 KiB', '5.0 MiB']);
});

it('cuts between letters, never within one', () => {
  expect(shortened('👩‍🚀👩‍🚀', 3)).not.toMatch(/[\uD800-\uDBFF]$/);
  expect(shortened('abcdef', 4)).toBe('abc…');
});

it('makes controls and turns of direction visible', () => {
  expect(visible('a\u0000b\u202Ec\r\nd')).toBe('a␀b⟨U+202E⟩c\nd');
});
