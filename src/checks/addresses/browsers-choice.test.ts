import { expect, it } from 'vitest';
import { browsersChoice } from './browsers-choice.ts';

const made = (family: 4 | 6, connectMs: number) => ({ family, connectMs, failedMs: 0 });
const dead = (family: 4 | 6, failedMs: number) => ({ family, connectMs: undefined, failedMs });

it.each([
  ['IPv6 first, though IPv4 is quicker', [made(4, 1), made(6, 200)], 1],
  ['IPv4 where IPv6 takes longer than its lead', [made(4, 10), made(6, 300)], 0],
  ['IPv6 where it is late, and still sooner', [made(4, 100), made(6, 340)], 1],
  ['IPv4 at once where IPv6 refuses', [made(4, 30), dead(6, 1)], 0],
  ['the second of a family where the first is silent', [dead(4, 5000), made(4, 5)], 1],
  ['families in turn', [made(4, 20), dead(6, 5000), made(6, 1)], 0],
  ['none', [dead(4, 1), dead(6, 1)], undefined],
])('a browser chooses %s', (_what, attempts, expected) => {
  expect(browsersChoice(attempts)).toBe(expected);
});
