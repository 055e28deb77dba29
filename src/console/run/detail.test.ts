import type { CheckResult } from '@picket/protocol/results/check-result.ts';
import { expect, it } from 'vitest';
import { html } from '../html.ts';
import { factsOf } from './compare-facts.ts';
import { detailParts } from './detail.ts';
import { differencesOf } from './differences.ts';

const resultOf = (checkType: string, detail: object, fields: object = {}) =>
  ({
    ...{ checkType, apiCheckResult: detail, responseTime: 1, runLocation: 'lab', failure: null },
    ...{ isTimingDoubtful: false, agentOverheadMs: 0, ...fields },
  }) as unknown as CheckResult;

const phases = { wait: 0, dns: 2, tcp: 5, firstByte: 40, download: 3, total: 50, tls: 20, proxy: 0 };
const httpDetail = (traceId: string, daysRemaining: number) => ({
  assertions: [],
  request: {
    ...{ method: 'GET', url: 'https://a.test/', data: '', headers: {}, params: {} },
    traceparent: `00-${traceId}-00f067aa0ba902b7-01`,
  },
  response: {
    ...{ status: 200, statusText: 'OK', body: '<b>', headers: { date: traceId }, timings: null },
    ...{ timingPhases: phases, href: 'https://a.test/', truncated: false, httpVersion: '2' },
    ...{ ipAddress: null, redirectCount: 0 },
    certificate: {
      ...{ subject: 'a.test', issuer: 'CA', validTo: '2026-12-24T00:00:00.000Z', daysRemaining },
      ...{ protocol: null, cipher: null },
    },
  },
  ...{ requestError: null, jobLog: null, jobAssets: null, pcapDataUrl: null },
});
const pageOf = (result: CheckResult) => String(html`${detailParts(result).sections}`);

it('draws phases one after the other, and the share of the agent separately', () => {
  const page = pageOf(resultOf('URL', httpDetail('a', 30), { agentOverheadMs: 4 }));
  expect(page).toContain(
    'DNS lookup 2 ms, TCP connection 5 ms, TLS handshake 20 ms, Waiting for response 20 ms, Download 3 ms, Agent overhead 4 ms',
  );
  expect(page).toContain('&lt;b&gt;');
});

it('shows the ping of a heartbeat', () => {
  const heartbeatCheckResult = { state: 'LATE', source: '192.0.2.9', userAgent: 'curl' };
  const page = pageOf(resultOf('HEARTBEAT', {}, { heartbeatCheckResult }));
  for (const words of ['Ping', 'late', '192.0.2.9', 'curl']) expect(page).toContain(words);
});

it('shows a detail as it is if it does not match its type', () => {
  expect(pageOf(resultOf('URL', { from: 'another build' }))).toContain('another build');
  expect(pageOf(resultOf('A_TYPE_OF_LATER', { from: 'another build' }))).toContain('another build');
});

it('ignores trace ids, dates and days until an expiry in differences between runs', () => {
  const [now, before] = [httpDetail('b'.repeat(32), 30), httpDetail('a'.repeat(32), 31)];
  const all = differencesOf(factsOf(resultOf('URL', now)), factsOf(resultOf('URL', before)));
  const volatile = all.filter(({ isVolatile }) => isVolatile).map(({ name }) => name);
  expect(volatile).toEqual(['Trace', 'date', 'First of the chain']);
  expect(all.filter(({ isDifferent, isVolatile }) => isDifferent && !isVolatile)).toEqual([]);
});
