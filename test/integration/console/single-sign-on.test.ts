import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readServiceConfig } from '../../../src/service/config.ts';
import { invite } from '../../../src/service/members/members.ts';
import { configuredSingleSignOn } from '../../../src/service/members/single-sign-on.ts';
import { IdentityProvider } from '../../helpers/service/identity-provider.ts';
import { newVisitor } from '../../helpers/service/members.ts';
import { openHarness, type ServiceHarness } from '../../helpers/service/service.ts';
import type { Visit, Visitor } from '../../helpers/service/visitor.ts';

const publicUrl = 'http://picket.test';
const callback = `${publicUrl}/login/sso/callback`;
let provider: IdentityProvider;
let harness: ServiceHarness;
let people = 0;

beforeAll(async () => {
  provider = await IdentityProvider.open(callback);
  harness = await openHarness({ publicUrl, singleSignOn: provider.settings });
});
afterAll(async () => {
  await harness.close();
  await provider.close();
});
beforeEach(() => {
  people += 1;
  provider.account = `person-${people}`;
  provider.claims = { email: `person-${people}@example.com`, email_verified: true, name: 'Bob' };
  provider.alter = (claims) => claims;
  provider.isForged = false;
});

const own = (address: string) => address.slice(publicUrl.length);
const email = () => `person-${people}@example.com`;

async function invited(): Promise<void> {
  await invite(harness, { accountId: harness.accountId, email: email(), role: 'READ_RUN', by: 'x' });
}

/** Where the provider sends the browser that begins here. */
async function goAndComeBack(visitor: Visitor, next = ''): Promise<string> {
  const { status, headers, body } = await visitor.get(`/login/sso${next}`);
  if (status !== 303) throw new Error(body);
  return provider.visit(headers.location ?? '', callback);
}

async function logIn(visitor = newVisitor(harness), next = ''): Promise<Visit> {
  return visitor.get(own(await goAndComeBack(visitor, next)));
}

async function expectRefused(answer: Visit, words: RegExp): Promise<void> {
  expect([answer.status, /role="alert">([^<]*)/.exec(answer.body)?.[1]]).toEqual([
    422,
    expect.stringMatching(words),
  ]);
  expect(answer.headers['set-cookie'] ?? '').not.toMatch(/picket-session=\w/);
  const [entry] = await harness.store.audit.list({ accountId: null, outcome: 'REFUSED' }, 1);
  expect(entry).toMatchObject({ operation: 'login', actor_kind: 'NOBODY' });
}

describe('logging in by a real provider', () => {
  it('lets in who is invited, shows them under their name, and leads where they wanted to go', async () => {
    await invited();
    const visitor = newVisitor(harness);
    expect((await visitor.get('/login')).body).toContain('Continue with Example ID');
    const answer = await logIn(visitor, '?next=/alerts');
    expect([answer.status, answer.headers.location]).toEqual([303, '/alerts']);
    const page = await visitor.get('/account/profile');
    expect(page.body).toContain(email());
    const { body } = await harness.call('GET', `/v1/accounts/me/members?search=${email()}`);
    expect(body.members).toMatchObject([{ type: 'member', role: 'READ_RUN', ssoEnabled: true, name: 'Bob' }]);
    // And again, as the same person.
    expect((await logIn()).status).toBe(303);
  });

  it('never leads to another site', async () => {
    await invited();
    const answer = await logIn(newVisitor(harness), '?next=//evil.example/');
    expect(answer.headers.location).toBe('/');
  });

  it('refuses who was not invited, and whose address is not verified', async () => {
    await expectRefused(await logIn(), /Nobody has invited person-/);
    await invited();
    provider.claims = { ...provider.claims, email_verified: false };
    await expectRefused(await logIn(), /not verified at Example ID/);
  });

  it.each([
    ['an expired identity', { exp: 1_700_000_000, iat: 1_699_999_000 }, /exp/],
    ['another nonce', { nonce: 'another' }, /nonce/],
    ['another issuer', { iss: 'http://evil.example' }, /iss/],
    ['another audience', { aud: 'another-client' }, /aud/],
  ])('refuses %s', async (_name, changes, words) => {
    await invited();
    provider.alter = (claims) => ({ ...claims, ...changes });
    await expectRefused(await logIn(), words);
  });

  it('refuses an identity that somebody else signed', async () => {
    await invited();
    provider.isForged = true;
    await expectRefused(await logIn(), /cannot be taken/);
  });

  it('refuses another state, no cookie, the cookie of another login, and a code that was used', async () => {
    await invited();
    const visitor = newVisitor(harness);
    const first = new URL(await goAndComeBack(visitor));
    const cookie = visitor.cookies.get('picket-sso') ?? '';
    const changed = new URL(first);
    changed.searchParams.set('state', 'another');
    await expectRefused(await visitor.get(own(changed.href)), /state/);
    await expectRefused(await newVisitor(harness).get(own(first.href)), /another browser/);
    const other = newVisitor(harness);
    const second = new URL(await goAndComeBack(other));
    const otherCookie = other.cookies.get('picket-sso') ?? '';
    await expectRefused(await other.get(own(first.href)), /state/);
    // With its own cookie each of the two is good, once.
    visitor.cookies.set('picket-sso', cookie);
    expect((await visitor.get(own(first.href))).status).toBe(303);
    second.searchParams.set('code', first.searchParams.get('code') ?? '');
    other.cookies.set('picket-sso', otherCookie);
    await expectRefused(await other.get(own(second.href)), /cannot be taken/);
  });

  it('passes on why the provider let nobody in', async () => {
    const visitor = newVisitor(harness);
    const { headers } = await visitor.get('/login/sso');
    const state = new URL(headers.location ?? '').searchParams.get('state');
    const query = new URLSearchParams({
      error: 'access_denied',
      error_description: '<b>no</b>',
      state: state ?? '',
    });
    const answer = await visitor.get(`/login/sso/callback?${query}`);
    await expectRefused(answer, /did not let you in: &lt;b&gt;no/);
  });
});

it.each([
  ['is not there', 'http://127.0.0.1:9', /cannot be asked who you are/],
  ['is another one than the settings say', '', /issuer/],
])('says so when the provider %s', async (_name, issuer, words) => {
  const wrong = issuer === '' ? provider.issuer.replace('127.0.0.1', 'localhost') : issuer;
  const broken = await openHarness({ publicUrl, singleSignOn: { ...provider.settings, issuer: wrong } });
  try {
    const answer = await newVisitor(broken).get('/login/sso');
    expect([answer.status, answer.body]).toEqual([422, expect.stringMatching(words)]);
  } finally {
    await broken.close();
  }
});

describe('the settings', () => {
  const read = (settings: Record<string, string>) => configuredSingleSignOn(readServiceConfig(settings));
  const whole = {
    OIDC_ISSUER: 'https://id.test',
    OIDC_CLIENT_ID: 'picket',
    PUBLIC_URL: 'https://picket.test',
  };

  it('make a single sign-on, or none', () => {
    expect(read({})).toBeUndefined();
    expect(
      read({ ...whole, OIDC_ROLES: 'ops=ADMIN, *=READ_ONLY', OIDC_DOMAINS: 'Example.com' }),
    ).toMatchObject({
      roles: [
        ['ops', 'ADMIN'],
        ['*', 'READ_ONLY'],
      ],
      domains: ['example.com'],
      name: 'single sign-on',
      needsVerifiedEmail: true,
    });
  });

  it.each([
    [{ OIDC_ISSUER: 'https://id.test' }, /OIDC_CLIENT_ID/],
    [{ OIDC_ISSUER: 'https://id.test', OIDC_CLIENT_ID: 'picket' }, /PUBLIC_URL/],
    [{ ...whole, OIDC_ROLES: 'ops=OWNER' }, /"ops=OWNER" is not GROUP=ROLE/],
    [{ ...whole, OIDC_ISSUER: 'id.test' }, /OIDC_ISSUER: must be an http or https URL/],
  ])('are refused in words where they are wrong: %j', (settings, words) => {
    expect(() => read(settings as Record<string, string>)).toThrow(words);
  });
});
