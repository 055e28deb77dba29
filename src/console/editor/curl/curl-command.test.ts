import { expect, it } from 'vitest';
import { parseCurl } from './curl-command.ts';

const plain = {
  method: 'GET',
  url: 'https://example.com/',
  headers: [],
  body: '',
  bodyType: 'NONE',
  followRedirects: false,
  skipSSL: false,
  ipFamily: 'IPv4',
  auth: null,
};
const open = (key: string, value: string) => ({ key, value, locked: false });

it.each([
  ['curl https://example.com/', {}],
  ['$ curl -sSLk https://example.com/', { followRedirects: true, skipSSL: true }],
  ['curl example.com/a?b=c', { url: 'http://example.com/a?b=c' }],
  [
    'curl -XPOST -HAccept:text/plain https://example.com/',
    { method: 'POST', headers: [open('Accept', 'text/plain')] },
  ],
  [`curl https://example.com/ -d a=1 -d 'b=x y'`, { method: 'POST', body: 'a=1&b=x y', bodyType: 'FORM' }],
  [
    `curl -G https://example.com/ --data-urlencode 'q=a b&c' -d n=1`,
    { url: 'https://example.com/?q=a+b%26c&n=1' },
  ],
  [
    `curl --json '{"a":1}' https://example.com/`,
    {
      method: 'POST',
      body: '{"a":1}',
      bodyType: 'JSON',
      headers: [open('Content-Type', 'application/json'), open('Accept', 'application/json')],
    },
  ],
  [
    `curl 'https://example.com/' -X PUT -H 'content-type: text/xml' --data-raw $'<a>\\n</a>' --compressed`,
    { method: 'PUT', body: '<a>\n</a>', bodyType: 'RAW', headers: [open('content-type', 'text/xml')] },
  ],
  [
    'curl -u ada:se:cret -6 https://example.com/',
    { auth: { type: 'BASIC', username: 'ada', password: 'se:cret', domain: '' }, ipFamily: 'IPv6' },
  ],
  [
    'curl --digest --user ada:x https://example.com/',
    { auth: { type: 'DIGEST', username: 'ada', password: 'x', domain: '' } },
  ],
  [
    String.raw`curl --ntlm -u 'INTRA\ada:x' https://example.com/`,
    { auth: { type: 'NTLM', username: String.raw`INTRA\ada`, password: 'x', domain: '' } },
  ],
  [
    'curl --negotiate -u : https://example.com/',
    { auth: { type: 'NEGOTIATE', username: '', password: '', domain: '' } },
  ],
  [
    `curl -A probe -e https://from.example/ -b 'a=1; b=2' -H 'Authorization: Bearer x' https://example.com/`,
    {
      headers: [
        { key: 'Authorization', value: 'Bearer x', locked: true },
        { key: 'Cookie', value: 'a=1; b=2', locked: true },
        open('User-Agent', 'probe'),
        open('Referer', 'https://from.example/'),
      ],
    },
  ],
  ['curl -I https://example.com/', { method: 'HEAD' }],
  [`curl -H 'Host:' -H 'X-Empty;' https://example.com/`, { headers: [open('X-Empty', '')] }],
] as const)('%s', (text, expected) => {
  expect(parseCurl(text).request).toEqual({ ...plain, ...expected });
});

it('reports what it left out, and why', () => {
  const { notes } = parseCurl('curl --resolve a:443:192.0.2.1 -m 5 -x http://proxy https://example.com/');
  expect(notes?.join(' ')).toMatch(/--resolve was ignored: names are resolved where/);
  expect(notes?.join(' ')).toMatch(/timeouts/);
  expect(notes?.join(' ')).toMatch(/proxy is that of the location/);
});

it.each([
  ['', /Paste a curl command/],
  ['wget https://example.com/', /not a curl command/],
  ['curl', /has no URL/],
  ['curl https://a.example https://b.example', /several URLs/],
  ['curl -F a=@b https://example.com/', /multipart forms/],
  ['curl -d @body.json https://example.com/', /reads a local file/],
  ['curl -b cookies.txt https://example.com/', /reads a local file/],
  ['curl -H @headers https://example.com/', /reads a local file/],
  ['curl --wat https://example.com/', /--wat is not supported/],
  ['curl --constructor https://example.com/', /--constructor is not supported/],
  ['curl -X', /needs a value/],
  ['curl -X OPTIONS https://example.com/', /OPTIONS is not supported/],
  ['curl "https://example.com/$ID"', /variable/],
  ['curl https://example.com/?a=1&b=2', /in quotes/],
] as const)('%s is refused', (text, problem) => {
  expect(parseCurl(text).problem).toMatch(problem);
});
