import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { probe } from '../../helpers/targets/http-request.ts';
import { type HttpTarget, startHttpTarget } from '../../helpers/targets/http-target.ts';
import { listen } from '../../helpers/targets/listening.ts';

let target: HttpTarget;
let other: HttpTarget;
beforeAll(async () => {
  target = await startHttpTarget();
  other = await startHttpTarget();
});
afterAll(async () => {
  await target.close();
  await other.close();
});

const to = (url: string, status = 302) =>
  `${target.url}/redirect-to?status=${status}&url=${encodeURIComponent(url)}`;

describe('redirects', () => {
  it('are followed up to ten', async () => {
    const ten = await probe(`${target.url}/redirect/10`);
    expect(ten.error).toBeUndefined();
    expect(ten.redirectCount).toBe(10);
    expect(ten.url.pathname).toBe('/echo');
    const eleven = await probe(`${target.url}/redirect/11`);
    expect(eleven.error?.kind).toBe('redirect-limit');
  });

  it('are reported with the time of each, separate from the last request', async () => {
    const { redirects, phases, url } = await probe(to(`${other.url}/echo`, 307));
    expect(redirects.map(({ status, url: at }) => [status, at.pathname])).toEqual([[307, '/redirect-to']]);
    expect(url.host).toBe(new URL(other.url).host);
    const [first] = redirects;
    expect(first?.phases.total).toBeGreaterThan(0);
    expect(first?.phases.total).toBeLessThan(phases?.total ?? 0);
    expect((await probe(`${target.url}/echo`)).redirects).toEqual([]);
  });

  it('end a loop at the limit', async () => {
    const { error, redirectCount } = await probe(`${target.url}/redirect-loop`);
    expect(error?.kind).toBe('redirect-limit');
    expect(redirectCount).toBe(10);
  });

  it('are ordinary responses if they are not followed', async () => {
    const { head, body, redirectCount } = await probe(`${target.url}/redirect/3`, { followRedirects: false });
    expect(head?.status).toBe(302);
    expect(body.bytes.toString()).toBe('moved');
    expect(redirectCount).toBe(0);
  });

  it.each(['file:/etc/passwd', 'ftp://example.com/', 'javascript:alert(1)', 'http://', 'http://a b/'])(
    'to %s are refused',
    async (location) => {
      const { error, head } = await probe(to(location));
      expect(error?.kind).toBe('redirect-invalid');
      expect(head?.status).toBe(302);
    },
  );

  it('without a Location are ordinary responses', async () => {
    const { error, head } = await probe(`${target.url}/status/302`);
    expect(error).toBeUndefined();
    expect(head?.status).toBe(302);
  });

  it('with an empty Location are ordinary responses, like in curl', async () => {
    const lines = ['', ' \t'];
    for (const location of lines) {
      await using nowhere = await startHttpTarget({
        routes: {
          '': (_request, reply) => {
            reply.writeHead(302, { location });
            reply.end('nowhere');
          },
        },
      });
      const { error, head, body, redirectCount } = await probe(nowhere.url);
      expect(error).toBeUndefined();
      expect(head?.status).toBe(302);
      expect(body.bytes.toString()).toBe('nowhere');
      expect(redirectCount).toBe(0);
    }
  });

  it.each([
    [301, 'POST', 'GET', ''],
    [302, 'POST', 'GET', ''],
    [303, 'PUT', 'GET', ''],
    [307, 'POST', 'POST', 'hello'],
    [308, 'PUT', 'PUT', 'hello'],
    [301, 'PUT', 'PUT', 'hello'],
    [303, 'HEAD', 'HEAD', ''],
  ])('%i after %s become %s', async (status, method, expectedMethod, expectedBody) => {
    const result = await probe(to(`${target.url}/echo`, status), {
      method,
      headers: ['Content-Type', 'text/plain'],
      body: method === 'HEAD' ? undefined : 'hello',
    });
    expect(result.error).toBeUndefined();
    const last = target.requests.at(-1);
    expect(last).toMatchObject({ method: expectedMethod, body: expectedBody, path: '/echo' });
    expect(last?.headers['content-type']).toBe(expectedMethod === method ? 'text/plain' : undefined);
  });

  it('keep credentials from other origins', async () => {
    const headers = ['Authorization', 'Bearer x', 'Cookie', 'a=b', 'X-Mine', 'y'];
    await probe(to(`${other.url}/echo`), { headers });
    const received = other.requests.at(-1)?.headers;
    expect(received).toMatchObject({ 'x-mine': 'y' });
    expect(received).not.toHaveProperty('authorization');
    expect(received).not.toHaveProperty('cookie');
    await probe(to(`${target.url}/echo`), { headers });
    expect(target.requests.at(-1)?.headers).toMatchObject({ authorization: 'Bearer x', cookie: 'a=b' });
  });

  it('may be relative and may contain raw UTF-8', async () => {
    const path = Buffer.from('/echo?ü').toString('latin1');
    const raw = await startHttpTarget({
      routes: {
        raw: (_request, reply) => {
          reply.writeHead(302, { location: path });
          reply.end();
        },
      },
    });
    const { url } = await probe(`${raw.url}/raw`);
    await raw.close();
    expect(url.search).toBe('?%C3%BC');
  });
});

describe('the requested address', () => {
  it.each([
    ['/echo?', '/echo?'],
    ['/?', '/?'],
    ['/echo?#part', '/echo?'],
    ['/echo#part?', '/echo'],
    ['/echo??', '/echo??'],
    ['/a%3F', '/a%3F'],
    ['', '/'],
  ])('of %j is %j on the wire', async (written, sent) => {
    const server = createServer((socket) => {
      socket.on('error', () => socket.destroy());
      socket.once('data', (bytes) => {
        const asked = bytes.toString('latin1').split(' ')[1] ?? '';
        socket.end(`HTTP/1.1 200 OK\r\nContent-Length: ${asked.length}\r\n\r\n${asked}`);
      });
    });
    await using raw = await listen(server, { scheme: 'http' });
    expect((await probe(raw.url + written)).body.bytes.toString()).toBe(sent);
  });
});

describe('user and password in a URL', () => {
  it('become basic authorization, and are otherwise no part of the request', async () => {
    await probe(target.url.replace('://', '://us%20er:p%25@').concat('/echo?a=b#secret'));
    const last = target.requests.at(-1);
    expect(last?.headers.authorization).toBe(`Basic ${Buffer.from('us er:p%').toString('base64')}`);
    expect(last?.headers.host).toBe(`127.0.0.1:${target.port}`);
  });

  it('are overridden by an Authorization header', async () => {
    const url = target.url.replace('://', '://user:pass@');
    await probe(url, { headers: ['authorization', 'Bearer x'] });
    expect(target.requests.at(-1)?.headers.authorization).toBe('Bearer x');
  });
});
