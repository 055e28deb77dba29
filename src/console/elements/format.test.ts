import { expect, it } from 'vitest';
import { ago, bytes, instant, shortened } from './format.ts';
import { visible } from './text.ts';

it('shows instants and their age, never a negative time', () => {
  const at = Date.UTC(2026, 10, 12, 9, 30, 5);
  expect(String(instant(at))).toContain('>2026-11-12 09:30:05 UTC</time>');
  expect(String(ago(at, at + 119_000))).toContain('>1 min ago</time>');
  expect(String(ago(at, at - 14))).toContain('>just now</time>');
});

it('measures in words', () => {
  expect([bytes(512), bytes(1_536), bytes(5 * 2 ** 20)]).toEqual(['512 bytes', '1.5 KiB', '5.0 MiB']);
});

it('cuts between characters, never inside one', () => {
  expect(shortened('👩‍🚀👩‍🚀', 3)).not.toMatch(/[\uD800-\uDBFF]$/);
  expect(shortened('abcdef', 4)).toBe('abc…');
});

it('makes control characters and direction marks visible', () => {
  expect(visible('a\u0000b\u202Ec\r\nd')).toBe('a␀b⟨U+202E⟩c\nd');
});
