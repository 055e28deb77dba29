import { expect, it } from 'vitest';
import { SecretFinder } from '../secret-finder.ts';
import { credentialHeaderShapes } from './credential-header-shape.ts';

const finder = new SecretFinder([], credentialHeaderShapes());

/** The text with what was found replaced. */
function masked(text: string): string {
  const bytes = Buffer.from(text);
  let clean = '';
  let at = 0;
  for (const { start, end } of finder.find(bytes)) {
    clean += `${bytes.toString('utf8', at, start)}***`;
    at = end;
  }
  return clean + bytes.toString('utf8', at);
}

it.each([
  ['a HAR pair', '{"name":"Cookie","value":"a=b; c=\\"d\\""}', '{"name":"Cookie","value":"***"}'],
  [
    'a pretty HAR pair',
    '"name": "set-cookie",\n      "value": "a=b"\n',
    '"name": "set-cookie",\n      "value": "***"\n',
  ],
  ['an object', '{"Authorization":"Basic abc","accept":"*/*"}', '{"Authorization":"***","accept":"*/*"}'],
  [
    'an object in JSON in JSON',
    JSON.stringify({ body: JSON.stringify({ 'x-api-key': 'k"1', b: 1 }) }),
    JSON.stringify({ body: JSON.stringify({ 'x-api-key': 'K', b: 1 }) }).replace('K', '***'),
  ],
  [
    'a list of cookies',
    '"cookies":[{"name":"value","value":"x"},{"name":"b","value":"y]\\"z","path":"/"}],"n":[{"value":"kept"}]',
    '"cookies":[{"name":"value","value":"***"},{"name":"b","value":"***","path":"/"}],"n":[{"value":"kept"}]',
  ],
  ['a list', '{"proxy-authorization": ["Basic abc"]}', '{"proxy-authorization": ["***"]}'],
  [
    'a line',
    'GET / HTTP/1.1\r\nAuthorization: Bearer x y\r\nA: b',
    'GET / HTTP/1.1\r\nAuthorization: ***\r\nA: b',
  ],
  [
    'a line of a call log',
    '"→ GET /\\n  authorization: Basic abc\\n  accept: */*"',
    '"→ GET /\\n  authorization: ***\\n  accept: */*"',
  ],
  ['a line of curl', '> X-API-KEY: abc\n> a: b', '> X-API-KEY: ***\n> a: b'],
])('masks the value in %s', (_form, text, clean) => {
  expect(masked(text)).toBe(clean);
});

it.each([
  ['prose', 'Every cookie: a good one. The authorization: granted'],
  ['other names', '{"my-authorization-x":"a","cookies":"b","cookieStore":"c","api-keys":"d"}'],
  ['an empty value', '{"cookie":""}'],
  ['code', 'const cookie = parse(request.headers.cookie);'],
])('leaves %s alone', (_form, text) => {
  expect(masked(text)).toBe(text);
});
