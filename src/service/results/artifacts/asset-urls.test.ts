import { describe, expect, it } from 'vitest';
import type { ArtifactRow } from '../tables.ts';
import { withAssetUrls } from './asset-urls.ts';

const row = (name: string, state: ArtifactRow['state'] = 'stored') =>
  ({ name, state, check_id: 'check', result_id: 'result' }) as ArtifactRow;
const path = '/v1/check-results/check/result/assets';

describe('the URLs of artifacts in a detail', () => {
  it('stand for names of existing artifacts', () => {
    const artifacts = [row('a b/c.png'), row('late.png', 'awaited'), row('net.pcap')];
    const detail = {
      pcapDataUrl: 'net.pcap',
      video: 'late.png',
      jobAssets: ['a b/c.png', 'late.png', 'unknown.png', 7],
      note: 'net.pcap',
      nothing: null,
    };
    const fields = ['pcapDataUrl', 'video', 'jobAssets', 'nothing', 'absent'];
    expect(withAssetUrls(detail, fields, artifacts, undefined)).toEqual({
      pcapDataUrl: `${path}/net.pcap`,
      video: null,
      jobAssets: [`${path}/a%20b/c.png`],
      note: 'net.pcap',
      nothing: null,
    });
  });

  it('are absolute if the service knows its address', () => {
    expect(
      withAssetUrls({ pcapDataUrl: 'a' }, ['pcapDataUrl'], [row('a')], 'https://picket.test/base/'),
    ).toEqual({
      pcapDataUrl: `https://picket.test/base${path}/a`,
    });
  });
});
