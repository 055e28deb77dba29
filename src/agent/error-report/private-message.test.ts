import { expect, it } from 'vitest';
import { privateMessage } from './private-message.ts';

it.each([
  ['getaddrinfo ENOTFOUND db.internal.corp', 'getaddrinfo ENOTFOUND <address>'],
  ['getaddrinfo ENOTFOUND intranet', 'getaddrinfo ENOTFOUND <address>'],
  ['connect ECONNREFUSED 10.20.30.40:5432', 'connect ECONNREFUSED <address>'],
  ['connect ETIMEDOUT [fd00:1::2]:443', 'connect ETIMEDOUT <address>'],
  ['Failed to fetch https://user:pw@host/path?key=1 now', 'Failed to fetch <url> now'],
  [
    "ENOENT: no such file or directory, open '/var/lib/customer/x'",
    'ENOENT: no such file or directory, open "…"',
  ],
  ['cannot read /etc/picket/key and C:\\secret\\file', 'cannot read <path> and <path>'],
  [
    'Unexpected token \'<\', "<!doctype "... is not valid JSON',
    'Unexpected token "…", "…"... is not valid JSON',
  ],
  ['Authorization: Bearer abc.def', 'Authorization: <value>'],
  ['API_KEY=pl_abc is wrong', 'API_KEY: <value>'],
  ['MY_HOST=abc is wrong', '<variable> is wrong'],
  ['my-api-key: 12345 and more', 'my-api-key: <value>'],
  ['bad address jane@example.com', 'bad address <address>'],
  ['body was {"a":1,"b":[2]} at the end', 'body was {…} at the end'],
  ['token 4f9a8b7c6d5e4f3a2b1c is gone', 'token <token> is gone'],
  ['no response from shop.example.com', 'no response from <name>'],
  ['at ::ffff:10.0.0.1 and fe80::1%eth0', 'at <address> and <address>'],
  ['Invalid array length', 'Invalid array length'],
  [
    "Cannot read properties of undefined (reading 'status')",
    'Cannot read properties of undefined (reading "…")',
  ],
  ['two\n  lines\u0000', 'two lines'],
])('%j is sent as %j', (message, left) => {
  expect(privateMessage(message)).toBe(left);
});

it('is short for any message', () => {
  expect(privateMessage('long '.repeat(10_000)).length).toBeLessThanOrEqual(300);
});
