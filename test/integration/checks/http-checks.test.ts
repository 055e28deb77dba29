import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runApi } from '../../../src/checks/api/run.ts';
import { ApiSpec } from '../../../src/checks/api/spec.ts';
import type { RunContext } from '../../../src/checks/contract/run-context.ts';
import { HttpDetail } from '../../../src/checks/http/detail.ts';
import { ResolveError } from '../../../src/probes/resolver.ts';
import { runContext } from '../../helpers/run-context.ts';
import { startHostileTarget } from '../../helpers/targets/hostile-target.ts';
import { type HttpTarget, startHttpTarget } from '../../helpers/targets/http-target.ts';

let target: HttpTarget;
beforeAll(async () => {
  target = await startHttpTarget();
});
afterAll(() => target.close());

type Request = Partial<ApiSpec['request']> & { url: string };
type Rest = Partial<Omit<ApiSpec, 'request'>>;

async function run(
  request: Record<string, unknown> & { url: string },
  context: Partial<RunContext> = {},
  rest: Rest = {},
) {
  const outcome = await runApi(ApiSpec.parse({ ...rest, request }), runContext(context));
  expect(HttpDetail.parse(outcome.detail)).toEqual(outcome.detail);
  return outcome;
}
const last = () => {
  const request = target.requests.at(-1);
  if (!request) throw new Error('the target got no request');
  return request;
};
const at = (path: string): Request => ({ url: target.url + path });

describe('the request of an API check', () => {
  it('has a user agent, an Accept header and nothing unspecified', async () => {
    const { detail } = await run(at('/echo'));
    expect(last().headers).toEqual({
      host: `127.0.0.1:${target.port}`,
      connection: 'keep-alive',
      'user-agent': expect.stringMatching(/^Picket\/\d+\.\d+\.\d+/),
      accept: '*/*',
    });
    expect(detail.request).toMatchObject({ method: 'GET', url: `${target.url}/echo`, data: '', params: {} });
  });

  it.each([
    ['JSON', '{"a":1}', 'application/json', '{"a":1}'],
    ['FORM', 'a=b&c=d', 'application/x-www-form-urlencoded', 'a=b&c=d'],
    ['GRAPHQL', '{ user { id } }', 'application/json', '{"query":"{ user { id } }"}'],
    ['RAW', 'anything', undefined, 'anything'],
    ['NONE', 'ignored', undefined, ''],
  ])('has a body of type %s', async (bodyType, body, contentType, sent) => {
    const { detail } = await run({ ...at('/echo'), method: 'POST', bodyType, body });
    expect(last().body).toBe(sent);
    expect(last().headers['content-type']).toBe(contentType);
    expect(detail.request.data).toBe(sent);
  });

  it('keeps given headers instead of its own', async () => {
    const headers = [
      { key: 'user-agent', value: 'mine' },
      { key: 'Accept', value: 'text/html' },
      { key: 'Content-Type', value: 'application/vnd.api+json' },
      { key: 'Content-Length', value: '999' },
      { key: 'X-Token', value: ' {{TOKEN}}\n' },
    ];
    const { detail } = await run(
      { ...at('/echo'), method: 'PATCH', bodyType: 'JSON', body: '{}', headers },
      { variables: { TOKEN: 't&1' } },
    );
    expect(last().headers).toMatchObject({
      'user-agent': 'mine',
      accept: 'text/html',
      'content-type': 'application/vnd.api+json',
      'content-length': '2',
      'x-token': 't&1',
    });
    expect(detail.jobLog?.request).toMatchObject([
      { level: 'WARN', msg: expect.stringContaining('Content-Length') },
    ]);
  });

  it('adds query parameters to those of the URL', async () => {
    const queryParameters = [
      { key: 'a b', value: '1&2' },
      { key: 'name', value: '{{NAME}}' },
      { key: 'raw', value: '{{{RAW}}}' },
    ];
    const { detail } = await run(
      { url: `${target.url}/echo?x=1#part`, queryParameters },
      { variables: { NAME: 'ü/?', RAW: 'a%20b' } },
    );
    expect(Object.fromEntries(last().query)).toEqual({ x: '1', 'a b': '1&2', name: 'ü/?', raw: 'a b' });
    expect(detail.request.params).toEqual({ x: '1', 'a b': '1&2', name: 'ü/?', raw: 'a b' });
  });

  it('fills in templates everywhere', async () => {
    const variables = {
      BASE: target.url,
      PATH: 'a/b',
      USER: 'me',
      PASS: 'p:w',
      BODY: '"x&y"',
      STATUS: '200',
    };
    const { failure, detail } = await run(
      {
        url: '{{BASE}}/echo/{{PATH}}',
        method: 'PUT',
        bodyType: 'RAW',
        body: 'v={{BODY}}',
        basicAuth: { username: '{{USER}}', password: '{{PASS}}' },
        assertions: [{ source: 'STATUS_CODE', comparison: 'EQUALS', target: '{{STATUS}}' }],
      },
      { variables },
    );
    expect(failure).toBeUndefined();
    expect(last()).toMatchObject({ path: '/echo/a%2Fb', body: 'v="x&y"' });
    expect(last().headers.authorization).toBe(`Basic ${Buffer.from('me:p:w').toString('base64')}`);
    expect(detail.assertions).toMatchObject([{ target: 200, actual: 200, error: null }]);
  });

  it.each<[Record<string, unknown> & { url: string }, string, string]>([
    [{ url: 'http://x/{{#if}}' }, 'TEMPLATE_INVALID', 'config'],
    [{ url: '{{NOTHING}}/path' }, 'URL_INVALID', 'config'],
    [{ url: '{{{FTP}}}/x' }, 'URL_INVALID', 'config'],
    [{ url: 'http://{{{SPACED}}}/' }, 'URL_INVALID', 'config'],
    [{ url: `http://${'long.'.repeat(60)}test/` }, 'URL_INVALID', 'config'],
    [{ url: 'http://127.0.0.1:1/', headers: [{ key: 'Bad Name', value: 'x' }] }, 'REQUEST_INVALID', 'config'],
    [
      { url: 'http://127.0.0.1:1/', headers: [{ key: 'X', value: 'a\r\nInjected: b' }] },
      'REQUEST_INVALID',
      'config',
    ],
    [{ url: 'http://127.0.0.1:1/', headers: [{ key: 'X', value: 'a\u0000b' }] }, 'REQUEST_INVALID', 'config'],
    [{ url: 'http://127.0.0.1:1/' }, 'CONNECTION_REFUSED', 'target'],
  ])('is not sent if %j', async (request, code, owner) => {
    const outcome = await run(request, { variables: { FTP: 'ftp://example.com', SPACED: 'not a host' } });
    expect(outcome.failure).toMatchObject({ code, owner });
    expect(outcome.detail.requestError).toBe(outcome.failure?.message);
    expect(outcome.errorMessages).toEqual([outcome.failure?.message]);
    expect(outcome.detail.response).toMatchObject({
      status: 0,
      statusText: '',
      body: '',
      headers: null,
      timingPhases: null,
    });
    expect(outcome.detail.assertions).toEqual([]);
  });
});

describe('the stored part of a response', () => {
  it.each(['gzip', 'deflate', 'deflate-raw', 'br', 'zstd', 'gzip,br', 'identity', 'unheard-of'])(
    'is the decoded body of %s',
    async (encoding) => {
      const { failure, detail } = await run({
        ...at(`/encoded/${encoding}`),
        assertions: [{ source: 'JSON_BODY', property: '$.encoded', comparison: 'EQUALS', target: 'true' }],
      });
      expect(failure).toBeUndefined();
      expect(detail.response.body).toBe('{"encoded":true}');
    },
  );

  it('is up to 256 KiB of the body, while assertions see all', async () => {
    const size = 3_000_000;
    const { failure, detail } = await run({
      ...at(`/encoded/gzip?bytes=${size}`),
      assertions: [
        {
          source: 'TEXT_BODY',
          property: `^x{${size}}$`.replace(`x{${size}}`, '(x+)'),
          comparison: 'NOT_EMPTY',
        },
      ],
    });
    expect(failure).toBeUndefined();
    expect(detail.response.body.length).toBe(256 * 1024);
    expect(detail.response.truncated).toBe(true);
    const small = await run(at('/bytes/1000'));
    expect(small.detail.response.truncated).toBe(false);
  });

  it('shows where reading stopped, and is judged', async () => {
    const hostile = await startHostileTarget('huge-body');
    const context = runContext();
    const outcome = await runApi(
      ApiSpec.parse({
        request: {
          url: hostile.url,
          assertions: [{ source: 'TEXT_BODY', comparison: 'CONTAINS', target: 'xxx', property: '' }],
        },
      }),
      context,
    );
    await hostile.close();
    expect(outcome.failure).toBeUndefined();
    expect(outcome.detail.response).toMatchObject({ truncated: true, readLimitBytes: 25 * 1024 * 1024 });
    expect(outcome.detail.jobLog?.request.map(({ msg }) => msg).join()).toContain(
      'exceeds the limit of an agent: data after the first 26214400 bytes is not judged, nor timed',
    );
    expect(outcome.measurement?.workMs).toBeGreaterThan(0);
    expect((await run(at('/bytes/300000'))).detail.response).toMatchObject({
      truncated: true,
      readLimitBytes: null,
    });
  });

  it('is decoded by its declared charset, or that of its byte order mark', async () => {
    const bodyOf = async (type: string, bytes: Buffer) => {
      const query = new URLSearchParams({ type, base64: bytes.toString('base64') });
      return (await run(at(`/type?${query}`))).detail.response.body;
    };
    expect(await bodyOf('text/plain; charset=ISO-8859-1', Buffer.from('é', 'latin1'))).toBe('é');
    expect(await bodyOf('text/plain; charset="utf-8"', Buffer.from('é'))).toBe('é');
    expect(await bodyOf('text/plain', Buffer.from('\ufeffé', 'utf16le'))).toBe('é');
    expect(await bodyOf('text/plain', Buffer.from('\ufeffé'))).toBe('é');
    expect(await bodyOf('text/plain; charset=klingon', Buffer.from('é'))).toBe('é');
    expect(await bodyOf('text/plain', Buffer.from([0x61, 0xff]))).toBe('a\ufffd');
  });

  it('includes small images as base64, other binary content as a note', async () => {
    const base64 = Buffer.from([0x89, 0x50, 0x4e, 0x47]).toString('base64');
    const query = (type: string) => `/type?${new URLSearchParams({ type, base64 })}`;
    const image = (await run(at(query('image/png')))).detail.response;
    expect(image).toMatchObject({ body: base64, bodyEncoding: 'base64' });
    const pdf = (await run(at(query('application/pdf')))).detail.response;
    expect(pdf.body).toBe('[application/pdf: 4 bytes, not stored]');
    const wanted = await run({
      ...at(query('application/pdf')),
      assertions: [{ source: 'TEXT_BODY', comparison: 'CONTAINS', target: 'PNG' }],
    });
    expect(wanted.failure).toBeUndefined();
    expect(wanted.detail.response.body).toContain('PNG');
  });

  it('includes all headers, repeated ones joined', async () => {
    const { detail } = await run(at('/headers?x-a=1&x-a=2&set-cookie=b&constructor=c'));
    expect(detail.response.headers).toMatchObject({ 'x-a': '1, 2', 'set-cookie': 'b', constructor: 'c' });
  });

  it('includes what had arrived when the download broke off', async () => {
    const broken = await startHostileTarget('close-inside-body');
    const { failure, detail } = await run({ url: broken.url });
    await broken.close();
    expect(failure).toMatchObject({ code: 'CONNECTION_RESET', owner: 'target' });
    expect(detail.response).toMatchObject({
      status: 200,
      body: 'only this',
      truncated: true,
      timingPhases: null,
    });
    expect(detail.requestError).toBe(failure?.message);
  });
});

describe('the address family', () => {
  /** Resolves a name to `::1` only. */
  const onlyIpv6: RunContext['resolver'] = {
    resolve: async (hostname, family) => {
      if (family === 4) throw new ResolveError('not-found', 'ENODATA', `${hostname} has no IPv4 address`);
      return [{ address: '::1', family: 6 }];
    },
  };

  it('is IPv6 by default for a name without IPv4, and the result shows it', async () => {
    const ipv6 = await startHttpTarget({ host: '::1' });
    const url = `http://v6.test:${ipv6.port}/json`;
    const assertions = [{ source: 'CONNECTION', property: 'ipFamily', comparison: 'EQUALS', target: 'IPv6' }];
    const { failure, detail } = await run({ url, assertions }, { resolver: onlyIpv6 });
    await ipv6.close();
    expect(failure).toBeUndefined();
    expect(detail.response).toMatchObject({ ipAddress: '::1', ipFamily: 'IPv6' });
    expect(detail.jobLog?.request.map(({ msg }) => msg)).toEqual([
      'v6.test has no IPv4 address: the run used IPv6',
    ]);
  });

  it('is IPv4 if there is such an address', async () => {
    const assertions = [{ source: 'CONNECTION', property: 'ipFamily', comparison: 'EQUALS', target: 'IPv6' }];
    const { failure, detail } = await run({ ...at('/json'), assertions });
    expect(detail.response.ipFamily).toBe('IPv4');
    expect(failure?.code).toBe('ASSERTION_FAILED');
  });
});

describe('the verdict of an API check', () => {
  it('evaluates every kind of assertion', async () => {
    const assertions = [
      { source: 'STATUS_CODE', comparison: 'EQUALS', target: '200' },
      { source: 'RESPONSE_TIME', comparison: 'LESS_THAN', target: '4000' },
      { source: 'JSON_BODY', property: '$.tags[0]', comparison: 'EQUALS', target: 'a' },
      { source: 'JSON_BODY', property: '$.scores', comparison: 'LESS_THAN', target: '3' },
      { source: 'TEXT_BODY', comparison: 'CONTAINS', target: 'probe' },
      { source: 'HEADERS', property: 'Content-Type', regex: '/(.*)', comparison: 'EQUALS', target: 'json' },
      { source: 'HEADERS', property: 'X-Powered-By', comparison: 'IS_NULL' },
      { source: 'CONNECTION', property: 'httpVersion', comparison: 'EQUALS', target: '1.1' },
      { source: 'CONNECTION', property: 'redirectCount', comparison: 'LESS_THAN', target: '1' },
      { source: 'CONNECTION', property: 'ipAddress', comparison: 'EQUALS', target: '127.0.0.1' },
      { source: 'CONNECTION', property: 'tlsVersion', comparison: 'IS_NULL' },
    ];
    const { failure, detail, errorMessages } = await run({ ...at('/json'), assertions });
    expect(detail.assertions.map(({ error }) => error === null)).toEqual([
      true,
      true,
      true,
      false,
      true,
      true,
      true,
      true,
      true,
      true,
      true,
    ]);
    expect(failure?.code).toBe('ASSERTION_FAILED');
    expect(errorMessages).toEqual(['Assertion failed: JSON_BODY $.scores LESS_THAN 3, received [1,5,2]']);
  });

  it('needs JSON for JSON assertions', async () => {
    const assertions = [{ source: 'JSON_BODY', property: '$.a', comparison: 'IS_NULL' }];
    const plain = await run({ ...at('/bytes/3'), assertions });
    expect(plain.detail.assertions[0]?.error).toContain('body is not valid JSON');
    const broken = await run({ ...at('/type?type=application/json&text={'), assertions });
    expect(broken.detail.assertions[0]?.error).toContain('body is not valid JSON');
  });

  it.each([
    [200, false, undefined],
    [399, false, undefined],
    [400, false, 'STATUS_UNEXPECTED'],
    [503, false, 'STATUS_UNEXPECTED'],
    [200, true, 'STATUS_UNEXPECTED'],
    [404, true, undefined],
  ])('status %i with shouldFail %s: %s', async (status, shouldFail, code) => {
    const { failure } = await run(at(`/status/${status}`), {}, { shouldFail });
    expect(failure?.code).toBe(code);
  });

  it('evaluates assertions with shouldFail, and still fails without a response', async () => {
    const assertions = [{ source: 'STATUS_CODE', comparison: 'EQUALS', target: '404' }];
    const shouldFail = true;
    expect((await run({ ...at('/status/404'), assertions }, {}, { shouldFail })).failure).toBeUndefined();
    expect((await run({ ...at('/status/500'), assertions }, {}, { shouldFail })).failure?.code).toBe(
      'ASSERTION_FAILED',
    );
    const refused = await run({ url: 'http://127.0.0.1:1/' }, {}, { shouldFail });
    expect(refused.failure?.code).toBe('CONNECTION_REFUSED');
  });

  it('does not accept 404 by an assertion alone', async () => {
    const assertions = [{ source: 'STATUS_CODE', comparison: 'EQUALS', target: '404' }];
    const { failure, detail } = await run({ ...at('/status/404'), assertions });
    expect(failure?.code).toBe('STATUS_UNEXPECTED');
    expect(detail.assertions[0]?.error).toBeNull();
  });

  it('is degraded or failed by the response time', async () => {
    const slow = at('/delay/120');
    const degraded = await run(slow, {}, { degradedResponseTime: 50, maxResponseTime: null });
    expect(degraded).toMatchObject({ failure: undefined, isDegraded: true, overMaxResponseTime: false });
    const failed = await run(slow, {}, { degradedResponseTime: 50, maxResponseTime: 100 });
    expect(failed).toMatchObject({ isDegraded: false, overMaxResponseTime: true });
    expect(failed.failure?.code).toBe('MAX_RESPONSE_TIME_EXCEEDED');
    expect(failed.responseTimeMs).toBe(failed.detail.response.timingPhases?.total);
  });
});
