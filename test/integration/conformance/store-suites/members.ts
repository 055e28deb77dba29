import { expect, it } from 'vitest';
import { Sessions } from '../../../../src/service/logins/sessions.ts';
import { invite } from '../../../../src/service/members/members.ts';
import { acceptInvitation, resetPassword, startReset } from '../../../../src/service/members/passwords.ts';
import { admit, type Claims, type SingleSignOn } from '../../../../src/service/members/single-sign-on.ts';
import { addMember, goodPassword, memberLoggedIn } from '../../../helpers/service/members.ts';
import type { StoreStage } from './stage.ts';

const dayMs = 86_400_000;
const members = '/v1/accounts/me/members';

export const singleSignOn: SingleSignOn = {
  issuer: 'https://issuer.test',
  clientId: 'picket',
  clientSecret: undefined,
  name: 'Issuer',
  scopes: 'openid',
  emailClaim: 'email',
  groupsClaim: 'groups',
  roles: [],
  domains: [],
  needsVerifiedEmail: true,
  accountId: undefined,
};

/** Members: joining, permissions, leaving. */
export function memberSuite(stage: StoreStage): void {
  const list = async (query = '') => {
    const { status, body } = await stage.harness.call('GET', `${members}${query}`);
    expect(status).toBe(200);
    return body;
  };

  it('invites, and lists members and invitations by kind, page by page', async () => {
    await stage.start();
    const { harness, clock } = stage;
    await addMember(harness, 'ada@example.com', 'ADMIN');
    clock.advance(1_000);
    const invited = { email: 'Bob@Example.com', role: 'READ_RUN' };
    const { status, body } = await harness.call('POST', '/v1/accounts/me/invites', invited);
    expect([status, body.email, body.status, body.mailResult]).toEqual([
      201,
      'bob@example.com',
      'PENDING',
      null,
    ]);
    expect(body.link).toMatch(/^\/invitations\/[\w-]{43}$/);
    const all = await list();
    expect(all).toMatchObject({ length: 2, nextId: null });
    expect(all.members.map((one: { email: string; type: string }) => [one.email, one.type])).toEqual([
      ['bob@example.com', 'invite'],
      ['ada@example.com', 'member'],
    ]);
    const first = await list('?limit=1');
    const second = await list(`?limit=1&nextId=${first.nextId}`);
    expect([...first.members, ...second.members]).toEqual(all.members);
    expect(second.nextId).toBeNull();
    expect((await list('?type=member&role=admin&status=active&search=ADA')).length).toBe(1);
    expect((await list('?status=EXPIRED')).length).toBe(0);
    clock.advance(7 * dayMs);
    expect((await list('?status=EXPIRED')).members[0].email).toBe('bob@example.com');
    const again = await harness.call('POST', '/v1/accounts/me/invites', { ...invited, role: 'READ_ONLY' });
    expect((await list('?type=invite')).members).toMatchObject([{ role: 'READ_ONLY', id: again.body.id }]);
    const member = await harness.call('POST', '/v1/accounts/me/invites', {
      email: 'ada@example.com',
      role: 'ADMIN',
    });
    expect(member.status).toBe(409);
    expect((await harness.call('DELETE', `/v1/accounts/me/invites/${again.body.id}`)).status).toBe(204);
    expect((await harness.call('DELETE', `/v1/accounts/me/invites/${again.body.id}`)).status).toBe(404);
    const stranger = await harness.addAccount();
    expect((await harness.call('GET', members, undefined, stranger)).body.members).toEqual([]);
    const path = `/v1/accounts/${harness.accountId}/members`;
    expect((await harness.call('GET', path)).body.length).toBe(1);
    expect((await harness.call('GET', path, undefined, stranger)).status).toBe(404);
  });

  it('accepts an invitation once, within its time, however many try', async () => {
    await stage.start();
    const { harness, clock } = stage;
    const of = {
      accountId: harness.accountId,
      email: 'ada@example.com',
      role: 'READ_ONLY',
      by: 'x',
    } as const;
    const { token } = await invite(harness, of);
    const given = { name: 'Ada', password: goodPassword };
    const tries = await Promise.allSettled([1, 2, 3].map(() => acceptInvitation(harness, token, given)));
    expect(tries.filter((one) => one.status === 'fulfilled' && one.value !== null)).toHaveLength(1);
    expect(await acceptInvitation(harness, token, given)).toBeNull();
    const late = await invite(harness, { ...of, email: 'late@example.com' });
    clock.advance(7 * dayMs);
    expect(await acceptInvitation(harness, late.token, given)).toBeNull();
    const rows = JSON.stringify(await harness.store.members.invitationsOf(harness.accountId));
    expect(rows).not.toContain(late.token);
    expect(JSON.stringify(await harness.store.members.personByEmail('ada@example.com'))).toMatch(
      /scrypt\$15\$8\$3\$/,
    );
  });

  it('keeps the last admin, even of two who remove each other at once', async () => {
    await stage.start();
    const { harness } = stage;
    const [ada, bob] = [
      await addMember(harness, 'ada@example.com', 'ADMIN'),
      await addMember(harness, 'bob@example.com', 'READ_WRITE'),
    ];
    const toRole = (id: string, role: string) => harness.call('PATCH', `${members}/${id}`, { role });
    expect((await toRole(ada, 'READ_ONLY')).body.message).toContain('last member');
    expect((await harness.call('DELETE', `${members}/${ada}`)).status).toBe(409);
    expect((await toRole(ada, 'ADMIN')).status).toBe(200);
    expect((await toRole(bob, 'ADMIN')).body).toMatchObject({ role: 'ADMIN', email: 'bob@example.com' });
    const both = await Promise.all([ada, bob].map((id) => harness.call('DELETE', `${members}/${id}`)));
    expect(both.map(({ status }) => status).sort()).toEqual([204, 409]);
    expect((await list('?role=ADMIN')).length).toBe(1);
    const stranger = await harness.addAccount();
    expect((await harness.call('DELETE', `${members}/${bob}`, undefined, stranger)).status).toBe(404);
  });

  it('ends sessions with the membership, and applies a new role to the next request', async () => {
    await stage.start();
    const { harness } = stage;
    await addMember(harness, 'ada@example.com', 'ADMIN');
    const bob = await addMember(harness, 'bob@example.com', 'READ_WRITE');
    const visitor = await memberLoggedIn(harness, 'bob@example.com');
    expect((await visitor.get('/alerts/channels/new')).status).toBe(200);
    await harness.call('PATCH', `${members}/${bob}`, { role: 'READ_ONLY' });
    // A reduced role ends the sessions; an extended role keeps them.
    expect((await visitor.get('/alerts/channels/new')).status).toBe(303);
    const again = await memberLoggedIn(harness, 'bob@example.com');
    expect((await again.get('/alerts/channels/new')).status).toBe(403);
    await harness.call('PATCH', `${members}/${bob}`, { role: 'READ_RUN' });
    expect((await again.get('/account')).status).toBe(200);
    await harness.call('DELETE', `${members}/${bob}`);
    expect((await again.get('/account')).status).toBe(303);
    // A person who rejoins has none of the old sessions.
    await addMember(harness, 'bob@example.com', 'READ_ONLY');
    expect((await again.get('/account')).status).toBe(303);
    const { body } = await harness.call('GET', '/v1/accounts/me/sessions');
    expect(body).toEqual([]);
  });

  it('sets a password by a link once, within the hour, and ends the sessions', async () => {
    await stage.start();
    const { harness, clock } = stage;
    await addMember(harness, 'ada@example.com', 'ADMIN');
    const person = await harness.store.members.personByEmail('ada@example.com');
    if (!person) throw new Error('nobody');
    const visitor = await memberLoggedIn(harness, 'ada@example.com');
    const earlier = await startReset(harness, person, true);
    const token = await startReset(harness, person, true);
    expect(await resetPassword(harness, earlier, 'another good password')).toBeNull();
    await expect(resetPassword(harness, token, 'short')).rejects.toThrow('12 to 256');
    expect(await resetPassword(harness, token, 'another good password')).not.toBeNull();
    expect(await resetPassword(harness, token, 'yet another password')).toBeNull();
    expect((await visitor.get('/account')).status).toBe(303);
    await memberLoggedIn(harness, 'ada@example.com', 'another good password');
    const late = await startReset(harness, person, true);
    clock.advance(3_600_000);
    expect(await resetPassword(harness, late, 'yet another password')).toBeNull();
  });

  it('admits by single sign-on only people who are invited, of a domain or in a group', async () => {
    await stage.start();
    const { harness } = stage;
    await addMember(harness, 'ada@example.com', 'ADMIN');
    const claims = (sub: string, more: object = {}): Claims => ({
      iss: 'https://issuer.test',
      sub,
      email: `${sub}@example.com`,
      email_verified: true,
      ...more,
    });
    const enter = async (who: Claims, settings: Partial<SingleSignOn> = {}) => {
      const admission = await admit(harness, { ...singleSignOn, ...settings }, who);
      if ('refusal' in admission) return admission.refusal;
      const sessions = new Sessions(harness.store, harness.clock);
      for (const invitation of admission.invitations) {
        expect(await sessions.redeemOffer(await sessions.offer(admission.person, invitation))).not.toBeNull();
      }
      return (await harness.store.members.member(harness.accountId, admission.person.id))?.role;
    };
    expect(await enter(claims('bob'))).toContain('bob@example.com is not invited');
    expect(await enter(claims('bob', { email_verified: false }))).toContain('not verified');
    expect(await enter(claims('bob', { email: 5 }))).toContain('does not report');
    await invite(harness, {
      accountId: harness.accountId,
      email: 'bob@example.com',
      role: 'READ_RUN',
      by: 'x',
    });
    expect(await enter(claims('bob', { email_verified: false }))).toContain('not verified');
    expect(await enter(claims('bob'))).toBe('READ_RUN');
    // From then on the subject counts, whatever the address is.
    expect(await enter(claims('bob', { email: 'robert@elsewhere.test' }))).toBe('READ_RUN');
    expect(
      await enter(claims('eve', { email: 'eve@evil-example.com' }), { domains: ['example.com'] }),
    ).toContain('is not invited');
    expect(await enter(claims('eva'), { domains: ['example.com'] })).toBe('READ_ONLY');
    const roles = [
      ['ops', 'ADMIN'],
      ['dev', 'READ_WRITE'],
    ] as const;
    expect(await enter(claims('dev', { groups: ['dev'] }), { roles })).toBe('READ_WRITE');
    expect(await enter(claims('dev', { groups: ['dev', 'ops'] }), { roles })).toBe('ADMIN');
    expect(await enter(claims('dev', { groups: ['dev'] }), { roles })).toBe('READ_WRITE');
    expect(await enter(claims('dev', { groups: [] }), { roles })).toContain('no longer give you access');
    expect(await enter(claims('eva'), { domains: ['elsewhere.test'] })).toContain(
      'no longer give you access',
    );
    // A rule for everyone applies to members only, and never reduces a role.
    const everybody = [['*', 'READ_ONLY']] as const;
    expect(await enter(claims('eva'), { roles: everybody })).toContain('is not invited');
    expect(await enter(claims('bob'), { roles: everybody })).toBe('READ_RUN');
    expect(await enter(claims('none', { groups: ['other'] }), { roles })).toContain('is not invited');
  });

  it('assigns an address to the person who has proved it, and removes it from others', async () => {
    await stage.start();
    const { harness } = stage;
    const squatted = await harness.addAccount();
    // An admin of another account invites an address that belongs to someone else, and accepts the invitation.
    await addMember(harness, 'victim@example.com', 'ADMIN', { accountId: squatted.accountId });
    const visitor = await memberLoggedIn(harness, 'victim@example.com');
    await invite(harness, {
      accountId: harness.accountId,
      email: 'victim@example.com',
      role: 'ADMIN',
      by: 'x',
    });
    const admission = await admit(harness, singleSignOn, {
      iss: 'https://issuer.test',
      sub: 'v',
      email: 'victim@example.com',
      email_verified: true,
    });
    expect(admission).toHaveProperty('person');
    expect((await visitor.get('/account')).status).toBe(303);
    await expect(memberLoggedIn(harness, 'victim@example.com')).rejects.toThrow('422');
  });
}
