import { createRequire } from 'node:module';
import { afterEach, describe, expect, it } from 'vitest';

type Totp = (secret: string, options?: Record<string, unknown>) => Promise<string>;
const helpers = '../../../runtimes/playwright-helpers';
const { totp } = createRequire(import.meta.url)(`${helpers}/index.js`) as { totp: Totp };

/** Base32 of the seeds of RFC 6238, appendix B: "1234567890…", as long as the hash. */
const seeds = {
  SHA1: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ',
  SHA256: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZA',
  SHA512:
    'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNA',
};
const secret = seeds.SHA1;

describe('codes', () => {
  it.each([
    [59, '94287082', '46119246', '90693936'],
    [1111111109, '07081804', '68084774', '25091201'],
    [1111111111, '14050471', '67062674', '99943326'],
    [1234567890, '89005924', '91819424', '93441116'],
    [2000000000, '69279037', '90698825', '38618901'],
    [20000000000, '65353130', '77737706', '47863826'],
  ])('of RFC 6238, appendix B, at %d', async (seconds, ...expected) => {
    const codes = (['SHA1', 'SHA256', 'SHA512'] as const).map((algorithm) =>
      totp(seeds[algorithm], { algorithm, digits: 8, at: seconds * 1000 }),
    );
    expect(await Promise.all(codes)).toEqual(expected);
  });

  it('of RFC 4226, appendix D, by the counter', async () => {
    const codes = Array.from({ length: 10 }, (_, counter) =>
      totp(secret, { at: new Date(counter * 30_000) }),
    );
    expect(await Promise.all(codes)).toEqual([
      ...['755224', '287082', '359152', '969429', '338314', '254676', '287922', '162583', '399871', '520489'],
    ]);
  });

  it('of secrets as people copy them', async () => {
    const at = 59_000;
    const expected = await totp(secret, { at });
    for (const written of [
      'gezd gnbv gy3t qojq gezd gnbv gy3t qojq',
      `${secret.replaceAll(/(.{8})/g, '$1-')}====`,
      `otpauth://totp/Shop:ada@example.com?secret=${secret}&issuer=Shop`,
    ]) {
      expect(await totp(written, { at })).toBe(expected);
    }
    const url = `otpauth://totp/x?secret=${seeds.SHA256}&algorithm=SHA256&digits=8&period=60`;
    expect(await totp(url, { at: 118_000 })).toBe('46119246');
    expect(await totp(url, { at: 59_000, periodSeconds: 30 })).toBe('46119246');
  });

  it('are those of the next period when this one ends too soon', async () => {
    const begun = Date.now();
    const code = await totp(secret, { periodSeconds: 1, minRemainingSeconds: 0.999 });
    const counters = [begun, begun + 1000, Date.now()].map((at) => totp(secret, { periodSeconds: 1, at }));
    expect(await Promise.all(counters)).toContain(code);
  });
});

describe('wrong arguments', () => {
  it.each<[string, unknown, Record<string, unknown> | undefined, RegExp]>([
    ['no secret', undefined, undefined, /is empty; is its variable set/],
    ['an empty URL', 'otpauth://totp/x', undefined, /has no secret/],
    ['a counter', `otpauth://hotp/x?secret=${secret}`, undefined, /only otpauth:\/\/totp/],
    ['no base32', 'SECRET-1890', undefined, /is not base32/],
    ['one letter', 'A', undefined, /too short/],
    ['a long text', 'A'.repeat(5000), undefined, /more than 4096/],
    ['MD5', secret, { algorithm: 'MD5' }, /SHA1, SHA256 or SHA512, not MD5/],
    ['three digits', secret, { digits: 3 }, /from 6 to 10/],
    ['no period', secret, { periodSeconds: 0 }, /from 1 to 3600/],
    ['too long a wait', secret, { minRemainingSeconds: 30 }, /less than the period, 30/],
    ['a misspelling', secret, { digit: 8 }, /no option digit; there are algorithm/],
    ['a wrong time', secret, { at: 'now' }, /a Date or milliseconds/],
  ])('%s', async (_, given, options, message) => {
    const failed = totp(given as string, options);
    await expect(failed).rejects.toThrow(message);
    await expect(failed).rejects.not.toThrow(/1890|GEZD/);
  });
});

describe('the secret', () => {
  const key = Symbol.for('service.run-secrets');
  afterEach(() => Reflect.deleteProperty(globalThis, key));

  it('is reported to the agent in both forms, before anything can fail', async () => {
    const kept: string[] = [];
    Object.defineProperty(globalThis, key, {
      value: (_name: string, value: string) => kept.push(value),
      configurable: true,
    });
    await totp('gezd gnbv', { at: 0 });
    await expect(totp('otpauth://totp/x?secret=not-base32!')).rejects.toThrow();
    expect(kept).toEqual(['gezd gnbv', 'GEZDGNBV', 'not-base32!', 'NOTBASE32!']);
  });
});
