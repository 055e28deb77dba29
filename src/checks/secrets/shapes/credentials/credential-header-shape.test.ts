import { expect, it } from 'vitest';
import { SecretFinder } from '../../secret-finder.ts';
import { credentialHeaderShapes } from './credential-header-shape.ts';

const finder = new SecretFinder([], credentialHeaderShapes());

/** Returns the text with matches replaced. */
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
  [
    'a message of a trace',
    '{"message":"  Authorization: Bearer a b","n":1}',
    '{"message":"  Authorization: ***","n":1}',
  ],
  [
    'a message of a trace, with quotes',
    '{"message":"  Cookie: a=\\"b\\"; c=d"}',
    '{"message":"  Cookie: ***"}',
  ],
  ['a line with quotes', 'Authorization: Digest username="a", response="b"\nc', 'Authorization: ***\nc'],
  [
    'a line with quotes in JSON',
    '"a\\n  authorization: Digest username=\\"a\\", response=\\"b\\"\\nc"',
    '"a\\n  authorization: ***\\nc"',
  ],
  [
    'an object that Node shows',
    "{ a: 1, Authorization: 'Bearer x', b: 2 }",
    "{ a: 1, Authorization: '***', b: 2 }",
  ],
  ['lines of an object that Node shows', "{\n  'x-api-key': 'x',\n", "{\n  'x-api-key': '***',\n"],
  ['a map that Node shows', "Map(1) { 'cookie' => 'a=b' }", "Map(1) { 'cookie' => '***' }"],
  ['a list of values', '{"set-cookie":["a=b","c=d"],"e":"f"}', '{"set-cookie":["***","***"],"e":"f"}'],
  [
    'raw headers',
    "[ 'Host', 'a', 'Authorization', 'Bearer x', 'b' ]",
    "[ 'Host', 'a', 'Authorization', '***', 'b' ]",
  ],
  [
    'cookies that Node shows',
    "cookies: [ { name: 'a', value: 'b' } ]",
    "cookies: [ { name: 'a', value: '***' } ]",
  ],
  ['a line of a difference', '+     - Authorization: Bearer x\n', '+     - Authorization: ***\n'],
  ['a sentence', 'It sent Authorization: Bearer x.y.z "and"', 'It sent Authorization: ***"and"'],
  ['a sentence with a cookie', 'It sent cookie: sid=0a1b2c', 'It sent cookie: ***'],
  [
    'other headers',
    'Private-Token: a\nX-Auth-Token: b\nX-AMZ-Security-Token: c',
    'Private-Token: ***\nX-Auth-Token: ***\nX-AMZ-Security-Token: c',
  ],
  ['a variable of CGI', "HTTP_AUTHORIZATION='Basic abc'", "HTTP_AUTHORIZATION='***'"],
])('masks the value in %s', (_form, text, clean) => {
  expect(masked(text)).toBe(clean);
});

it.each([
  ['prose', 'Every cookie: a good one. The authorization: granted'],
  ['other names', '{"my-authorization-x":"a","cookies":"b","cookieStore":"c","api-keys":"d"}'],
  ['an empty value', '{"cookie":""}'],
  ['an empty line of a trace', '{"message":"  Authorization: ","next":"a"}'],
  ['names next to each other', "new Set(['authorization', 'cookie', 'set-cookie', 'x-api-key', 'accept'])"],
  ['code with a value to come', 'authorization: `Bearer ${token}`, cookie: "{{COOKIE}}"'],
  [
    'code with a value that is made of others',
    'authorization: `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`',
  ],
  [
    'an expression',
    'headers: { a, cookie: this.#cookie, "x-api-key": b }\nauthorization: process.env.TOKEN,\n',
  ],
  ['a scheme without a value', 'Whatever sets `Authorization: Bearer` and handles 401'],
  ['a command with a variable', 'curl -H "Authorization: Bearer $KEY"'],
  ['code', 'const cookie = parse(request.headers.cookie);'],
])('leaves %s unchanged', (_form, text) => {
  expect(masked(text)).toBe(text);
});
