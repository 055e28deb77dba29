import { describe, expect, it } from 'vitest';
import { runApi } from '../../../src/checks/api/run.ts';
import { ApiSpec } from '../../../src/checks/api/spec.ts';
import type { RunContext } from '../../../src/checks/contract/run-context.ts';
import { HttpDetail } from '../../../src/checks/http/detail.ts';
import { runUrl } from '../../../src/checks/url/run.ts';
import { UrlSpec } from '../../../src/checks/url/spec.ts';
import { runContext } from '../../helpers/run-context.ts';
import { createAuthority } from '../../helpers/targets/certificates.ts';
import { type DigestTargetOptions, startDigestTarget } from '../../helpers/targets/digest-target.ts';
import { startHttpTarget } from '../../helpers/targets/http-target.ts';
import { type NtlmTargetOptions, startNtlmTarget } from '../../helpers/targets/ntlm-target.ts';

const ada = { username: 'ada', password: 'pass "word"' };
const auth = { type: 'DIGEST', ...ada };

async function run(request: Record<string, unknown>, context: Partial<RunContext> = {}) {
  const outcome = await runApi(ApiSpec.parse({ request: { auth, ...request } }), runContext(context));
  expect(HttpDetail.parse(outcome.detail)).toEqual(outcome.detail);
  return outcome;
}

async function withTarget(options: Partial<DigestTargetOptions>, request: Record<string, unknown> = {}) {
  const target = await startDigestTarget({ ...ada, ...options });
  try {
    const outcome = await run({ url: `${target.url}/a/b?c=d`, ...request });
    return { ...outcome, requests: target.requests, login: outcome.detail.response.login };
  } finally {
    await target.close();
  }
}

describe('a Digest login', () => {
  it.each<readonly [challenge: string, algorithm: string]>([
    ['qop="auth"', 'MD5'],
    ['stale=false', 'MD5'],
    ['algorithm=MD5-sess, qop="auth,auth-int"', 'MD5-sess'],
    ['algorithm=SHA-256, qop="auth"', 'SHA-256'],
    ['algorithm=SHA-256-sess, qop="auth-int"', 'SHA-256-sess'],
    ['algorithm=SHA-512-256, qop="auth", userhash=true, charset=UTF-8', 'SHA-512-256'],
  ])('answers %s on the same connection', async (challenge, algorithm) => {
    const posted = { method: 'POST', body: 'v=1', bodyType: 'RAW' };
    const { failure, detail, requests, login } = await withTarget({ challenges: [challenge] }, posted);
    expect(failure).toBeUndefined();
    expect(login).toMatchObject({ scheme: 'Digest', state: 'accepted', algorithm, reason: null });
    expect(requests.map(({ body }) => body)).toEqual(['v=1', 'v=1']);
    expect(requests.map(({ cookie }) => cookie)).toEqual([undefined, 'challenge=1']);
    expect(new Set(requests.map(({ port }) => port)).size).toBe(1);
    expect(detail.response).toMatchObject({ status: 200, body: 'in' });
  });

  it('counts its requests in the response time, each for itself', async () => {
    const { detail, login, responseTimeMs } = await withTarget({});
    const phases = detail.response.timingPhases;
    expect(login?.legs).toMatchObject([{ status: 401 }]);
    const [leg] = login?.legs ?? [];
    expect(phases?.auth).toBeCloseTo((leg?.wait ?? 0) + (leg?.download ?? 0), 2);
    expect(phases?.auth).toBeGreaterThan(0);
    expect(phases?.firstByte).toBeGreaterThan(phases?.auth ?? 0);
    expect(responseTimeMs).toBeCloseTo(phases?.total ?? 0, 2);
  });

  it('chooses the strongest of several challenges', async () => {
    const { login } = await withTarget({ challenges: ['qop="auth"', 'algorithm=SHA-256, qop="auth"'] });
    expect(login).toMatchObject({ state: 'accepted', algorithm: 'SHA-256' });
  });

  it('goes on over a new connection where the server closes the first', async () => {
    const { failure, requests, login } = await withTarget({ closes: true });
    expect(failure).toBeUndefined();
    expect(new Set(requests.map(({ port }) => port)).size).toBe(2);
    expect(login?.legs).toHaveLength(1);
  });

  it('is repeated over a new connection if the first breaks under it', async () => {
    const posted = { method: 'POST', body: 'v=1', bodyType: 'RAW' };
    const { failure, requests, login } = await withTarget({ breaks: true }, posted);
    expect(failure).toBeUndefined();
    expect(requests.map(({ body }) => body)).toEqual(['v=1', 'v=1']);
    expect(new Set(requests.map(({ port }) => port)).size).toBe(2);
    expect(login).toMatchObject({ state: 'accepted', legs: [{ status: 401 }] });
  });

  it('uses its nonce again after a redirect, and renews a stale one', async () => {
    const redirectTo = (path: string) => (path.startsWith('/a') ? '/second' : undefined);
    const fresh = await withTarget({ redirectTo });
    expect(
      fresh.requests.map(({ path, authorization }) => [path, /nc=\d+/.exec(authorization ?? '')?.[0]]),
    ).toEqual([
      ['/a/b?c=d', undefined],
      ['/a/b?c=d', 'nc=00000001'],
      ['/second', 'nc=00000002'],
    ]);
    expect(fresh.detail.response.redirects).toMatchObject([
      { status: 302, timingPhases: { auth: expect.any(Number) } },
    ]);
    const stale = await withTarget({ redirectTo, usesOfNonce: 1 });
    expect(stale.requests).toHaveLength(4);
    expect(stale.login).toMatchObject({ state: 'accepted' });
  });

  it('says so if the server refuses the credentials', async () => {
    const { failure, login, requests, detail } = await withTarget({ password: 'other' });
    expect(failure).toMatchObject({
      owner: 'target',
      code: 'STATUS_UNEXPECTED',
      message: 'Unexpected status 401 (the server refused the credentials)',
      details: { loginState: 'refused' },
    });
    expect(login).toMatchObject({ state: 'refused', offered: ['Digest'] });
    expect(detail.response.body).toBe('log in');
    expect(requests).toHaveLength(2);
    expect(JSON.stringify(detail)).not.toContain('response=');
  });

  it('sends nothing to another origin', async () => {
    const other = await startHttpTarget();
    const { failure, login } = await withTarget({ redirectTo: () => `${other.url}/echo` });
    expect(failure).toBeUndefined();
    expect(other.requests.map(({ headers }) => headers.authorization)).toEqual([undefined]);
    expect(login).toMatchObject({ state: 'accepted', legs: [] });
    await other.close();
  });

  it('passes over the body of a challenge, up to a limit', async () => {
    expect((await withTarget({ challengeBody: 'x'.repeat(200_000) })).failure).toBeUndefined();
    expect((await withTarget({ challengeBody: 'x'.repeat(300_000) })).failure).toMatchObject({
      code: 'RESPONSE_MALFORMED',
    });
  });

  it('ends at a server that does not ask, or asks for something else', async () => {
    const target = await startHttpTarget({
      routes: {
        basic: (_request, reply) => {
          reply.writeHead(401, { 'www-authenticate': 'Basic realm="x"' });
          reply.end();
        },
      },
    });
    const open = await run({ url: `${target.url}/` });
    expect(open.detail.response.login).toMatchObject({ state: 'not-asked', legs: [] });
    expect((await run({ url: `${target.url}/basic` })).failure).toMatchObject({
      message: 'Unexpected status 401 (the server does not offer Digest, but Basic)',
      details: { loginState: 'not-offered' },
    });
    await target.close();
  });
});

describe('an NTLM login', () => {
  /** The hash of the password "Password", from MS-NLMP section 4.2.2.1.2. */
  const known = { username: 'Grace', domain: 'INTRA', passwordHash: 'a4f49c406510bdcab6824ee7c30fd852' };
  const grace = { type: 'NTLM', username: 'Grace', password: 'Password', domain: 'INTRA' };
  const attempt = async (options: Partial<NtlmTargetOptions>, given: Record<string, unknown> = {}) => {
    const target = await startNtlmTarget({ ...known, ...options });
    const outcome = await run({ url: `${target.url}/`, auth: { ...grace, ...given }, skipSSL: true });
    await target.close();
    const { requests, lastProblem } = target;
    return { ...outcome, requests, problem: lastProblem(), login: outcome.detail.response.login };
  };

  it.each<readonly [string, Partial<NtlmTargetOptions>, Record<string, unknown>]>([
    ['with an integrity code, if the challenge has a time', {}, {}],
    ['without one', { isTimed: false }, {}],
    ['of DOMAIN\\user', {}, { username: 'INTRA\\Grace', domain: '' }],
    [
      'of user@domain',
      { username: 'grace@intra.test', domain: '' },
      { username: 'grace@intra.test', domain: '' },
    ],
    ['that begins on a connection the server closes', { closesAt: 1 }, {}],
  ])('goes over one connection %s', async (_, options, given) => {
    const { failure, problem, requests, login } = await attempt(options, given);
    expect(problem).toBe('');
    expect(failure).toBeUndefined();
    expect(login).toMatchObject({
      scheme: 'NTLM',
      state: 'accepted',
      legs: [{ status: 401 }, { status: 401 }],
    });
    expect(requests.map(({ message }) => message)).toEqual([0, 1, 3]);
    expect(new Set(requests.slice(1).map(({ port }) => port)).size).toBe(1);
  });

  it('is bound to the certificate of the server, over HTTP/1.1', async () => {
    const identity = await (await createAuthority()).issue();
    const { failure, problem, detail } = await attempt({ identity });
    expect(problem).toBe('');
    expect(failure).toBeUndefined();
    expect(detail.response.httpVersion).toBe('1.1');
  });

  it('is refused with a wrong password', async () => {
    const { failure, requests, detail } = await attempt({}, { password: 'wrong' });
    expect(failure).toMatchObject({ code: 'STATUS_UNEXPECTED', details: { loginState: 'refused' } });
    expect(requests).toHaveLength(3);
    expect(JSON.stringify(detail)).not.toContain('TlRMTVNTUA');
  });

  it('fails if the server closes the connection between challenge and response', async () => {
    const { failure } = await attempt({ closesAt: 2 });
    expect(failure).toMatchObject({ code: 'CONNECTION_RESET', owner: 'target' });
    expect(failure?.message).toContain('in the middle of a login');
  });
});

describe('a Negotiate login', () => {
  const tickets = {
    ...{ keytab: undefined, ticketCache: '/nowhere', principal: undefined, configFile: undefined },
    browserServers: [],
  };

  it.each([
    ['the agent has no Kerberos identity', undefined],
    ['KERBEROS_SERVERS of the agent does not name 127.0.0.1', { ...tickets, servers: ['*.test'] }],
    ['the keytab /nowhere cannot be read: ENOENT', { ...tickets, keytab: '/nowhere', servers: ['*'] }],
  ])('is the fault of the location: %s', async (words, kerberos) => {
    const target = await startHttpTarget({
      routes: {
        '': (_request, reply) => {
          reply.writeHead(401, { 'www-authenticate': ['Basic realm="x"', 'Negotiate'] });
          reply.end();
        },
      },
    });
    const { failure, detail } = await run(
      { url: `${target.url}/`, auth: { type: 'NEGOTIATE' } },
      { kerberos },
    );
    expect(failure).toMatchObject({ code: 'LOGIN_UNAVAILABLE', owner: 'location' });
    expect(failure?.message).toContain(words);
    expect(detail.response.login).toMatchObject({ scheme: 'Negotiate', offered: ['Basic', 'Negotiate'] });
    await target.close();
  });
});

describe('the field auth', () => {
  it('sends Basic credentials at once, of URL monitors, too', async () => {
    const target = await startHttpTarget();
    const request = {
      url: `${target.url}/echo`,
      auth: { type: 'BASIC', username: '{{U}}', password: '{{P}}' },
    };
    const context = runContext({ variables: { U: 'ada', P: 'lovelace' } });
    await runUrl(UrlSpec.parse({ request }), context);
    await runApi(ApiSpec.parse({ request }), context);
    const sent = `Basic ${Buffer.from('ada:lovelace').toString('base64')}`;
    expect(target.requests.map(({ headers }) => headers.authorization)).toEqual([sent, sent]);
    await target.close();
  });

  it('gives way to a header of the check', async () => {
    const { requests, detail } = await withTarget(
      {},
      { headers: [{ key: 'authorization', value: 'Bearer x' }] },
    );
    expect(requests.map(({ authorization }) => authorization)).toEqual(['Bearer x']);
    expect(JSON.stringify(detail.jobLog)).toContain('its header Authorization replaces it');
  });

  it.each([
    [{ auth, basicAuth: ada }, 'cannot be combined with basicAuth'],
    [{ auth: { type: 'DIGEST' } }, 'username'],
    [{ auth: { ...auth, domain: 'x' } }, 'is for NTLM only'],
  ])('refuses %j', (request, message) => {
    const parsed = ApiSpec.safeParse({ request: { url: 'http://a.test', ...request } });
    expect(JSON.stringify(parsed.error)).toContain(message);
  });
});
