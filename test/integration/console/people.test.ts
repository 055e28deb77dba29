import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Mail } from '../../../src/service/mail/mail-server.ts';
import { ManualClock } from '../../helpers/manual-clock.ts';
import { isNight, sampleOf } from '../../helpers/night.ts';
import { addMember, goodPassword, memberLoggedIn, newVisitor } from '../../helpers/service/members.ts';
import { openHarness, type ServiceHarness, until } from '../../helpers/service/service.ts';
import { loggedIn } from '../../helpers/service/visitor.ts';

const publicUrl = 'http://picket.test';
let harness: ServiceHarness;
let clock: ManualClock;
let mails: Mail[];
/** Whether the mail server accepts mail. */
let isTaken: boolean;

beforeEach(async () => {
  clock = new ManualClock();
  mails = [];
  isTaken = true;
  const send = async (mail: Mail) => {
    if (!isTaken) return { isDelivered: false, result: '550 no such user', isRetryable: false } as const;
    mails.push(mail);
    return { isDelivered: true, result: '250 ok' } as const;
  };
  // Limits depend on time, and tests must not depend on their duration.
  harness = await openHarness({ publicUrl, mail: { send }, clock });
});
afterEach(() => harness.close());

const linkIn = ({ text }: Pick<Mail, 'text'>) => /http:\/\/picket\.test(\/\S+)/.exec(text)?.[1] ?? '';
const alertIn = (body: string) => /role="(?:alert|status)">([^<]*)/.exec(body)?.[1] ?? '';
const errorIn = (body: string) => /class="error"[^>]*>([^<]*)/.exec(body)?.[1] ?? '';

describe('an invitation', () => {
  it('is mailed to the address, is accepted once, and logs in', async () => {
    const admin = await loggedIn(harness, 'ADMIN');
    const csrf = await admin.csrf('/account');
    const sent = await admin.post('/account/invites', { csrf, email: 'Ada@example.com', role: 'READ_WRITE' });
    expect(alertIn(sent.body)).toContain('was sent to ada@example.com');
    const [mail] = mails;
    if (!mail) throw new Error('no mail');
    expect([mail.address, mail.subject]).toEqual(['ada@example.com', 'You are invited to Test on Picket']);
    const link = linkIn(mail);
    expect(sent.body).not.toContain(link);

    const visitor = newVisitor(harness);
    const shown = await visitor.get(link);
    expect(shown.body).toContain('ada@example.com');
    const short = await visitor.post(link, { name: 'Ada', password: 'short' });
    expect([short.status, errorIn(short.body)]).toEqual([422, 'Must have 12 to 256 characters']);
    const taken = await visitor.post(link, { name: 'Ada', password: goodPassword });
    expect([taken.status, taken.headers.location]).toEqual([303, '/']);
    expect((await visitor.get('/account/profile')).body).toContain('ada@example.com');
    const again = await newVisitor(harness).get(link);
    expect([again.status, alertIn(again.body)]).toEqual([422, expect.stringContaining('already used')]);
    await memberLoggedIn(harness, 'ADA@example.com');
  });

  it('is refused with a message if it cannot be sent, and leaves nothing behind', async () => {
    isTaken = false;
    const admin = await loggedIn(harness, 'ADMIN');
    const csrf = await admin.csrf('/account');
    const answer = await admin.post('/account/invites', {
      csrf,
      email: 'ada@example.com',
      role: 'READ_ONLY',
    });
    expect([answer.status, alertIn(answer.body)]).toEqual([409, expect.stringContaining('550 no such user')]);
    const wrong = await admin.post('/account/invites', { csrf, email: 'nobody', role: 'READ_ONLY' });
    expect([wrong.status, errorIn(wrong.body)]).toEqual([422, expect.stringContaining('mail address')]);
    expect((await harness.call('GET', '/v1/accounts/me/members')).body.length).toBe(0);
  });

  it('requires the password of a person who has one, in another account too', async () => {
    await addMember(harness, 'ada@example.com', 'ADMIN');
    const other = await harness.addAccount();
    const invited = { email: 'ada@example.com', role: 'READ_ONLY' };
    // Proven by an earlier mail: the address alone is not enough.
    const ada = await harness.store.members.personByEmail('ada@example.com');
    await harness.store.members.updatePerson(ada?.id ?? '', { email_proven: 1 });
    await harness.call('POST', '/v1/accounts/me/invites', invited, { key: other.key });
    const link = linkIn(mails[0] ?? { text: '' });
    const visitor = newVisitor(harness);
    expect((await visitor.get(link)).body).toContain('You already have a password');
    const wrong = await visitor.post(link, { password: 'not the right password' });
    expect([wrong.status, errorIn(wrong.body)]).toEqual([422, expect.stringContaining('password is wrong')]);
    expect((await visitor.post(link, { password: goodPassword })).status).toBe(303);
    const profile = await visitor.get('/account/profile');
    expect(profile.body).toContain('Current');
    const csrf = await visitor.csrf('/account/profile');
    await visitor.post('/account/switch', { csrf, accountId: harness.accountId });
    expect((await visitor.get('/account/keys')).status).toBe(200);
    // Not for accounts without a membership.
    const third = await harness.addAccount();
    await visitor.post('/account/switch', { csrf, accountId: third.accountId });
    expect((await visitor.get('/account/usage')).body).toContain(harness.accountId);
  });
});

describe('logging in with a password', () => {
  it('responds equally to a wrong password and an unknown person, and records both', async () => {
    await addMember(harness, 'ada@example.com', 'ADMIN');
    const visitor = newVisitor(harness);
    const bodies = [];
    for (const email of ['ada@example.com', 'eve@example.com']) {
      const { status, body } = await visitor.post('/login/password', { email, password: 'a wrong password' });
      expect([status, errorIn(body)]).toEqual([422, 'The mail address or the password is wrong.']);
      bodies.push(body.replaceAll(email, ''));
    }
    expect(bodies[0]).toBe(bodies[1]);
    const { body } = await harness.call('GET', '/v1/audit-log?operation=login&outcome=REFUSED');
    expect(body.entries).toMatchObject([{ actor: { kind: 'NOBODY', name: 'ada@example.com' } }]);
    const rows = await harness.store.audit.list({ accountId: null, outcome: 'REFUSED' }, 10);
    expect(rows.map((row) => row.actor_name).sort()).toEqual(['ada@example.com', 'eve@example.com']);
    expect(JSON.stringify(rows)).not.toContain('a wrong password');
    const { body: metrics } = await harness.call('GET', '/metrics', undefined, {
      key: 'metrics-token-of-the-tests',
    });
    expect(metrics).toContain('picket_logins_total{way="password",outcome="refused"} 2');
  });

  it('stops those who guess: from one address, and for one name from many', async () => {
    await addMember(harness, 'ada@example.com', 'ADMIN');
    // Password requests also count per address, and do not compute a hash.
    const ask = async (path: string, email: string, visitor = newVisitor(harness)) =>
      (await visitor.post(path, { email, password: 'guess' })).status;
    const one = newVisitor(harness);
    for (let tries = 0; tries < 9; tries += 1)
      await ask('/login/forgotten', `somebody-${tries}@example.com`, one);
    const ofAddress = [];
    for (const email of ['x@example.com', 'y@example.com'])
      ofAddress.push(await ask('/login/password', email, one));
    expect(ofAddress).toEqual([422, 429]);
  });

  const itAtNight = isNight ? it : () => undefined; // 70 passwords
  itAtNight('does not lock out others: a person who has logged in from there still can', async () => {
    await addMember(harness, 'ada@example.com', 'ADMIN');
    const ada = newVisitor(harness);
    const right = { email: 'ada@example.com', password: goodPassword };
    expect((await ada.post('/login/password', right)).status).toBe(303);
    const guesses = new Set<number>();
    for (let tries = 0; tries < 70 && !guesses.has(429); tries += 1) {
      const guess = { email: 'ada@example.com', password: 'x' };
      guesses.add((await newVisitor(harness).post('/login/password', guess)).status);
    }
    // Guesses remain limited, whatever the number of addresses.
    expect([...guesses]).toEqual([422, 429]);
    expect((await newVisitor(harness).post('/login/password', right)).status).toBe(429);
    expect((await ada.post('/login/password', right)).status).toBe(303);
    // A mailed link still opens the account from elsewhere.
    const elsewhere = newVisitor(harness);
    for (let tries = 0; tries < 5; tries += 1) {
      await newVisitor(harness).post('/login/forgotten', { email: 'ada@example.com' });
    }
    const mailed = await until('mails', () => mails.length >= 3 && mails);
    expect(mailed).toHaveLength(3);
    const links = mailed.map(linkIn);
    const another = 'another good password';
    const done = [];
    for (const link of links) done.push((await elsewhere.post(link, { password: another })).status);
    expect(done.filter((status) => status === 200)).toHaveLength(1);
    expect(
      (await elsewhere.post('/login/password', { email: 'ada@example.com', password: another })).status,
    ).toBe(303);
  });

  it('gives the browser a new session, and ends the old one', async () => {
    await addMember(harness, 'ada@example.com', 'ADMIN');
    const visitor = await loggedIn(harness, 'READ_ONLY');
    const before = visitor.cookies.get('picket-session') ?? '';
    await visitor.post('/login/password', { email: 'ada@example.com', password: goodPassword });
    expect(visitor.cookies.get('picket-session')).not.toBe(before);
    const old = newVisitor(harness);
    old.cookies.set('picket-session', before);
    expect((await old.get('/')).status).toBe(303);
  });

  // The same rule is tested for logins with a key, in custom-domain.test.ts.
  it.each(sampleOf(['/\\evil.example', '//evil.example', 'https://evil.example'], 1))(
    'never redirects to %s',
    async (next) => {
      await addMember(harness, 'ada@example.com', 'ADMIN');
      const { headers } = await newVisitor(harness).post('/login/password', {
        email: 'ada@example.com',
        password: goodPassword,
        next,
      });
      expect(new URL(headers.location ?? '', 'http://own.test').host).toBe('own.test');
    },
  );
});

it('sends a link for a new password to members only, and responds equally to all', async () => {
  await addMember(harness, 'ada@example.com', 'ADMIN');
  const visitor = newVisitor(harness);
  const known = await visitor.post('/login/forgotten', { email: 'ada@example.com' });
  const unknown = await visitor.post('/login/forgotten', { email: 'eve@example.com' });
  expect(known.body.replaceAll('ada@', '@')).toBe(unknown.body.replaceAll('eve@', '@'));
  const mail = await until('the mail is sent', () => mails[0]);
  expect(mails.map(({ address }) => address)).toEqual(['ada@example.com']);
  const link = linkIn(mail);
  expect((await visitor.get(link)).body).toContain('ada@example.com');
  const done = await visitor.post(link, { password: 'another good password' });
  expect(alertIn(done.body)).toContain('Your password was changed');
  expect((await visitor.post(link, { password: 'yet another password' })).status).toBe(422);
  await memberLoggedIn(harness, 'ada@example.com', 'another good password');
});

describe('the account pages', () => {
  it("show a member's data, and let the member change name, password and sessions", async () => {
    await addMember(harness, 'ada@example.com', 'READ_ONLY');
    const visitor = await memberLoggedIn(harness, 'ada@example.com');
    const other = await memberLoggedIn(harness, 'ada@example.com');
    const third = await loggedIn(harness, 'READ_ONLY');
    const csrf = await visitor.csrf('/account/profile');
    await visitor.post('/account/profile', { csrf, name: 'Ada <b>' });
    expect((await visitor.get('/account/profile')).body).toContain('Ada &lt;b&gt;');
    const wrong = await visitor.post('/account/password', { csrf, old: 'no', new: 'another good password' });
    expect([wrong.status, errorIn(wrong.body)]).toEqual([422, 'The password is wrong.']);
    const short = await visitor.post('/account/password', { csrf, old: goodPassword, new: 'short' });
    expect([short.status, errorIn(short.body)]).toEqual([422, 'Must have 12 to 256 characters']);
    const changed = await visitor.post('/account/password', {
      csrf,
      old: goodPassword,
      new: 'another good password',
    });
    expect(alertIn(changed.body)).toContain('Your password was changed');
    expect((await other.get('/account')).status).toBe(303);
    expect((await visitor.get('/account')).status).toBe(200);

    const again = await memberLoggedIn(harness, 'ada@example.com', 'another good password');
    await visitor.post('/account/sessions/end-others', { csrf });
    expect((await again.get('/account')).status).toBe(303);
    expect((await third.get('/account')).status).toBe(200);
    const { body } = await visitor.get('/account/profile');
    const [, own = ''] = /\/account\/sessions\/([0-9a-f-]{36})\/end/.exec(body) ?? [];
    await visitor.post(`/account/sessions/${own}/end`, { csrf });
    expect((await visitor.get('/account')).status).toBe(303);
  });

  it('let an admin create and revoke keys, and show who did', async () => {
    await addMember(harness, 'ada@example.com', 'ADMIN');
    const visitor = await memberLoggedIn(harness, 'ada@example.com');
    const csrf = await visitor.csrf('/account/keys');
    const made = await visitor.post('/account/keys', { csrf, name: '<i>ci</i>', role: 'READ_RUN' });
    const [rawKey = ''] = /ak_[0-9a-f]{32}/.exec(made.body) ?? [];
    expect(made.body).toContain('&lt;i&gt;ci');
    expect((await harness.call('GET', '/v1/checks', undefined, { key: rawKey })).status).toBe(200);
    expect((await visitor.get('/account/keys')).body).not.toContain(rawKey);
    const [, id = ''] = /\/account\/keys\/([0-9a-f-]{36})\/revoke/.exec(
      made.body.slice(made.body.indexOf('&lt;i&gt;ci', made.body.indexOf('<table'))),
    ) ?? [''];
    clock.advance(1_000);
    expect((await visitor.post(`/account/keys/${id}/revoke`, { csrf })).status).toBe(303);
    expect((await harness.call('GET', '/v1/checks', undefined, { key: rawKey })).status).toBe(401);
    const empty = await visitor.post('/account/keys', { csrf, name: '', role: 'READ_RUN' });
    expect(empty.status).toBe(422);
    const audit = await visitor.get('/account/audit');
    expect(audit.body).toMatch(/delete API key[\s\S]*create API key/);
    expect(audit.body).not.toContain(rawKey);
    const filtered = await visitor.get(
      '/account/audit?operation=createApiKey&outcome=DONE&from=2020-01-01&to=nonsense',
    );
    expect(filtered.body).not.toContain('delete API key');
    expect((await visitor.get('/account/usage')).body).toContain('Kept for');
  });

  it('let an admin change roles and remove members, except the last admin', async () => {
    const ada = await addMember(harness, 'ada@example.com', 'ADMIN');
    const bob = await addMember(harness, 'bob@example.com', 'READ_WRITE');
    const visitor = await memberLoggedIn(harness, 'ada@example.com');
    const csrf = await visitor.csrf('/account');
    const last = await visitor.post(`/account/members/${ada}/role`, { csrf, role: 'READ_ONLY' });
    expect([last.status, alertIn(last.body)]).toEqual([409, expect.stringContaining('last member')]);
    expect((await visitor.post(`/account/members/${bob}/role`, { csrf, role: 'OWNER' })).status).toBe(422);
    expect((await visitor.post(`/account/members/${bob}/role`, { csrf, role: 'ADMIN' })).status).toBe(303);
    expect((await visitor.post(`/account/members/${ada}/remove`, { csrf })).status).toBe(303);
    expect((await visitor.get('/account')).status).toBe(303);
  });
});
