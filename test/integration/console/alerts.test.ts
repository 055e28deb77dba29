import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { channelKinds } from '../../../src/channels/index.ts';
import { failure } from '../../../src/checks/contract/failure.ts';
import { ManualClock } from '../../helpers/manual-clock.ts';
import { startHttpReceiver } from '../../helpers/service/alert-receivers.ts';
import {
  createCheck,
  createLocation,
  openHarness,
  reportOf,
  type ServiceHarness,
  TestAgent,
  until,
} from '../../helpers/service/service.ts';
import { urlDetail } from '../../helpers/service/url-detail.ts';
import { loggedIn, type Visitor } from '../../helpers/service/visitor.ts';

/** The rows of the list, each with those of its checks. */
async function rowsOf(visitor: Visitor, address: string): Promise<string[]> {
  const { status, body } = await visitor.get(address);
  expect(status).toBe(200);
  return body
    .split('<tbody class="alert')
    .slice(1)
    .map((one) => one.split('</tbody>')[0] ?? '');
}

const hostile = `"><img src=x onerror=alert(1)>'`;
const clock = new ManualClock(Date.UTC(2026, 10, 22, 12));
let harness: ServiceHarness;
let writer: Visitor;
let reader: Visitor;
let checkId: string;
let agent: TestAgent;

beforeAll(async () => {
  harness = await openHarness({ clock });
  writer = await loggedIn(harness);
  reader = await loggedIn(harness, 'READ_ONLY');
  agent = new TestAgent(harness, await createLocation(harness, 'lab'));
  const check = { name: `shop ${hostile}`, frequency: 1, tags: ['shop'], privateLocations: ['lab'] };
  ({ id: checkId } = await createCheck(harness, { ...check, retryStrategy: null, doubleCheck: false }));
  harness.startScheduler();
  clock.advance(60_000);
  await fails([checkId]);
});
/** Makes the next run of each of these checks fail or pass. */
async function fails(checkIds: readonly string[], isPassed = false): Promise<void> {
  const left = new Set(checkIds);
  const refused = failure('CONNECTION_REFUSED', `connect ECONNREFUSED ${hostile}`);
  const found = {
    detail: urlDetail('http://target.test/', '10.0.0.5'),
    ...(isPassed ? {} : { failure: refused }),
  };
  await until('the checks ran', async () => {
    const runs = await agent.claim();
    if (runs.length === 0) return void clock.advance(20);
    await agent.report(runs.map((run) => reportOf(run, found)));
    for (const { check } of runs) left.delete(check.id);
    return left.size === 0;
  });
}
afterAll(() => harness.close());

describe('what is open', () => {
  it('is one line for one cause, with the checks that fail by it', async () => {
    const fields = { frequency: 1, privateLocations: ['lab'], retryStrategy: null, doubleCheck: false };
    const config = { name: 'hook', url: 'https://hooks.example.com/' };
    await harness.call('POST', '/v1/alert-channels', { type: 'WEBHOOK', config, autoSubscribe: true });
    harness.startAlerting();
    const ids: string[] = [];
    for (const name of ['cart', 'till']) ids.push((await createCheck(harness, { ...fields, name })).id);
    clock.advance(60_000);
    await fails(ids, true);
    clock.advance(60_000);
    await fails(ids);
    const [cause] = await until('the cause is known', async () => {
      const { body: causes } = await harness.call('GET', '/v1/alert-causes?isOpen=true');
      if (causes.length === 0) clock.advance(1000);
      return causes.length > 0 && causes;
    });
    expect(cause.memberCount).toBeGreaterThanOrEqual(2);
    const entry = `cause_${cause.id}`;
    const rows = () => rowsOf(reader, '/alerts');
    const row = (await rows()).find((one) => one.includes(`/alerts/entries/${entry}"`)) ?? '';
    expect(row).toContain(`${cause.memberCount} checks`);
    expect(row).toContain(cause.reason.split(':')[0]);
    for (const { checkId: id } of cause.members) {
      expect(row).toMatch(new RegExp(`class="alert-member">[\\s\\S]*?/checks/${id}"[\\s\\S]*?joined <time`));
    }
    // Its checks have no rows of their own.
    for (const id of ids) expect((await rows()).join('')).not.toContain(`/alerts/entries/check_${id}"`);
    // Acknowledged as a whole.
    const csrf = await writer.csrf('/alerts');
    const done = await writer.post(`/alerts/entries/${entry}/acknowledge`, {
      csrf,
      comment: 'ours',
      back: '/alerts',
    });
    expect(done.headers['location']).toBe('/alerts');
    const { body: open } = await harness.call('GET', '/v1/open-alerts?limit=100');
    const acknowledged = open.filter((one: { checkId: string }) => ids.includes(one.checkId));
    expect(acknowledged.map((one: { acknowledgement: object | null }) => one.acknowledgement)).toEqual(
      ids.map(() => expect.objectContaining({ comment: 'ours' })),
    );
    const page = (await reader.get(`/alerts/entries/${entry}`)).body;
    for (const { checkName } of cause.members) expect(page).toContain(checkName.slice(0, 4));
    expect(page).toMatch(/Webhook hook/);
    await writer.post(`/alerts/entries/${entry}/withdraw`, { csrf });
    for (const id of ids) await harness.call('DELETE', `/v1/checks/${id}`);
    expect((await reader.get('/alerts')).body).not.toContain(entry);
  });

  it('shows which check, since when and why, as text', async () => {
    const { body } = await reader.get('/alerts');
    expect(body).toContain('shop &quot;&gt;&lt;img');
    expect(body).toContain('connect ECONNREFUSED &quot;');
    expect(body).toMatch(new RegExp(`/checks/${checkId}/runs/[\\w-]+`));
    expect(body).not.toContain('<img');
    expect(body).not.toMatch(/Acknowledge…|Silence…|Silence a tag|Mute the check/);
  });

  it('names the error budgets that burn, and nothing if none does', async () => {
    expect((await reader.get('/alerts')).body).not.toContain('Error budgets');
    const alert = {
      ...{ id: 'burn', account_id: harness.accountId, check_id: '1', alert_type: 'ALERT_SLO_BURN' as const },
      ...{ notice: 'failure' as const, result_id: null, created: clock.wallMs() },
      facts: JSON.stringify({ checkName: `goal ${hostile}`, error: '12 of 60 runs failed' }),
    };
    const burn = { slo_id: 1, account_id: harness.accountId, alert_id: 'burn', burn_window: 'HOUR' as const };
    await harness.store.alerts.insert([alert]);
    await harness.store.sloBurns.begin({ ...burn, since: clock.wallMs() });
    const { body } = await reader.get('/alerts');
    expect(body).toMatch(/Error budgets[\s\S]*goal &quot;&gt;&lt;img[\s\S]*12 of 60 runs failed/);
    await harness.store.sloBurns.end(burn);
  });

  it('is acknowledged with a note about the reason, and withdrawn', async () => {
    const csrf = await writer.csrf('/alerts');
    const path = `/alerts/entries/check_${checkId}`;
    const back = '/alerts?state=acknowledged';
    const done = await writer.post(`${path}/acknowledge`, { csrf, comment: `I look ${hostile}`, back });
    expect(done.headers['location']).toBe(back);
    const { body } = await reader.get(back);
    expect(body).toContain('title="I look &quot;&gt;&lt;img');
    expect(body).toMatch(/acknowledged by/);
    expect((await writer.get('/alerts')).body).toContain('Withdraw the acknowledgement');
    expect((await rowsOf(reader, '/alerts?state=open')).join('')).not.toContain(checkId);
    for (const evil of ['https://evil.example/', '//evil.example', '/alertsx', '/alerts/../settings x']) {
      const elsewhere = await writer.post(`${path}/acknowledge`, { csrf, comment: '', back: evil });
      expect(elsewhere.headers['location']).toBe('/alerts');
    }
    await writer.post(`${path}/withdraw`, { csrf });
    const again = await writer.post(`${path}/withdraw`, { csrf });
    expect((await writer.get('/alerts')).body).toContain('withdrew an acknowledgement');
    expect(again.status).toBeLessThan(500);
    expect((await reader.post(`${path}/acknowledge`, { csrf: await reader.csrf() })).status).toBe(403);
    expect((await writer.post(`${path}/acknowledge`, {})).status).toBe(403);
  });

  it('is silenced by check, tag and location, and unsilenced', async () => {
    const csrf = await writer.csrf('/alerts');
    await writer.post(`/alerts/entries/check_${checkId}/silence`, { csrf, minutes: '30', comment: '' });
    expect(
      (await writer.post(`/alerts/entries/check_${checkId}/silence`, { csrf, minutes: 'x' })).status,
    ).toBe(422);
    await writer.post('/alerts/silences', { csrf, scope: 'tag:shop', minutes: '60', comment: 'deploy' });
    await writer.post('/alerts/silences', { csrf, scope: 'location:lab', minutes: '60', comment: '' });
    const { body } = await writer.get('/alerts');
    expect(body).toContain('silenced until');
    expect(body).toContain('deploy');
    expect(body.match(/action="\/alerts\/silences\/[^"]+\/end"/g)).toHaveLength(3);
    const [, end = ''] = /action="(\/alerts\/silences\/[^"]+\/end)"/.exec(body) ?? [];
    await writer.post(end, { csrf });
    expect((await writer.get('/alerts')).body.match(/silences\/[^"]+\/end"/g)).toHaveLength(2);
    const refused = await writer.post('/alerts/silences', { csrf, scope: 'tag:shop', minutes: 'soon' });
    expect(refused.status).toBe(422);
    expect(refused.body).toContain('role="alert"');
  });
});

describe('channels', () => {
  it.each(channelKinds)('has a form for $type that creates its sample', async ({ type, sample }) => {
    const path = `/alerts/channels/new?type=${type}`;
    const form = await writer.get(path);
    const fields = Object.entries(sample).map(([name, value]) => [
      `config.${name}`,
      Array.isArray(value) ? value.join('\n') : String(value),
    ]);
    for (const [name] of fields) expect(form.body).toContain(`name="${name}"`);
    const csrf = await writer.csrf(path);
    const made = await writer.post('/alerts/channels/new', { csrf, type, ...Object.fromEntries(fields) });
    // Types that this service cannot deliver may be refused, with a message in the form.
    expect([303, 422]).toContain(made.status);
    if (made.status === 422) return expect(made.body).toContain('role="alert"');
    const page = await writer.get(made.headers['location'] ?? '');
    expect(page.status).toBe(200);
    expect(page.body).toContain('No subscriptions: this channel gets no notifications');
  });

  it('report errors at their field, and keep the input', async () => {
    const csrf = await writer.csrf('/alerts/channels/new');
    const { status, body } = await writer.post('/alerts/channels/new', {
      csrf,
      type: 'EMAIL',
      'config.address': 'nobody',
      sslExpiryThreshold: '99',
    });
    expect(status).toBe(422);
    expect(body).toMatch(/id="field-config-address-error">Must be a valid email/);
    expect(body).toMatch(/id="field-sslExpiryThreshold-error">Must be at most 30/);
    expect(body).toContain('value="nobody"');
  });

  it('never show a secret again, and keep it if the field is left empty', async () => {
    const csrf = await writer.csrf('/alerts/channels/new');
    const fields = {
      csrf,
      type: 'WEBHOOK',
      'config.name': `hook ${hostile}`,
      'config.url': 'http://127.0.0.1:1/',
      'config.webhookSecret': 'very-secret-value',
      'config.headers.0.key': 'Authorization',
      'config.headers.0.value': 'locked-value',
      'config.headers.0.locked': 'true',
      'config.headers.1.key': 'X-Team',
      'config.headers.1.value': 'shop',
      sendFailure: 'true',
    };
    const made = await writer.post('/alerts/channels/new', fields);
    const path = made.headers['location'] ?? '';
    const { body } = await writer.get(path);
    expect(body).not.toMatch(/very-secret-value|locked-value|<img/);
    expect(body).toContain('value="X-Team"');
    expect(body).toContain('No subscriptions: this channel gets no notifications');
    const { 'config.webhookSecret': _secret, 'config.headers.0.value': _value, ...others } = fields;
    const saved = await writer.post(path, { ...others, 'config.name': 'renamed' });
    expect(saved.headers['location']).toBe(path);
    const stored = await harness.store.alertChannels.find(harness.accountId, Number(path.split('/').at(-1)));
    expect(stored?.definition['config']).toMatchObject({
      name: 'renamed',
      webhookSecret: 'very-secret-value',
      headers: [{ key: 'Authorization', value: 'locked-value' }, { key: 'X-Team' }],
    });
  });

  it('have quiet hours if both times are given, and report errors in them', async () => {
    const csrf = await writer.csrf('/alerts/channels/new?type=EMAIL');
    const fields = { csrf, type: 'EMAIL', 'config.address': 'night@example.com', sendFailure: 'true' };
    const made = await writer.post('/alerts/channels/new', fields);
    const path = made.headers['location'] ?? '';
    const stored = async () =>
      (await harness.call('GET', `/v1/alert-channels/${path.split('/').at(-1)}`)).body.quietHours;
    expect(await stored()).toBeNull();
    const hours = {
      'quietHours.from': '22:00',
      'quietHours.until': '07:00',
      'quietHours.timezone': 'Asia/Tokyo',
    };
    await writer.post(path, { ...fields, ...hours });
    expect(await stored()).toEqual({
      ...{ from: '22:00', until: '07:00', timezone: 'Asia/Tokyo', exceptFailures: false },
    });
    expect((await writer.get(path)).body).toMatch(/name="quietHours\.from"[^>]*value="22:00"/);
    const wrong = await writer.post(path, { ...fields, ...hours, 'quietHours.timezone': 'Tokyo' });
    expect([wrong.status, wrong.body]).toEqual([
      422,
      expect.stringContaining('Must be the name of a time zone'),
    ]);
    const half = await writer.post(path, { ...fields, 'quietHours.from': '22:00' });
    expect(half.status).toBe(422);
    await writer.post(path, fields);
    expect(await stored()).toBeNull();
  });

  it('are subscribed by check, tag and all, disabled, and deleted', async () => {
    const csrf = await writer.csrf('/alerts/channels/new');
    const made = await writer.post('/alerts/channels/new', {
      csrf,
      type: 'SLACK',
      'config.url': 'https://hooks.example.com/x',
    });
    const path = made.headers['location'] ?? '';
    await writer.post(`${path}/subscriptions`, { csrf, checkId });
    expect((await writer.get(path)).body).toContain('Switch off');
    await writer.post(`${path}/subscriptions`, { csrf, checkId, activated: 'false' });
    expect((await writer.get(path)).body).toContain('Switch on');
    await writer.post(`${path}/subscriptions`, { csrf, tag: 'shop' });
    await writer.post(`${path}/subscriptions`, { csrf, all: 'true' });
    expect((await writer.get(path)).body).toContain('Switch off');
    expect((await writer.post(`${path}/delete`, { csrf })).headers['location']).toBe('/alerts/channels');
    expect((await writer.get(path)).status).toBe(404);
  });

  it('are listed for readers without any buttons', async () => {
    const { body } = await reader.get('/alerts/channels');
    expect(body).toContain('No subscriptions');
    expect(body).not.toMatch(/New channel|Send a test|alerts\/channels\/\d/);
    expect((await reader.get('/alerts/channels/new')).status).toBe(403);
  });
});

describe('the log of notifications', () => {
  it('shows the response to a test', async () => {
    await using receiver = await startHttpReceiver();
    // Uses the real clock: a test alert waits for its response.
    const own = await openHarness({ requestsPerMinute: 600 });
    try {
      const visitor = await loggedIn(own);
      const csrf = await visitor.csrf('/alerts/channels/new');
      const fields = { csrf, type: 'WEBHOOK', 'config.name': 'ops', 'config.url': receiver.url };
      const made = await visitor.post('/alerts/channels/new', fields);
      own.startAlerting();
      const tested = await visitor.post(`${made.headers['location']}/test`, { csrf });
      expect(tested.status).toBe(200);
      expect(tested.body).toContain('The test arrived.');
      expect(receiver.received).toHaveLength(1);
      expect((await visitor.get('/alerts/notifications')).body).toMatch(/Webhook: ops[\s\S]*Arrived/);
      // Test alerts are allowed as often as in the API, but no more.
      const statuses = new Set<number>();
      for (let turn = 0; turn < 10; turn += 1) {
        statuses.add((await visitor.post(`${made.headers['location']}/test`, { csrf })).status);
      }
      expect([...statuses].sort()).toEqual([200, 429]);
    } finally {
      await own.close();
    }
  });

  it('shows the requested days and channel', async () => {
    expect((await reader.get('/alerts/notifications?channel=999999&day=3&page=2')).body).toContain(
      'No notifications in this period',
    );
    expect((await reader.get('/alerts/notifications?channel=x&day=x&page=x')).status).toBe(200);
  });
});
