import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readServiceConfig } from '../../../src/platform/config/config.ts';
import { invite } from '../../../src/service/members/members.ts';
import { hashPassword } from '../../../src/service/members/password.ts';
import { configuredSingleSignOn } from '../../../src/service/members/single-sign-on.ts';
import { IdentityProvider } from '../../helpers/service/identity-provider.ts';
import { addMember, goodPassword, newVisitor } from '../../helpers/service/members.ts';
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

/** Follows the redirects of a login at the provider. Returns the callback address. */
async function goAndComeBack(visitor: Visitor, next = ''): Promise<string> {
  const { status, headers, body } = await visitor.get(`/login/sso${next}`);
  if (status !== 303) throw new Error(body);
  return provider.visit(headers.location ?? '', callback);
}

async function logIn(visitor = newVisitor(harness), next = ''): Promise<Visit> {
  return visitor.get(own(await goAndComeBack(visitor, next)));
}

/** Accepts the invitation on the page after the login. */
async function joinBy(visitor: Visitor, { body }: Visit): Promise<Visit> {
  const offer = /name="offer" value="([^"]+)"/.exec(body)?.[1] ?? '';
  return visitor.post('/login/sso/join', { offer });
}

/** Logs in and accepts the invitation. */
async function joined(visitor = newVisitor(harness)): Promise<Visit> {
  return joinBy(visitor, await logIn(visitor));
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

describe('logging in with a real provider', () => {
  it('admits invited people, shows them under their name, and leads where they wanted to go', async () => {
    await invited();
    const visitor = newVisitor(harness);
    expect((await visitor.get('/login')).body).toContain('Continue with Example ID');
    const offered = await logIn(visitor);
    expect([offered.status, offered.headers['set-cookie']]).toEqual([
      200,
      expect.not.stringContaining('session'),
    ]);
    expect((await joinBy(visitor, offered)).status).toBe(303);
    const answer = await logIn(visitor, '?next=/alerts');
    expect([answer.status, answer.headers.location]).toEqual([303, '/alerts']);
    const page = await visitor.get('/account/profile');
    expect(page.body).toContain(email());
    const { body } = await harness.call('GET', `/v1/accounts/me/members?search=${email()}`);
    expect(body.members).toMatchObject([{ type: 'member', role: 'READ_RUN', ssoEnabled: true, name: 'Bob' }]);
    // A second login is the same person.
    expect((await logIn()).status).toBe(303);
  });

  it('never leads to another site', async () => {
    await invited();
    await joined();
    const answer = await logIn(newVisitor(harness), '?next=//evil.example/');
    expect(answer.headers.location).toBe('/');
  });

  it('refuses people who were not invited, and those with an unverified address', async () => {
    await expectRefused(await logIn(), /^person-\d+@\S+ is not invited/);
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

  it('refuses an identity that another party signed', async () => {
    await invited();
    provider.isForged = true;
    await expectRefused(await logIn(), /is not valid/);
  });

  it('refuses another state, no cookie, the cookie of another login, and a used code', async () => {
    await invited();
    await joined();
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
    // With its own cookie each of the two is valid, once.
    visitor.cookies.set('picket-sso', cookie);
    expect((await visitor.get(own(first.href))).status).toBe(303);
    second.searchParams.set('code', first.searchParams.get('code') ?? '');
    other.cookies.set('picket-sso', otherCookie);
    await expectRefused(await other.get(own(second.href)), /is not valid/);
  });

  it('passes on the reason of a refusal by the provider', async () => {
    const visitor = newVisitor(harness);
    const { headers } = await visitor.get('/login/sso');
    const state = new URL(headers.location ?? '').searchParams.get('state');
    const query = new URLSearchParams({
      error: 'access_denied',
      error_description: '<b>no</b>',
      state: state ?? '',
    });
    const answer = await visitor.get(`/login/sso/callback?${query}`);
    await expectRefused(answer, /rejected the login: &lt;b&gt;no/);
  });
});

describe('an invitation of a stranger', () => {
  it('makes no one a member who does not accept it, and does not lead a login into its account', async () => {
    await invited();
    await joined();
    const { accountId } = await harness.addAccount();
    await invite(harness, { accountId, email: email(), role: 'ADMIN', by: 'eve@example.com' });
    const visitor = newVisitor(harness);
    const offered = await logIn(visitor);
    expect(offered.body).toContain('eve@example.com invites');
    const person = await harness.store.members.personByEmail(email());
    const accounts = async () =>
      (await harness.store.members.accountsOf(person?.id ?? '')).map(({ id }) => id);
    expect(await accounts()).toEqual([harness.accountId]);
    expect((await visitor.get('/account/usage')).body).toContain(harness.accountId);
    expect((await joinBy(visitor, offered)).status).toBe(303);
    expect(await accounts()).toEqual([harness.accountId, accountId]);
    await expectRefused(await joinBy(visitor, offered), /already used/);
  });

  it('is not shown to a person whose provider does not call the address verified', async () => {
    await invited();
    await joined();
    const { accountId } = await harness.addAccount();
    await invite(harness, { accountId, email: email(), role: 'ADMIN', by: 'eve@example.com' });
    provider.claims = { ...provider.claims, email_verified: false };
    expect((await logIn()).status).toBe(303);
    provider.account = 'thief';
    await expectRefused(await logIn(), /not verified/);
  });
});

describe('removed groups', () => {
  let ruled: ServiceHarness;
  beforeAll(async () => {
    const roles = [['ops', 'ADMIN'] as const];
    ruled = await openHarness({ publicUrl, singleSignOn: { ...provider.settings, roles } });
  });
  afterAll(() => ruled.close());

  const withGroups = async (groups: readonly string[] | undefined) => {
    provider.claims = { email: email(), email_verified: true, name: 'Bob', groups };
    const visitor = newVisitor(ruled);
    return { visitor, answer: await logIn(visitor) };
  };
  const member = async () => {
    const person = await ruled.store.members.personByEmail(email());
    return ruled.store.members.member(ruled.accountId, person?.id ?? '');
  };
  const isIn = async (visitor: Visitor) => (await visitor.get('/account/profile')).status === 200;

  it.each([
    ['empty', []],
    ['missing', undefined],
    ['of another group', ['other']],
  ])('lock out a person whom only a group admitted, if the claim is %s', async (_what, groups) => {
    const { visitor } = await withGroups(['ops']);
    expect([await isIn(visitor), (await member())?.role]).toEqual([true, 'ADMIN']);
    const { answer } = await withGroups(groups);
    expect([answer.status, answer.body]).toEqual([422, expect.stringContaining('no longer give you access')]);
    // The earlier session has ended, too, even for the last ADMIN.
    expect([await isIn(visitor), await member()]).toEqual([false, undefined]);
    const filter = { accountId: ruled.accountId, operation: 'deleteMember' };
    expect(await ruled.store.audit.list(filter, 1)).toMatchObject([{ resource_name: email() }]);
  });

  it('leave the role of an invitation, and end the sessions with the higher one', async () => {
    await invite(ruled, { accountId: ruled.accountId, email: email(), role: 'READ_RUN', by: 'x' });
    provider.claims = { ...provider.claims, groups: [] };
    const first = newVisitor(ruled);
    await joinBy(first, await logIn(first));
    expect((await member())?.role).toBe('READ_RUN');
    const { visitor } = await withGroups(['ops']);
    expect(await member()).toMatchObject({ role: 'ADMIN', given_role: 'READ_RUN', group_role: 'ADMIN' });
    const { visitor: later, answer } = await withGroups([]);
    expect([answer.status, (await member())?.role]).toEqual([303, 'READ_RUN']);
    expect([await isIn(visitor), await isIn(later)]).toEqual([false, true]);
  });

  it('cannot be bypassed by a password: its sessions have the assigned role, or none', async () => {
    await withGroups(['ops']);
    const known = await member();
    await ruled.store.members.updatePerson(known?.person_id ?? '', {
      password: await hashPassword(goodPassword),
    });
    const visitor = newVisitor(ruled);
    const form = { email: email(), password: goodPassword };
    const answer = await visitor.post('/login/password', form);
    expect([answer.status, answer.body]).toEqual([422, expect.stringContaining('Log in there')]);
    const path = `/v1/accounts/me/members/${known?.person_id}`;
    await addMember(ruled, 'ada@example.com', 'ADMIN');
    await ruled.call('PATCH', path, { role: 'READ_WRITE' });
    expect((await visitor.post('/login/password', form)).status).toBe(303);
    await withGroups(['ops']);
    expect((await visitor.get('/account/keys')).status).toBe(403);
    expect((await ruled.call('GET', path)).body).toMatchObject({
      role: 'ADMIN',
      givenRole: 'READ_WRITE',
      groupRole: 'ADMIN',
    });
  });

  it.each([
    ['was invited, as the audit log says', true, 'READ_RUN'],
    ['only groups had let in', false, undefined],
  ])('count for a member of an older version who %s', async (_who, wasInvited, role) => {
    if (wasInvited) {
      const invitation = { email: email(), role: 'READ_RUN' };
      expect((await ruled.call('POST', '/v1/accounts/me/invites', invitation)).status).toBe(201);
    }
    await withGroups(['ops']);
    const known = await member();
    if (!known) throw new Error('no member');
    await ruled.store.members.setRoles(known, { role: 'ADMIN', given_role: null, group_role: null }, 1);
    await withGroups([]);
    expect((await member())?.role).toBe(role);
  });
});

it.each([
  ['is not there', 'http://127.0.0.1:9', /cannot be reached/],
  ['is another one than the settings say', '', /issuer/],
])('reports that the provider %s', async (_name, issuer, words) => {
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

  it('yield a single sign-on, or none', () => {
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
  ])('are refused with a message if they are wrong: %j', (settings, words) => {
    expect(() => read(settings as Record<string, string>)).toThrow(words);
  });
});
