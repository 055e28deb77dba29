import { expect, it } from 'vitest';
import type { HttpDetail, HttpTimingPhases } from '../../checks/http/detail.ts';
import { httpPhases } from './phases.ts';

const phasesOf = (ms: number): HttpTimingPhases => ({
  ...{ wait: 0, dns: ms, tcp: ms, tls: ms, proxy: 0, firstByte: 2 * ms, download: ms },
  total: 5 * ms,
});

function detail(response: object): HttpDetail {
  return { response } as unknown as HttpDetail;
}

it('draws each redirect as a bar of its own, and the phases of the last request after them', () => {
  const redirects = [
    { href: 'https://shop.test/a', status: 302, timingPhases: phasesOf(1) },
    { href: 'https://www.shop.test/b', status: 301, timingPhases: phasesOf(2) },
  ];
  const drawn = httpPhases(detail({ timingPhases: phasesOf(10), redirects }));
  expect(drawn.map(({ name, startMs, lengthMs }) => [name, startMs, lengthMs])).toEqual([
    ['302 shop.test', 0, 5],
    ['301 www.shop.test', 5, 10],
    ['Name (DNS)', 15, 7],
    ['Connection (TCP)', 22, 7],
    ['Encryption (TLS)', 29, 7],
    ['Waiting for the answer', 36, 7],
    ['Download', 43, 7],
  ]);
  expect(httpPhases(detail({ timingPhases: phasesOf(10) }))[0]?.name).toBe('Name (DNS)');
});
