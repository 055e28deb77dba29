import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { md4 } from './md4.ts';
import { NtlmLogin } from './ntlm.ts';
import { authenticateMessage, ntlmV2Hash, ntlmV2Response, readChallenge } from './ntlm-messages.ts';

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');

describe('MD4', () => {
  it.each([
    ['', '31d6cfe0d16ae931b73c59d7e0c089c0'],
    ['a', 'bde52cb31de33e46245e05fbdbd6fb24'],
    ['abc', 'a448017aaf21d8525fc10ae87aa6729d'],
    ['message digest', 'd9130a8164549fe818874806e1c7014b'],
    ['abcdefghijklmnopqrstuvwxyz', 'd79e1c308aa5bbcdeea8ed63df412da9'],
    ['ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789', '043f8582f241db351ce627e153e7f0e4'],
    ['1234567890'.repeat(8), 'e33b4ddc9c38f2199c3e7b164fcc0536'],
  ])('hashes %j as RFC 1320 does', (text, hash) => {
    expect(md4(Buffer.from(text)).toString('hex')).toBe(hash);
  });
});

describe('NTLMv2, as MS-NLMP section 4.2.4 computes it', () => {
  const credentials = { username: 'User', password: 'Password', domain: 'Domain' };
  const hash = ntlmV2Hash(credentials);
  const info = hex('02000c0044006f006d00610069006e00 01000c0053006500720076006500720000000000');
  const { response, lmResponse, sessionKey } = ntlmV2Response(hash, hex('0123456789abcdef'), {
    clientNonce: hex('aaaaaaaaaaaaaaaa'),
    time: Buffer.alloc(8),
    info,
    isTimed: false,
  });

  it('hashes the password', () => {
    expect(hash.toString('hex')).toBe('0c868a403bfd7a93a3001ef22ef02e3f');
  });

  it('proves it', () => {
    expect(response.subarray(0, 16).toString('hex')).toBe('68cd0ab851e51c96aabc927bebef6a1c');
    expect(lmResponse.toString('hex')).toBe('86c35097ac9cec102554764a57cccc19aaaaaaaaaaaaaaaa');
    expect(sessionKey.toString('hex')).toBe('8de40ccadbc14a82f15cb0ad0de95ca3');
  });
});

describe('a challenge of NTLM', () => {
  /** The challenge of section 4.2.4.3. */
  const challenge = hex(
    `4e544c4d53535000020000000c000c003800000033828ae2 0123456789abcdef 0000000000000000 2400240044000000 0600701700
     00000f 53006500720076006500720002000c0044006f006d00610069006e0001000c0053006500720076006500720000000000`.replaceAll(
      /\s/g,
      '',
    ),
  );

  it('is read', () => {
    const read = readChallenge(challenge);
    if (typeof read === 'string') throw new Error(read);
    expect(read.nonce.toString('hex')).toBe('0123456789abcdef');
    expect(read.targetInfo.map(([id, value]) => [id, value.toString('utf16le')])).toEqual([
      [2, 'Domain'],
      [1, 'Server'],
    ]);
  });

  it('may have no target information', () => {
    expect(readChallenge(challenge.subarray(0, 40))).toMatchObject({ targetInfo: [] });
  });

  const changed = (at: number, bytes: string) => {
    const copy = Buffer.from(challenge);
    hex(bytes).copy(copy, at);
    return copy;
  };
  it.each<readonly [string, Buffer]>([
    ['too short', challenge.subarray(0, 31)],
    ['another message', changed(8, '03')],
    ['without Unicode', changed(20, '32')],
    ['with target information behind its end', changed(44, 'ffffffff')],
    ['with a pair longer than the rest', changed(challenge.length - 36 + 2, 'ff00')],
    ['cut in its target information', challenge.subarray(0, -5)],
  ])('is refused if it is %s', (_, bytes) => {
    expect(readChallenge(bytes)).toBeTypeOf('string');
  });

  it('is answered or refused, whatever is in it', () => {
    const given = {
      negotiate: Buffer.alloc(40),
      hostname: 'a.test',
      binding: undefined,
      clientNonce: Buffer.alloc(8),
      nowMs: 0,
    };
    const known = challenge.subarray(0, 24);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (rest) => {
        const read = readChallenge(Buffer.concat([known, rest]));
        if (typeof read === 'string') return;
        const whole = authenticateMessage({ username: 'u', password: '', domain: '' }, read, given);
        expect(whole.length).toBeLessThan(1000);
      }),
    );
  });

  it('ends a login that cannot go on', async () => {
    const react = (login: NtlmLogin, header: string) =>
      login.react(
        { headers: { 'www-authenticate': header }, certificate: () => undefined },
        { method: 'GET', path: '/', hostname: 'a', body: undefined },
      );
    const cases = [
      ['Negotiate', 'not-offered'],
      ['NTLM', 'unusable'],
      ['NTLM AAAA', 'unusable'],
      [`NTLM ${'A'.repeat(70_000)}`, 'unusable'],
    ] as const;
    for (const [header, state] of cases) {
      const login = new NtlmLogin({ username: 'D\\u', password: '', domain: '' });
      if (state === 'unusable') expect(react(login, 'NTLM')).toMatchObject({ kind: 'continue' });
      expect(react(login, header)).toEqual({ kind: 'end' });
      expect(login.progress.state).toBe(state);
    }
  });
});
