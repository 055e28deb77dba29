import { readFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runApi } from '../../../src/checks/api/run.ts';
import { ApiSpec } from '../../../src/checks/api/spec.ts';
import { HttpDetail } from '../../../src/checks/http/detail.ts';
import { runUrl } from '../../../src/checks/url/run.ts';
import { UrlSpec } from '../../../src/checks/url/spec.ts';
import { runContext } from '../../helpers/run-context.ts';
import { createAuthority } from '../../helpers/targets/certificates.ts';
import { type HttpTarget, startHttpsTarget, startHttpTarget } from '../../helpers/targets/http-target.ts';
import { listen } from '../../helpers/targets/listening.ts';

/** Responses that are malformed or rare are read as other clients read them. */

let target: HttpTarget;
beforeAll(async () => {
  target = await startHttpTarget();
});
afterAll(() => target.close());

async function run(url: string, request: Record<string, unknown> = {}) {
  const outcome = await runApi(ApiSpec.parse({ request: { ...request, url } }), runContext());
  expect(HttpDetail.parse(outcome.detail)).toEqual(outcome.detail);
  return outcome;
}

const last = () => target.requests.at(-1);

/** A server that sends the same bytes on each connection, and closes it by default. */
function answering(bytes: Buffer | string, onAnswered: (socket: Socket) => void = (socket) => socket.end()) {
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.once('data', () => socket.write(bytes, () => onAnswered(socket)));
  });
  return listen(server, { scheme: 'http' });
}

/** A response with these headers, and a body up to the end of the connection. */
function answer(headers: string, body: Buffer | string = ''): Buffer {
  const head = `HTTP/1.1 200 OK\r\n${headers}Connection: close\r\n\r\n`;
  return Buffer.concat([Buffer.from(head, 'latin1'), Buffer.from(body)]);
}

describe('JSON', () => {
  const assertions = [{ source: 'JSON_BODY', property: '$.a', comparison: 'EQUALS', target: '1' }];

  it.each(['text/plain', 'text/html', 'application/octet-stream', 'application/x-ndjson', undefined])(
    'is judged for any content type: %s',
    async (type) => {
      await using server = await answering(answer(type ? `Content-Type: ${type}\r\n` : '', '{"a":1}'));
      expect((await run(server.url, { assertions })).failure).toBeUndefined();
    },
  );

  it('fails only if it is invalid, and then names the type', async () => {
    await using server = await answering(answer('Content-Type: text/html\r\n', '<p>'));
    const { detail } = await run(server.url, { assertions });
    expect(detail.assertions[0]?.error).toMatch(/body is not valid JSON.*text\/html/);
  });
});

describe('a schema and an age', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/reference/checks.md'), 'utf8');
  const [, example = ''] = /#### JSON schemas and ages.*?```json\n(.*?)```/s.exec(page) ?? [];
  const { assertions } = JSON.parse(example).request;
  const orders = (total: unknown, ageMs: number) => {
    const body = JSON.stringify({ updatedAt: Date.now() - ageMs, orders: [{ id: 1, total }] });
    const modified = new Date(Date.now() - ageMs).toUTCString();
    return answering(answer(`Content-Type: application/json\r\nLast-Modified: ${modified}\r\n`, body));
  };

  it('of the reference pass for whole and fresh data', async () => {
    await using server = await orders(5, 1000);
    const { failure, detail } = await run(server.url, { assertions });
    expect(detail.assertions.map(({ error }) => error)).toEqual([null, null, null]);
    expect(failure).toBeUndefined();
  });

  it('say what is wrong with other data', async () => {
    await using server = await orders('5', 2 * 86_400_000);
    const { failure, detail } = await run(server.url, { assertions });
    expect(failure?.code).toBe('ASSERTION_FAILED');
    expect(detail.assertions.map(({ error }) => error)).toEqual([
      expect.stringMatching(/^does not match the JSON schema: orders\[0\]\.total: .*"string"/),
      expect.stringMatching(/which was 2 d ago by the clock of the agent/),
      expect.stringMatching(/GMT, which was 2 d ago by the clock of the agent/),
    ]);
  });
});

describe('a redirect', () => {
  it('keeps user and password within the origin, and from other origins', async () => {
    await using other = await startHttpTarget();
    const withUser = target.url.replace('://', '://user:pass@');
    const expected = `Basic ${Buffer.from('user:pass').toString('base64')}`;
    for (const to of [`${target.url}/echo`, '/echo', `//127.0.0.1:${target.port}/echo`]) {
      await run(`${withUser}/redirect-to?status=302&url=${encodeURIComponent(to)}`);
      expect(last()).toMatchObject({ path: '/echo', headers: { authorization: expected } });
    }
    await run(`${withUser}/redirect-to?status=302&url=${encodeURIComponent(`${other.url}/echo`)}`);
    expect(other.requests.at(-1)?.headers).not.toHaveProperty('authorization');
  });

  it('with bytes that are not UTF-8 goes where browsers go', async () => {
    const location = Buffer.from(`${target.url}/echo?caf\xe9`, 'latin1');
    const head = Buffer.from('HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: ');
    await using server = await answering(Buffer.concat([head, location, Buffer.from('\r\n\r\n')]));
    expect((await run(server.url)).detail.response.href).toBe(`${target.url}/echo?caf%E9`);
  });

  it('shows the first expiring certificate of the chain, with its host', async () => {
    const authority = await createAuthority();
    const [soon, late] = await Promise.all([
      startHttpsTarget({ identity: await authority.issue({ hosts: ['127.0.0.1'], toDays: 5.5 }) }),
      startHttpsTarget({ identity: await authority.issue({ hosts: ['localhost'], toDays: 80.5 }) }),
    ]);
    const lateUrl = late.url.replace('127.0.0.1', 'localhost');
    const to = (from: string, url: string) => `${from}/redirect-to?status=302&url=${encodeURIComponent(url)}`;
    for (const url of [to(soon.url, `${lateUrl}/echo`), to(lateUrl, `${soon.url}/echo`)]) {
      const outcome = await run(url, { skipSSL: true });
      expect(outcome.detail.response.certificate).toMatchObject({ host: '127.0.0.1', daysRemaining: 5 });
      expect((outcome.certificateExpiresAt ?? 0) - Date.now()).toBeLessThan(6 * 86_400_000);
    }
    await soon.close();
    await late.close();
  });
});

describe('headers', () => {
  it.each(['grüße', 'Łódź', '日本', '€'])('contain %s as UTF-8, and show it', async (text) => {
    const authority = await createAuthority();
    await using secure = await startHttpsTarget({ identity: await authority.issue(), protocols: ['h2'] });
    for (const { url, requests } of [target, secure]) {
      const request = { headers: [{ key: 'X-Name', value: text }], skipSSL: true };
      const { detail, failure } = await run(`${url}/echo`, request);
      expect(failure).toBeUndefined();
      const received = Buffer.from(String(requests.at(-1)?.headers['x-name']), 'latin1').toString();
      expect(received).toBe(text);
      expect(detail.request.headers['X-Name']).toBe(text);
    }
  });

  it('of a response are text, in UTF-8 or Latin-1', async () => {
    const utf8 = Buffer.from('Łódź').toString('latin1');
    await using server = await answering(answer(`X-City: ${utf8}\r\nX-Old: caf\xe9\r\n`));
    const assertions = [{ source: 'HEADERS', property: 'x-city', comparison: 'EQUALS', target: 'Łódź' }];
    const { detail, failure } = await run(server.url, { assertions });
    expect(failure).toBeUndefined();
    expect(detail.response.headers).toMatchObject({ 'x-city': 'Łódź', 'x-old': 'café' });
  });

  it('that are a cookie are returned with the original bytes', async () => {
    const value = Buffer.from('ü').toString('latin1');
    const location = `Location: ${target.url}/echo\r\nContent-Length: 0\r\n`;
    for (const cookie of [value, '\xfc']) {
      const head = `HTTP/1.1 302 Found\r\n${location}Set-Cookie: a=${cookie}\r\n\r\n`;
      await using server = await answering(Buffer.from(head, 'latin1'));
      await run(server.url);
      expect(last()?.headers['cookie']).toBe(`a=${cookie}`);
    }
  });
});

describe('a body', () => {
  const bodyOf = async (bytes: Buffer) => {
    await using server = await answering(bytes);
    const { failure, detail } = await run(server.url);
    return failure?.message ?? detail.response.body;
  };

  it('of several Zstandard frames is read whole, and one that breaks off is an error', async () => {
    const frames = Buffer.concat([zstdCompressSync('one '), zstdCompressSync('two')]);
    expect(await bodyOf(answer('Content-Encoding: zstd\r\n', frames))).toBe('one two');
    const cut = frames.subarray(0, -2);
    expect(await bodyOf(answer('Content-Encoding: zstd\r\n', cut))).toMatch(/not valid zstd/);
  });

  it('in a transfer coding is decoded, alone and in chunks', async () => {
    const packed = gzipSync('hello');
    expect(await bodyOf(answer('Transfer-Encoding: gzip\r\n', packed))).toBe('hello');
    const size = `${packed.length.toString(16)}\r\n`;
    const chunks = Buffer.concat([Buffer.from(size), packed, Buffer.from('\r\n0\r\n\r\n')]);
    expect(await bodyOf(answer('Transfer-Encoding: gzip, chunked\r\n', chunks))).toBe('hello');
    const twice = gzipSync(gzipSync('hello'));
    const both = 'Content-Encoding: gzip\r\nTransfer-Encoding: gzip\r\n';
    expect(await bodyOf(answer(both, twice))).toBe('hello');
  });

  it.each([
    ['text/html', '<html><head><meta charset="iso-8859-1"></head>'],
    ['text/html', '<meta http-equiv="Content-Type" content="text/html; charset=windows-1252">'],
    ['text/html', '<!-- <meta charset="utf-8"> --><meta charset=latin1>'],
    ['application/xml', '<?xml version="1.0" encoding="ISO-8859-1"?>'],
    ['application/rss+xml', "<?xml version='1.0' encoding='latin1' ?>"],
  ])('of %s is read in its declared charset: %s', async (type, beginning) => {
    const bytes = Buffer.from(`${beginning}café`, 'latin1');
    expect(await bodyOf(answer(`Content-Type: ${type}\r\n`, bytes))).toBe(`${beginning}café`);
  });

  it.each([
    ['text/html; charset=utf-8', '<meta charset="iso-8859-1">'],
    ['text/html', '<meta charset="utf-16le">'],
    ['text/plain', '<meta charset="iso-8859-1">'],
    ['application/json', '"<meta charset=latin1>"'],
  ])('of %s is UTF-8 whatever it declares: %s', async (type, beginning) => {
    const bytes = Buffer.from(`${beginning}café`);
    expect(await bodyOf(answer(`Content-Type: ${type}\r\n`, bytes))).toBe(`${beginning}café`);
  });
});

describe('an endless response', () => {
  const stream = answer('Content-Type: multipart/x-mixed-replace; boundary=b\r\n', '--b\r\n');

  it('passes a check that does not look at its body', async () => {
    await using server = await answering(stream, () => undefined);
    const spec = UrlSpec.parse({ request: { url: server.url } });
    const { failure, detail } = await runUrl(spec, runContext({ timeoutMs: 10_000 }));
    expect(failure).toBeUndefined();
    expect(detail.response).toMatchObject({ status: 200, body: '', truncated: true });
  });

  it('fails one that does, at its time limit', async () => {
    await using server = await answering(stream, () => undefined);
    const assertions = [{ source: 'TEXT_BODY', comparison: 'CONTAINS', target: 'b' }];
    const spec = ApiSpec.parse({ request: { url: server.url, assertions } });
    const { failure } = await runApi(spec, runContext({ timeoutMs: 300 }));
    expect(failure?.code).toBe('RESPONSE_TIMEOUT');
  });
});
