import { describe, expect, it } from 'vitest';
import { cleanedMessage, errorHash } from './cleaned-message.ts';

describe('a cleaned message', () => {
  it.each([
    ['connect ECONNREFUSED 10.0.0.5:8443', 'connect ECONNREFUSED <ip>'],
    ['connect ECONNREFUSED [2001:db8::1]:8443', 'connect ECONNREFUSED <ip>'],
    ['connect ECONNREFUSED ::1:80', 'connect ECONNREFUSED <ip>'],
    ['getaddrinfo ENOTFOUND api.shop.test', 'getaddrinfo ENOTFOUND api.shop.test'],
    ['Unexpected status 503', 'Unexpected status 503'],
    ['GET /api/orders/12 failed with HTTP 404', 'GET /api/orders/<n> failed with HTTP 404'],
    ['Response time 523ms exceeded 500ms', 'Response time <n>ms exceeded <n>ms'],
    ['order 4be0643f-1d98-573b-97cd-ca98a65347dd is gone', 'order <uuid> is gone'],
    ['at 2026-05-26T08:00:00.000Z and Sat, 21 Nov 2026 05:48:39 GMT', 'at <time> and <time>'],
    ['at Sat Nov 21 2026 05:48:39 GMT+0000 (UTC), 12:33:44.5', 'at <time>, <time>'],
    ['token of 1599045546009, 1599045546.', 'token of <time>, <time>.'],
    ['mail to ada.l@mail.test', 'mail to <email>'],
    ['GET https://x.test/a/b?id=77#top answered', 'GET https://x.test/a/b answered'],
    ['commit deadbeef01, 0xCAFE1234BABE', 'commit <hex>, <hex>'],
    ['at run (/home/u/app/check.ts:12:5) of /tmp/run-ab12/y', 'at run (<path>) of <path>'],
    ['in C:\\Users\\x\\a.js:1:2 of file:///srv/x.mjs:3:4', 'in <path> of <path>'],
    ['expected "5" to be "17", 3 of 12 items', 'expected "<n>" to be "<n>", 3 of <n> items'],
    ['locator.click: Timeout\nCall log:\n - waiting for #buy', 'locator.click: Timeout'],
    ['\u001b[31mred\u001b[39m   and\n\tspaces ', 'red and spaces'],
    ['Assertion failed: STATUS_CODE EQUALS 200, received 503', 'Assertion failed: STATUS_CODE EQUALS 200'],
    [
      'Assertion failed: JSON_BODY $.a LESS_THAN 12, received "a, received b"',
      'Assertion failed: JSON_BODY $.a LESS_THAN 12',
    ],
    ['x'.repeat(5000), 'x'.repeat(1000)],
  ])('of %j', (raw, cleaned) => {
    expect(cleanedMessage(raw)).toBe(cleaned);
  });

  it('is the same when it is cleaned again', () => {
    for (const raw of [
      'at /srv/a.ts:1:2 10.0.0.1 took 55 ms on 2026-01-01',
      'HTTP 503 from [::1]:80, id 1234567',
    ]) {
      expect(cleanedMessage(cleanedMessage(raw))).toBe(cleanedMessage(raw));
    }
  });

  it('is cheap even for messages that are crafted to be expensive', () => {
    const hostile = ['a@', '1:', '/a', '1.', 'https://', '[', ':', 'status 100 ', '"1', 'Sat Nov ', '<', '-'];
    for (const part of hostile) expect(cleanedMessage(part.repeat(20_000)).length).toBeLessThanOrEqual(1000);
  });

  it('has a stable hash', () => {
    expect(errorHash('connect ECONNREFUSED <ip>')).toBe(
      'efcac71a5128bbbe78045bedeeefd5a7f28c55a938a3962fe75b0075f6d6bbf0',
    );
  });
});
