import { expect, it } from 'vitest';
import type { HttpDetail, HttpTimingPhases } from './detail.ts';
import { summaryOf } from './summary.ts';

const phasesOf = (ms: number): HttpTimingPhases => ({
  ...{ wait: 0, dns: ms, tcp: ms, tls: ms, proxy: 0, firstByte: 2 * ms, download: ms },
  total: 5 * ms,
});

/** The phases of a response with a duration above 0. */
function phases(response: object): (readonly [string, number])[] {
  const detail = { assertions: [], jobLog: null, request: { params: {}, headers: {} }, response };
  const shown = summaryOf(detail as unknown as HttpDetail).phases ?? [];
  return shown.flatMap(({ name, lengthMs }) => (lengthMs > 0 ? [[name, lengthMs] as const] : []));
}

it('has a phase for each redirect, and the phases of the last request after them', () => {
  const redirects = [
    { href: 'https://shop.test/a', status: 302, timingPhases: phasesOf(1) },
    { href: 'https://www.shop.test/b', status: 301, timingPhases: phasesOf(2) },
  ];
  expect(phases({ timingPhases: phasesOf(10), redirects, certificate: null, body: '' })).toEqual([
    ['302 shop.test', 5],
    ['301 www.shop.test', 10],
    ['DNS lookup', 7],
    ['TCP connection', 7],
    ['TLS handshake', 7],
    ['Waiting for response', 7],
    ['Download', 7],
  ]);
  expect(phases({ timingPhases: phasesOf(10), certificate: null, body: '' })[0]?.[0]).toBe('DNS lookup');
});

it('has a phase for each request of a login, which are a part of the stored first byte', () => {
  const login = {
    ...{ scheme: 'NTLM', state: 'accepted', reason: null, offered: ['NTLM'], algorithm: null },
    legs: [
      { status: 401, wait: 1, download: 2 },
      { status: 401, wait: 4, download: 0 },
    ],
  };
  const timingPhases = { ...phasesOf(10), auth: 7, firstByte: 27 };
  expect(phases({ timingPhases, login, certificate: null, body: '' })).toEqual([
    ['DNS lookup', 10],
    ['TCP connection', 10],
    ['TLS handshake', 10],
    ['Login, request 1 (401)', 3],
    ['Login, request 2 (401)', 4],
    ['Waiting for response', 10],
    ['Download', 10],
  ]);
});
