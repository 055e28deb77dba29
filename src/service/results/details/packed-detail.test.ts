import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ResultRow } from '../tables.ts';
import { detailDictionary } from './dictionary.ts';
import { packRow, unpackRow } from './packed-detail.ts';

const row = (detail: string | null) => ({ id: 'r', detail }) as ResultRow;

describe('packed details', () => {
  it('come back as they were', () => {
    fc.assert(
      fc.property(fc.json(), (json) => {
        expect(unpackRow(packRow(row(json)))).toEqual(row(json));
      }),
    );
    const long = JSON.stringify({ body: 'déjà vu \u2028 😀 '.repeat(20_000) });
    expect(unpackRow(packRow(row(long)))).toEqual(row(long));
    expect(unpackRow(packRow(row(null)))).toEqual(row(null));
  });

  it('are much shorter than what they were made of, where that is not short', () => {
    const json = JSON.stringify({
      assertions: [],
      request: { method: 'GET', url: 'https://shop.example.com/', data: '', headers: {}, params: {} },
      response: { status: 200, statusText: 'OK', body: 'Hello', headers: { server: 'nginx' } },
      requestError: null,
    });
    const { detail, packed_detail: packed } = packRow(row(json));
    expect(detail).toBeNull();
    expect(packed?.length).toBeLessThan(json.length / 2);
    expect(packRow(row('{"state":"RECEIVING"}'))).toMatchObject({
      detail: '{"state":"RECEIVING"}',
      packed_detail: null,
    });
  });

  it('say when a detail was left out', () => {
    const packed = packRow({ ...row('{"body":"x"}'), is_detail_left_out: true });
    expect(packed).toMatchObject({ detail: null, packed_detail: new Uint8Array(0) });
    expect(unpackRow(packed)).toEqual({ id: 'r', detail: null, is_detail_left_out: true });
  });

  it('are refused in a format of a later build', () => {
    const packed = { ...packRow(row(null)), packed_detail: new Uint8Array([9, 1, 2]) };
    expect(() => unpackRow(packed)).toThrow('has the format 9');
  });

  it('never lose the dictionary that stored rows refer to', () => {
    expect(createHash('sha256').update(detailDictionary).digest('hex')).toBe(
      '17b9b41006028d752b1409f4043f4480e6a7594f74587a234354272ec9d6e920',
    );
  });
});
