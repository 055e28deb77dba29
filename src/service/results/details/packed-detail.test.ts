import { createHash } from 'node:crypto';
import { detailDictionaries } from '@picket/platform/store/details/dictionary.ts';
import { packRow, unpackRow } from '@picket/platform/store/details/packed-detail.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ResultRow } from '../tables.ts';

const row = (detail: string | null, check_type = 'URL') => ({ id: 'r', check_type, detail }) as ResultRow;

describe('packed details', () => {
  it('come back as they were', () => {
    fc.assert(
      fc.property(fc.json(), fc.constantFrom('URL', 'DNS', 'A_LATER_TYPE'), (json, type) => {
        expect(unpackRow(packRow(row(json, type)))).toEqual(row(json, type));
      }),
    );
    const long = JSON.stringify({ body: 'déjà vu \u2028 😀 '.repeat(20_000) });
    expect(unpackRow(packRow(row(long)))).toEqual(row(long));
    expect(unpackRow(packRow(row(null)))).toEqual(row(null));
  });

  it('are much shorter than their source, unless that is short', () => {
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

  it('report when a detail was left out', () => {
    const packed = packRow({ ...row('{"body":"x"}'), is_detail_left_out: true });
    expect(packed).toMatchObject({ detail: null, packed_detail: new Uint8Array(0) });
    expect(unpackRow(packed)).toEqual({ ...row(null), is_detail_left_out: true });
  });

  it('are refused in a format of a later build', () => {
    const packed = { ...packRow(row(null)), packed_detail: new Uint8Array([9, 1, 2]) };
    expect(() => unpackRow(packed)).toThrow('has the format 9');
  });

  it('never lose the dictionaries that stored rows refer to', () => {
    const hashes = Object.entries(detailDictionaries).map(([name, bytes]) => [
      name,
      createHash('sha256').update(bytes).digest('hex'),
    ]);
    expect(hashes).toEqual([
      ['network', 'de3441b497c8f8d0a2152599cb508f9346e43ffa8e1d8b2ebaec576daf913aaa'],
      ['http', '13c5410fad7c31f60bf9c077468a9f598018b53853abbfb496b7f9dc16431e96'],
    ]);
  });
});
