import { randomBytes, randomInt } from 'node:crypto';

const nouns =
  'order price item stock cart user login page home product category review image delivery payment address total amount discount shipping customer account details summary option colour size quantity'.split(
    ' ',
  );
const noun = () => nouns[randomInt(nouns.length)] ?? '';
const hex = (bytes: number) => randomBytes(bytes).toString('hex');
const ms = (most: number) => Math.round(Math.random() * most * 1000) / 1000;
const lately = () => new Date(Date.now() - randomInt(1_000_000_000));

function page(): string {
  const paragraphs = Array.from(
    { length: 10 },
    () => `<p class="${noun()}">${noun()} ${noun()} ${noun()} ${noun()} ${randomInt(1000)}</p>`,
  );
  return `<!doctype html><html lang="en"><head><title>${noun()} ${noun()}</title><meta name="csrf" content="${hex(24)}"></head><body>${paragraphs.join('')}</body></html>`;
}

function answer(): string {
  const items = Array.from({ length: 14 }, (_none, index) => ({
    id: randomInt(100_000) + index,
    name: `${noun()} ${noun()}`,
    price: randomInt(100_000) / 100,
    updated: lately().toISOString(),
  }));
  return JSON.stringify({ items, requestId: hex(8) });
}

/**
 * A detail of a URL monitor or an API check as real targets produce it: headers and a body of 1.2 kB with individual
 * ids, dates and numbers, times in microseconds, a certificate. About 2.4 kB of JSON.
 */
export function realisticDetail(index: number): Record<string, unknown> {
  const number = index % 100;
  const isPage = number % 2 === 0;
  const url = `https://shop.example.com/articles/${number}`;
  return {
    assertions: [
      {
        ...{ source: 'STATUS_CODE', property: '', comparison: 'EQUALS', target: '200' },
        ...{ regex: '', actual: 200, error: null },
      },
    ],
    request: {
      method: 'GET',
      url,
      data: '',
      headers: { 'user-agent': 'picket/1.0.0', accept: '*/*' },
      params: {},
    },
    response: {
      status: 200,
      statusText: 'OK',
      body: isPage ? page() : answer(),
      headers: {
        date: lately().toUTCString(),
        'content-type': isPage ? 'text/html; charset=utf-8' : 'application/json',
        server: 'nginx/1.25.3',
        'cache-control': 'max-age=0, private',
        etag: `"${hex(8)}"`,
        'x-request-id': hex(16),
        'strict-transport-security': 'max-age=31536000',
        vary: 'accept-encoding',
        'set-cookie': 'sid=<secret>; Path=/; HttpOnly',
      },
      timings: { socket: ms(1), lookup: ms(3), connect: ms(9), response: ms(99), end: ms(120) },
      timingPhases: {
        wait: ms(1),
        dns: ms(2),
        tcp: ms(4),
        firstByte: ms(90),
        download: ms(9),
        total: ms(100),
        tls: ms(20),
        proxy: 0,
      },
      href: url,
      truncated: false,
      readLimitBytes: null,
      httpVersion: '1.1',
      ipAddress: '192.0.2.7',
      ipFamily: 'IPv4',
      redirectCount: 0,
      certificate: {
        subject: 'shop.example.com',
        issuer: 'R11',
        validTo: '2027-01-12T08:11:12.000Z',
        daysRemaining: 50,
        protocol: 'TLSv1.3',
        cipher: 'TLS_AES_128_GCM_SHA256',
      },
    },
    requestError: null,
    jobLog: null,
    jobAssets: null,
    pcapDataUrl: null,
  };
}
