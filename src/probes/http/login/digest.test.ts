import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { challengesOf } from './challenges.ts';
import { DigestLogin } from './digest.ts';
import type { LoginRequest } from './login.ts';

const request: LoginRequest = {
  method: 'GET',
  path: '/dir/index.html',
  hostname: 'www.example.org',
  body: undefined,
};
const without = () => undefined;

/** The Authorization value that a login sends after these challenges. */
async function answer(login: DigestLogin, challenge: string | readonly string[], asked = request) {
  const reaction = login.react({ headers: { 'www-authenticate': challenge }, certificate: without }, asked);
  return reaction.kind === 'continue' ? await reaction.authorization : login.progress;
}

/** The challenge of RFC 7616 section 3.9.1. */
const rfcFields =
  'realm="http-auth@example.org", qop="auth, auth-int", nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"';
const rfcNonce = 'f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ';
const mufasa = { username: 'Mufasa', password: 'Circle of Life' };

describe('Digest, as RFC 7616 section 3.9 computes it', () => {
  it.each([
    ['MD5', '8ca523f5e9506fed4657c9700eebdbec'],
    ['SHA-256', '753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1'],
  ])('sends the response of the example with %s', async (algorithm, response) => {
    const login = new DigestLogin(mufasa, () => rfcNonce);
    const sent = await answer(login, `Digest ${rfcFields}, algorithm=${algorithm}`);
    expect(sent).toContain(`response="${response}"`);
    expect(sent).toContain(`algorithm=${algorithm}, `);
    expect(sent).toContain('nc=00000001, ');
    expect(sent).toContain('qop=auth, ');
  });

  it('hides the user and encodes it in UTF-8, with SHA-512-256 (erratum 4897)', async () => {
    const login = new DigestLogin(
      { username: 'Jäsøn Doe', password: 'Secret, or not?' },
      () => 'NTg6RKcb9boFIAS3KrFK9BGeh+iDa/sm6jUMp2wds69v',
    );
    const sent = await answer(
      login,
      'Digest realm="api@example.org", qop="auth", algorithm=SHA-512-256, nonce="5TsQWLVdgBdmrQ0XsxbDODV+57QdFR34I9HAbC/RVvkK", opaque="HRPCssKJSGjCrkzDg8OhwpzCiGPChXYjwrI2QmXDnsOS", charset=UTF-8, userhash=true',
      { ...request, path: '/doe.json' },
    );
    expect(sent).toContain('username="793263caabb707a56211940d90411ea4a575adeccb7e360aeb624ed06ece9b0b"');
    expect(sent).toContain('response="3798d4131c277846293534c3edc11bd8a5e4cdcbff78b05db9d95eeb1cec68a5"');
    expect(sent).toContain('userhash=true');
  });
});

describe('Digest', () => {
  const ada = { username: 'ada', password: 'pass' };

  it('chooses the strongest of several challenges, over several lines', async () => {
    const login = new DigestLogin(ada);
    const sent = await answer(login, [
      'Basic realm="a, b=\\"c\\"", Digest realm="x", nonce="1", algorithm=MD5',
      'Digest realm="x", nonce="2", algorithm=SHA-256, qop="auth", Negotiate, NTLM TlRMTVNTUAA=',
    ]);
    expect(sent).toContain('algorithm=SHA-256');
    expect(login.progress.offered).toEqual(['Basic', 'Digest', 'Digest', 'Negotiate', 'NTLM']);
  });

  it('counts the uses of a nonce, and answers a stale one once more', async () => {
    const login = new DigestLogin(ada);
    login.begin();
    expect(await answer(login, 'Digest realm="x", nonce="1", qop="auth"')).toContain('nc=00000001');
    login.accept({});
    login.begin();
    expect(login.preemptive(request)).toContain('nc=00000002');
    expect(await answer(login, 'Digest realm="x", nonce="2", qop="auth", stale=TRUE')).toContain('nonce="2"');
    expect(await answer(login, 'Digest realm="x", nonce="3", qop="auth", stale=true')).toContain('nonce="3"');
    expect(await answer(login, 'Digest realm="x", nonce="4", qop="auth", stale=true')).toMatchObject({
      state: 'refused',
    });
  });

  it('takes the nonce that a response names for the next request', async () => {
    const login = new DigestLogin(ada);
    await answer(login, 'Digest realm="x", nonce="1", qop="auth"');
    login.accept({ 'authentication-info': 'rspauth="0", nextnonce="9"' });
    expect(login.preemptive(request)).toMatch(/nonce="9".*nc=00000001/);
  });

  it('protects the body where the server wants that', async () => {
    const login = new DigestLogin(ada, () => 'c');
    const posted = { ...request, method: 'POST', body: Buffer.from('v=1') };
    const challenge = 'Digest realm="x", nonce="1", qop="auth-int", algorithm=SHA-256-sess';
    const sent = await answer(login, challenge, posted);
    const other = await answer(new DigestLogin(ada, () => 'c'), challenge, {
      ...posted,
      body: Buffer.from('v=2'),
    });
    expect(sent).toContain('qop=auth-int');
    expect(sent).not.toBe(other);
  });

  it.each<readonly [string, string, string]>([
    ['a user with quotes', 'a"b\\c', 'username="a\\"b\\\\c"'],
    ['a user beyond ASCII', 'Jäger', "username*=UTF-8''J%C3%A4ger"],
  ])('sends %s', async (_, username, shown) => {
    const login = new DigestLogin({ username, password: 'x' });
    expect(await answer(login, 'Digest realm="r", nonce="1", qop="auth", charset="UTF-8"')).toContain(shown);
  });

  it.each<readonly [string, string, string]>([
    ['without Digest', 'Basic realm="x"', 'not-offered'],
    ['without a nonce', 'Digest realm="x"', 'unusable'],
    ['with an unknown algorithm', 'Digest realm="x", nonce="1", algorithm=WHIRLPOOL', 'unusable'],
    ['with an unknown protection only', 'Digest realm="x", nonce="1", qop="auth-conf"', 'unusable'],
    ['with a nonce of 9,000 characters', `Digest realm="x", nonce="${'n'.repeat(9_000)}"`, 'unusable'],
    ['with a control character', 'Digest realm="\u0001", nonce="1"', 'unusable'],
    ['of garbage', '"""=,,,=\u0002', 'not-offered'],
  ])('ends at a challenge %s', async (_, challenge, state) => {
    expect(await answer(new DigestLogin(ada), challenge)).toMatchObject({ state });
  });

  it('answers or ends, whatever the challenge says', async () => {
    const texts = fc.string({ unit: fc.constantFrom(...'Digest realm nonce="\\,= qop=auth \u00e4\u0001') });
    await fc.assert(
      fc.asyncProperty(texts, async (text) => {
        const login = new DigestLogin(ada);
        const sent = await answer(login, `Digest nonce="1", ${text}`);
        if (typeof sent === 'string') expect(sent).toMatch(/^Digest [\t\x20-\x7e\x80-\xff]+$/);
      }),
    );
  });

  it('reads long and broken challenges in a bounded number of parts', () => {
    expect(challengesOf({ 'www-authenticate': 'A '.repeat(100_000) })).toHaveLength(30);
    expect(challengesOf({ 'www-authenticate': `Digest ${'a=1,'.repeat(50_000)}` }).length).toBeLessThan(31);
    expect(challengesOf({ 'www-authenticate': `Digest realm="${'\\'.repeat(200_001)}` })).toHaveLength(1);
  });
});
