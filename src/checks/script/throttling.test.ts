import { expect, it } from 'vitest';
import { ThrottlingField, throttlingDetail, throttlingText } from './throttling.ts';

const problems = (value: unknown) =>
  ThrottlingField.safeParse(value).error?.issues.map(({ path, message }) => `${path.join('.')} ${message}`);

it('throttling has a profile, or limits of its own', () => {
  expect(problems(null)).toBeUndefined();
  expect(problems({ profile: 'CUSTOM', latencyMs: 0 })).toBeUndefined();
  expect(problems({ profile: 'CUSTOM' })).toEqual([
    'profile CUSTOM needs downloadKbps, uploadKbps or latencyMs',
  ]);
  expect(problems({ profile: '3G', latencyMs: 5 })).toEqual(['latencyMs is for CUSTOM; 3G has its own']);
  expect(problems({ profile: 'CUSTOM', downloadKbps: 0, latencyMs: 60_001 })).toHaveLength(2);
});

it('is shown with its numbers', () => {
  const own = { downloadKbps: null, uploadKbps: null, latencyMs: null };
  expect(throttlingText(throttlingDetail({ ...own, profile: '3G' }))).toBe(
    '3G: 1600 kbit/s down, 768 kbit/s up, 300 ms latency',
  );
  expect(throttlingText(throttlingDetail({ ...own, profile: 'CUSTOM', latencyMs: 9 }))).toBe(
    'CUSTOM: 9 ms latency',
  );
});
