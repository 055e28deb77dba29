import { expect, it } from 'vitest';
import { changesOf, keptAnswer } from './changes.ts';

it('lists the fields that differ, and fields of a body that are never shown', () => {
  const before = { name: 'shop', frequency: 5, updated_at: 'a', value: '', warnings: [] };
  const after = { name: 'shop', frequency: 1, updated_at: 'b', value: '', warnings: ['x'] };
  expect(changesOf(before, after, { frequency: 1, value: 's3cret' })).toEqual({
    before: { frequency: 5 },
    after: { frequency: 1 },
    secrets: ['value'],
  });
  expect(changesOf(null, { id: 1, updated_at: null }, undefined).after).toEqual({ id: 1 });
  expect(changesOf({ id: 1 }, null, undefined)).toEqual({ before: { id: 1 }, after: null, secrets: [] });
});

it.each([
  [{ rawKey: 'ak_1' }],
  [{ request: { headers: [{ key: 'Authorization', value: 'ak_1' }] } }],
  [{ variables: [{ key: 'SHOP_API_KEY', value: 'ak_1' }] }],
  [{ config: { serviceKey: 'ak_1', botToken: 'ak_1', password: 'ak_1' } }],
  [{ proxyUrl: 'http://user:ak_1@proxy.test:8080' }],
  [{ proxyUrl: 'socks5://user:p@ss-ak_1@proxy.test:1080' }],
])('withholds values whose name says that they are secret: %j', (answer) => {
  const kept = JSON.stringify(keptAnswer(answer));
  expect(kept).not.toContain('ak_1');
  expect(kept).toContain('***');
});

it('keeps names that only resemble secrets, and empty values', () => {
  const answer = { maskedKey: '...abcd', passed: 'yes', key: 'STAGE', keyword: 'x', password: '' };
  expect(keptAnswer(answer)).toEqual(answer);
});

it('is bounded, whatever is written', () => {
  const long = {
    script: 'x'.repeat(1_000_000),
    many: Array.from({ length: 100_000 }, (_, index) => `n${index}`),
  };
  expect(JSON.stringify(changesOf(null, long, long)).length).toBeLessThan(70_000);
  const before = { script: `${'x'.repeat(3_000)}a` };
  expect(changesOf(before, { script: `${'x'.repeat(3_000)}b` }, {}).after).toHaveProperty('script');
});
