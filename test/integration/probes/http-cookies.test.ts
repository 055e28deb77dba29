import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CookieJar } from '../../../src/probes/http/cookie-jar.ts';
import { probe } from '../../helpers/targets/http-request.ts';
import { type HttpTarget, startHttpTarget } from '../../helpers/targets/http-target.ts';

let wall: HttpTarget;
beforeAll(async () => {
  wall = await startHttpTarget({
    routes: {
      /** Accepts only requests that return its cookie. */
      wall: ({ headers }, reply) => {
        if (headers.cookie?.includes('pass=1')) {
          reply.writeHead(200);
          reply.end(headers.cookie);
        } else {
          reply.writeHead(302, {
            location: '/wall',
            'set-cookie': ['pass=1; Path=/', 'other=2; Path=/wall'],
          });
          reply.end();
        }
      },
      login: (_request, reply) => {
        reply.writeHead(303, { location: '/echo', 'set-cookie': 'session=new; Path=/; HttpOnly' });
        reply.end();
      },
      logout: (_request, reply) => {
        reply.writeHead(302, { location: '/echo', 'set-cookie': 'pass=; Path=/; Max-Age=0' });
        reply.end();
      },
    },
  });
});
afterAll(() => wall.close());

const received = () => wall.requests.at(-1)?.headers.cookie;

describe('cookies across redirects', () => {
  it('let a run through a cookie wall', async () => {
    const { error, head, redirectCount } = await probe(`${wall.url}/wall`);
    expect(error).toBeUndefined();
    expect(head?.status).toBe(200);
    expect(redirectCount).toBe(1);
    expect(received()).toBe('other=2; pass=1');
  });

  it('belong to one run only', async () => {
    await probe(`${wall.url}/wall`);
    await probe(`${wall.url}/echo`);
    expect(received()).toBeUndefined();
  });

  it('follow those of the check, and replace those that the server sets anew', async () => {
    await probe(`${wall.url}/login`, { headers: ['Cookie', 'session=old; theme=dark', 'X-Mine', 'y'] });
    expect(received()).toBe('theme=dark; session=new');
    expect(wall.requests.at(-1)?.headers['x-mine']).toBe('y');
  });

  it('are not kept by redirects that are not followed', async () => {
    const { head } = await probe(`${wall.url}/wall`, { followRedirects: false });
    expect(head?.status).toBe(302);
  });
});

const sent = (jar: CookieJar, url: string) => jar.addTo([], new URL(url))[1] ?? '';
const jarWith = (url: string, ...lines: string[]) => {
  const jar = new CookieJar();
  jar.store(new URL(url), { 'set-cookie': lines });
  return jar;
};

describe('a cookie', () => {
  it.each([
    ['of the host', 'a=1', 'http://www.a.example/x', 'a=1'],
    ['of the host alone', 'a=1', 'http://sub.www.a.example/', ''],
    ['of a domain', 'a=1; Domain=a.example', 'http://other.a.example/', 'a=1'],
    ['of a domain with a dot', 'a=1; Domain=.a.example', 'http://a.example/', 'a=1'],
    ['of a domain, elsewhere', 'a=1; Domain=a.example', 'http://nota.example/', ''],
    ['of another domain', 'a=1; Domain=b.example', 'http://b.example/', ''],
    ['of a part below', 'a=1; Domain=x.www.a.example', 'http://x.www.a.example/', ''],
    ['of a top level', 'a=1; Domain=example', 'http://b.example/', ''],
    ['of a path', 'a=1; Path=/in', 'http://www.a.example/in/side', 'a=1'],
    ['of a path, beside it', 'a=1; Path=/in', 'http://www.a.example/inside', ''],
    ['without a name', '=1', 'http://www.a.example/', ''],
    ['without a value', 'a=', 'http://www.a.example/', 'a='],
    ['with equals signs', 'a=b=c==', 'http://www.a.example/', 'a=b=c=='],
    ['in quotes', 'a="b c"', 'http://www.a.example/', 'a="b c"'],
    ['that is over', 'a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT', 'http://www.a.example/', ''],
    ['that is over, with dashes', 'a=1; Expires=Thu, 01-Jan-1970 00:00:00 GMT', 'http://www.a.example/', ''],
    ['with a date nobody can read', 'a=1; Expires=soon', 'http://www.a.example/', 'a=1'],
    [
      'whose age goes before its date',
      'a=1; Max-Age=9; Expires=Thu, 01 Jan 1970 00:00:00 GMT',
      'http://www.a.example/',
      'a=1',
    ],
    ['that is secure, from a plain server', 'a=1; Secure', 'https://www.a.example/', ''],
    ['with a control character', 'a=\x01', 'http://www.a.example/', ''],
    ['that is too long', `a=${'x'.repeat(5000)}`, 'http://www.a.example/', ''],
  ])('%s', (_what, line, url, expected) => {
    expect(sent(jarWith('http://www.a.example/', line), url)).toBe(expected);
  });

  it('that is secure is sent over TLS only', () => {
    const jar = jarWith('https://a.example/', 'a=1; Secure');
    expect(sent(jar, 'https://a.example/')).toBe('a=1');
    expect(sent(jar, 'http://a.example/')).toBe('');
  });

  it('of an address belongs to that address', () => {
    expect(sent(jarWith('http://127.0.0.1/', 'a=1; Domain=0.0.1'), 'http://127.0.0.1/')).toBe('');
    expect(sent(jarWith('http://127.0.0.1/', 'a=1'), 'http://127.0.0.1/')).toBe('a=1');
  });

  it('belongs to the folder of its page by default, and the nearest is sent first', () => {
    const jar = jarWith('http://a.example/one/two/page', 'near=1', 'far=2; Path=/');
    expect(sent(jar, 'http://a.example/one/two/other')).toBe('near=1; far=2');
    expect(sent(jar, 'http://a.example/one')).toBe('far=2');
  });

  it('is kept in limited numbers', () => {
    const lines = Array.from({ length: 5000 }, (_, index) => `n${index}=1`);
    expect(sent(jarWith('http://a.example/', ...lines), 'http://a.example/').split(';').length).toBe(180);
  });
});
