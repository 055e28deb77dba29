import type { HttpDetail } from '../../../src/checks/http/detail.ts';

/** The detail of an HTTP run; the test may set every text of the target. */
export function httpDetail(fields: { readonly text?: string; readonly status?: number } = {}): HttpDetail {
  const { text = 'ok', status = 200 } = fields;
  const phases = { wait: 0, dns: 2, tcp: 5, firstByte: 40, download: 3, total: 50, tls: 20, proxy: 0 };
  return {
    assertions: [
      {
        source: 'STATUS_CODE',
        property: text,
        comparison: 'EQUALS',
        target: '200',
        regex: null,
        actual: text,
        error: status === 200 ? null : text,
      },
    ],
    request: {
      method: 'GET',
      url: 'http://target.test/',
      data: text,
      headers: { Accept: text },
      params: { q: text },
    },
    response: {
      status,
      statusText: text,
      body: text,
      headers: { 'x-said': text },
      timings: { socket: 0, lookup: 2, connect: 7, response: 47, end: 50 },
      timingPhases: phases,
      href: `http://target.test/${text}`,
      truncated: false,
      readLimitBytes: null,
      httpVersion: '1.1',
      ipAddress: '192.0.2.7',
      redirectCount: 0,
      certificate: {
        subject: text,
        issuer: text,
        validTo: '2026-12-24T00:00:00.000Z',
        daysRemaining: 31,
        protocol: 'TLSv1.3',
        cipher: 'TLS_AES_256_GCM_SHA384',
      },
    },
    requestError: null,
    jobLog: {
      setup: [],
      request: [{ time: Date.UTC(2026, 10, 22), msg: text, level: 'INFO' }],
      teardown: [],
    },
    jobAssets: null,
    pcapDataUrl: null,
  };
}
